//! The operators' pages: what is the case with the records of a namespace, why, and what somebody can do about it.
//!
//! HTML is made here, with one stylesheet and one small script that are part of the program; everything but the updates of a
//! page works without the script. No key, input or result ever stands in an address: records are named by their place.

mod act;
mod acts;
mod assets;
mod chart;
mod cookie;
mod decisions;
mod explain;
mod fault;
mod history;
mod layout;
mod operator;
mod overview;
mod payloads;
mod place;
mod record;
mod records;
mod request;
mod sent;
mod session;
mod sign_in;
mod timeline;
mod uncertain;
mod windows;
mod words;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use ratchet::Namespace;

use fault::Fault;
use history::History;
use operator::Operator;
use session::Sessions;

use crate::serve::App;
use crate::serve::auth::{self, Scope};

/// The most bytes of a form: the largest result that a person can state, written as a form does, and the words around it.
const LARGEST_FORM: usize = 256 * 1024;

/// What all pages share. Cheap to clone.
#[derive(Clone)]
struct Pages {
    app: App,
    sessions: Arc<Sessions>,
    history: Arc<History>,
}

impl Pages {
    /// Who a key belongs to; `None` if it opens no pages.
    async fn operator(&self, key: &str, name: &str) -> Result<Option<Operator>, Fault> {
        match auth::authenticate(&self.app, key).await {
            Ok(grant) if grant.has(Scope::Operator) => Ok(Some(Operator { name: name.to_owned(), grant })),
            Ok(_) => Ok(None),
            Err(problem) => match problem.into_response().status() {
                status if status.is_server_error() => Err(Fault::NoAnswer),
                _ => Ok(None),
            },
        }
    }
}

/// The pages. Records are counted from now on, for the pictures.
pub(crate) fn router(app: &App) -> Router<App> {
    let pages = Pages { app: app.clone(), sessions: Arc::default(), history: Arc::default() };
    pages.history.watch_from_now_on(&Namespace::DEFAULT);
    let watch = pages.history.clone().watch(app.clone());
    let stopping = app.stopping().clone();
    tokio::spawn(async move { stopping.run_until_cancelled(watch).await });
    Router::new()
        .route("/", get(overview::show))
        .route("/records", get(records::show))
        .route("/records/find", post(records::find))
        .route("/records/{place}", get(record::show))
        .route("/records/{place}/{act}", get(act::ask).post(act::carry_out))
        .route("/uncertain", get(uncertain::show))
        .route("/decisions", get(decisions::show))
        .route("/sign-in", get(sign_in::ask).post(sign_in::sign_in))
        .route("/signed-in", get(sign_in::welcome))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/assets/{digest}/{name}", get(assets::serve))
        .layer(DefaultBodyLimit::max(LARGEST_FORM))
        .layer(map_response(guarded))
        .with_state(pages)
}

/// Nothing but our own files is loaded, nothing of strangers is executed, and no page is kept or framed.
async fn guarded(mut response: Response) -> Response {
    const ALWAYS: [(header::HeaderName, &str); 6] = [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    let headers: &mut HeaderMap = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
