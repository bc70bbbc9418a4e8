//! The protocol under `/api/v1`, which published clients speak.

mod enqueue;
mod fields;
mod job;
mod jobs;
mod lease;
mod names;
mod policy;
mod record;
mod replay;
mod report;
mod runs;
mod steps;
mod tools;
mod workers;

use axum::Router;
use axum::routing::get;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use lease::LeaseSecret;
pub(crate) use runs::forget_old as forget_old_runs;
pub(crate) use workers::forget_gone as forget_gone_workers;

use crate::serve::problem::ErrorBody;
use crate::serve::{App, Json};

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Ratchet",
        description = "Background operations that are safe to run more than once, for producers and workers of any \
                       language.\n\nExecution is at least once. A report `FAILED` says nothing about the effect, and \
                       neither does a worker that vanishes: hand the idempotency key on to the destination."
    ),
    components(schemas(ErrorBody)),
    security(("key" = []))
)]
struct Description;

/// The routes and their description, which are made of the same code.
pub(crate) fn router() -> (Router<App>, OpenApi) {
    let calls = OpenApiRouter::new()
        .routes(routes!(runs::start))
        .routes(routes!(runs::show, runs::finish))
        .routes(routes!(runs::list))
        .routes(routes!(enqueue::enqueue))
        .routes(routes!(steps::show))
        .routes(routes!(replay::preview, replay::replay))
        .routes(routes!(jobs::cancel))
        .routes(routes!(jobs::heartbeat))
        .routes(routes!(jobs::report))
        .routes(routes!(workers::register))
        .routes(routes!(workers::claim))
        .routes(routes!(tools::publish))
        .routes(routes!(policy::show, policy::set));
    let (router, mut description) =
        OpenApiRouter::with_openapi(Description::openapi()).nest("/api/v1", calls).split_for_parts();
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    description.components.get_or_insert_default().add_security_scheme("key", bearer);
    let shown = description.clone();
    let show = get(move || std::future::ready(Json(shown.clone())));
    (router.route("/api/v1/openapi.json", show), description)
}
