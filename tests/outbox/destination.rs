//! A destination that recognises a repeated key.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// What it has done, and how often it was asked for it.
type Effects = Arc<Mutex<BTreeMap<String, (String, u32)>>>;

pub(crate) struct Destination {
    pub(crate) url: String,
    effects: Effects,
    answered: mpsc::UnboundedReceiver<()>,
}

impl Destination {
    pub(crate) async fn start() -> Self {
        let effects = Effects::default();
        let (answer, answered) = mpsc::unbounded_channel();
        let announced = async |State((effects, answer)): State<(Effects, mpsc::UnboundedSender<()>)>,
                               headers: HeaderMap,
                               body: String| {
            let key = headers["idempotency-key"].to_str().unwrap().to_owned();
            // The first request acts; another one under its key changes nothing.
            effects.lock().unwrap().entry(key).or_insert((body, 0)).1 += 1;
            answer.send(()).unwrap();
        };
        let app = Router::new().route("/orders", post(announced)).with_state((effects.clone(), answer));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/orders", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, effects, answered }
    }

    /// Ready when a request has had its effect.
    pub(crate) async fn answered(&mut self) {
        let next = tokio::time::timeout(Duration::from_secs(30), self.answered.recv());
        next.await.expect("no request for 30 seconds").unwrap();
    }

    /// Key, what was done under it, and how often it was asked for.
    pub(crate) fn effects(&self) -> Vec<(String, String, u32)> {
        let effects = self.effects.lock().unwrap();
        effects.iter().map(|(key, (body, requests))| (key.clone(), body.clone(), *requests)).collect()
    }
}
