//! The protocol under `/api/v1`, which published clients speak.

mod lease;

use axum::Router;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

pub(crate) use lease::LeaseSecret;

use crate::serve::App;

#[derive(utoipa::OpenApi)]
struct Description;

/// The routes and their description, which are made of the same code.
pub(crate) fn router() -> (Router<App>, OpenApi) {
    OpenApiRouter::with_openapi(Description::openapi()).split_for_parts()
}
