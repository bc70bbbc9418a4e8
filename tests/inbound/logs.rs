//! What reaches a log: digests and codes; no key, principal, body or answer.

use std::io;
use std::sync::{Arc, Mutex};

use axum::http::{Method, Request};
use ratchet::http::inbound::IdempotencyLayer;
use ratchet_core::MemoryLedger;
use tower_service::Service as _;
use tracing_subscriber::fmt::MakeWriter;

use super::service::{plain, router};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn a_log_holds_digests_and_codes_alone() {
    let log = Log::default();
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);

    let layer = IdempotencyLayer::new(MemoryLedger::new(), |_| Some("secret-account".to_owned()));
    let id = layer.record_id("secret-account", &Method::POST, "/secret-path", "secret-key").unwrap();
    let mut service = router(layer.clone(), Arc::default(), async |_| plain(500, "secret-answer"));
    for body in ["secret-body", "secret-body", "secret-other"] {
        let request =
            Request::post("/secret-path").header("idempotency-key", "secret-key").body(body.to_owned());
        service.call(request.unwrap()).await.unwrap();
    }
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains(&id.digest().to_string()), "{text}");
    assert!(text.contains("outcome-unknown") && text.contains("key-reused"), "{text}");
    assert!(!text.contains("secret"), "{text}");
    assert!(!format!("{layer:?}").contains("secret"));
}
