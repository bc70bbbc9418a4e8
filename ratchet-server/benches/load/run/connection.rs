//! One client's connection, which is made again when the server has closed it.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, header};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// A connection of one key.
pub(super) struct Line {
    address: String,
    bearer: String,
    open: Option<SendRequest<Full<Bytes>>>,
}

/// What the server said.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Value,
    retry_after: Option<Duration>,
}

type Broken = Box<dyn std::error::Error + Send + Sync>;

impl Answer {
    /// How long to wait before the same is asked again.
    pub(super) fn come_again(&self) -> Option<Duration> {
        let later = matches!(self.status, 429 | 503);
        later.then(|| self.retry_after.unwrap_or(Duration::from_secs(1)))
    }
}

impl Line {
    pub(super) fn new(address: &str, key: &str) -> Self {
        Self { address: address.to_owned(), bearer: format!("Bearer {key}"), open: None }
    }

    pub(super) async fn post(&mut self, path: &str, body: &Value) -> Result<Answer, Broken> {
        self.send("POST", path, body).await
    }

    pub(super) async fn send(&mut self, method: &str, path: &str, body: &Value) -> Result<Answer, Broken> {
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header(header::HOST, &self.address)
            .header(header::AUTHORIZATION, &self.bearer)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body.to_string())))?;
        let answered = self.sender().await?.send_request(request).await;
        let answered = answered.inspect_err(|_| self.open = None)?;
        let status = answered.status().as_u16();
        let retry_after = answered.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = retry_after.and_then(|text| text.parse().ok()).map(Duration::from_secs);
        let text = answered.into_body().collect().await.inspect_err(|_| self.open = None)?.to_bytes();
        let body = if text.is_empty() { Value::Null } else { serde_json::from_slice(&text)? };
        Ok(Answer { status, body, retry_after })
    }

    async fn sender(&mut self) -> Result<&mut SendRequest<Full<Bytes>>, Broken> {
        let usable = match &mut self.open {
            Some(open) => open.ready().await.is_ok(),
            None => false,
        };
        if !usable {
            let stream = TcpStream::connect(&self.address).await?;
            stream.set_nodelay(true)?;
            let (sender, connection) = handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            self.open = Some(sender);
        }
        self.open.as_mut().ok_or_else(|| "there is no connection".into())
    }
}
