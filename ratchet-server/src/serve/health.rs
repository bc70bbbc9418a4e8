//! What load balancers and monitors ask.

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::App;
use super::auth::Monitor;
use super::problem::Problem;

pub(super) fn router() -> Router<App> {
    Router::new().route("/healthz", get(alive)).route("/readyz", get(ready)).route("/metrics", get(metrics))
}

/// The process answers, whatever the store does: a restart would not help a store.
async fn alive() -> &'static str {
    "ok\n"
}

/// The store answers too, and new work is taken: a server that is about to stop is sent none.
async fn ready(State(app): State<App>) -> Result<&'static str, Problem> {
    app.require_taking()?;
    app.ledger().mark().await?;
    Ok("ok\n")
}

/// With a key, since it names operations and counts of all namespaces.
async fn metrics(State(app): State<App>, _: Monitor) -> Result<Response, Problem> {
    let text = app.metrics().text(&app).await?;
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}
