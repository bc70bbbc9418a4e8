//! Stylesheet, script and picture, which are part of the program.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use ratchet::Fingerprint;

/// A file that pages ask for.
pub(super) struct Asset {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
}

pub(super) const STYLE: Asset =
    Asset { name: "pages.css", kind: "text/css; charset=utf-8", text: include_str!("assets/pages.css") };
pub(super) const SCRIPT: Asset =
    Asset { name: "pages.js", kind: "text/javascript; charset=utf-8", text: include_str!("assets/pages.js") };
pub(super) const ICON: Asset =
    Asset { name: "icon.svg", kind: "image/svg+xml", text: include_str!("assets/icon.svg") };

impl Asset {
    /// A digest of the content stands in it, so that a browser keeps the file and never takes an older one for it.
    pub(super) fn path(&self) -> String {
        let digest = Fingerprint::of(self.text.as_bytes()).to_string();
        format!("/assets/{}/{}", &digest[..16], self.name)
    }
}

pub(super) async fn serve(Path((_, name)): Path<(String, String)>) -> Response {
    let Some(asset) = [STYLE, SCRIPT, ICON].into_iter().find(|asset| asset.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers =
        [(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
    (headers, asset.text).into_response()
}
