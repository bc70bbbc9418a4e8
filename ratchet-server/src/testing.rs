//! The protocol without a socket, for tests of other packages.
#![allow(clippy::missing_panics_doc, reason = "tests fail by panicking")]

use std::sync::LazyLock;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use ratchet::ledger::SharedLedger;
use tower_service::Service as _;

use crate::serve::{App, testing};
use crate::wire;

/// What `ratchet serve` answers under `/api/v1`, to a caller that may do everything in the default namespace.
#[derive(Debug)]
pub struct Protocol {
    router: Router,
    authorization: String,
}

impl Protocol {
    /// The protocol over the records of a ledger.
    pub async fn over(ledger: SharedLedger) -> Self {
        // Its description takes longer to make than most requests take.
        static ROUTES: LazyLock<Router<App>> = LazyLock::new(|| wire::router().0);
        let (app, key) = testing::open(ledger).await.expect("a server on an empty store");
        Self { router: ROUTES.clone().with_state(app), authorization: format!("Bearer {key}") }
    }

    /// Sends a request with a body of JSON; gives the status and the body of the answer.
    pub async fn ask(&self, method: &str, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header(AUTHORIZATION, &self.authorization)
            .header(CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_vec()))
            .expect("a request");
        let Ok(answer) = self.router.clone().call(request).await;
        let status = answer.status().as_u16();
        let body = to_bytes(answer.into_body(), usize::MAX).await.expect("the answer's body");
        (status, body.into())
    }
}
