//! The header `Idempotency-Key`, through the layer that enforces it.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use http_body_util::Empty;
use ratchet_core::{MemoryLedger, SharedLedger};
use ratchet_http::inbound::http::{HeaderValue, Method, Request, Response, StatusCode};
use ratchet_http::inbound::{Body, IdempotencyLayer};
use sfv::{BareItem, Item, Parser};
use tower_layer::Layer as _;
use tower_service::Service;

use crate::in_runtime;

type NoBody = Empty<bytes::Bytes>;

const LONGEST: usize = 255;

/// A key is accepted where it is a string of structured fields (RFC 8941) without parameters, or a bare word, and nowhere
/// else; either has 1 to 255 visible characters of ASCII and no space. What is accepted is one key in both forms.
pub fn inbound_key(input: &[u8]) {
    // Servers take white space around a value for none of it.
    let input = input.trim_ascii();
    let Ok(value) = HeaderValue::from_bytes(input) else { return };
    let expected = if input.starts_with(b"\"") { quoted(input) } else { bare(input) };
    let expected = expected.filter(|key| is_plain(key.as_bytes()));
    in_runtime(is_executed_under(value, expected.as_deref()));
}

/// What another implementation reads.
fn quoted(text: &[u8]) -> Option<String> {
    let Item { bare_item: BareItem::String(key), params } = Parser::new(text).parse().ok()? else {
        return None;
    };
    params.is_empty().then(|| key.into())
}

fn bare(text: &[u8]) -> Option<String> {
    let separates = |byte: &u8| matches!(byte, b'"' | b',' | b';');
    let text = std::str::from_utf8(text).ok()?;
    (!text.bytes().any(|byte| separates(&byte))).then(|| text.to_owned())
}

fn is_plain(key: &[u8]) -> bool {
    (1..=LONGEST).contains(&key.len()) && key.iter().all(u8::is_ascii_graphic)
}

async fn is_executed_under(value: HeaderValue, key: Option<&str>) {
    let ledger: SharedLedger = MemoryLedger::new();
    let layer = IdempotencyLayer::new(ledger.clone(), |_| Some("tenant".to_owned())).longest_key(LONGEST);
    let executed = Arc::new(AtomicBool::new(false));
    let request = Request::post("/charges").header("idempotency-key", value).body(NoBody::new());
    let answer = layer.layer(Handler(Arc::clone(&executed))).call(request.expect("a request"));
    let status = answer.await.expect("an answer").status();
    assert_eq!(executed.load(Ordering::Relaxed), key.is_some(), "{key:?}");
    let Some(key) = key else { return assert_eq!(status, StatusCode::BAD_REQUEST) };
    assert_eq!(status, StatusCode::CREATED);
    let id = layer.record_id("tenant", &Method::POST, "/charges", key).expect("a record's name");
    assert!(ledger.find(id).await.expect("a record").is_some(), "another key than {key}");
}

/// Answers 201, and says that it was asked.
#[derive(Clone)]
struct Handler(Arc<AtomicBool>);

impl Service<Request<Body>> for Handler {
    type Response = Response<NoBody>;
    type Error = Infallible;
    type Future = Ready<Result<Response<NoBody>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        self.0.store(true, Ordering::Relaxed);
        let mut answer = Response::new(NoBody::new());
        *answer.status_mut() = StatusCode::CREATED;
        ready(Ok(answer))
    }
}
