//! What a request brings: a session, and forms that are sent from our own pages.

use std::time::Instant;

use axum::Form;
use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;
use ratchet::{Client, Timestamp};

use super::fault::Fault;
use super::layout::document;
use super::session::Session;
use super::{Pages, cookie};
use crate::serve::auth::{self, Scope};
use crate::serve::{App, read_body};

/// A request of somebody who is signed in.
pub(super) struct SignedIn {
    pub(super) session: Session,
    /// The ledger, in the namespace of the operator.
    pub(super) client: Client,
}

impl SignedIn {
    /// What time it is in the store: leases and windows go by it.
    pub(super) async fn now(&self) -> Result<Timestamp, Fault> {
        Ok(self.client.ledger().inspect().await?.now)
    }
}

impl FromRequestParts<Pages> for SignedIn {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, pages: &Pages) -> Result<Self, Response> {
        let session = session_of(&parts.headers, pages).await.map_err(IntoResponse::into_response)?;
        let session = session.ok_or_else(|| to_sign_in(parts))?;
        let client = pages.app.client(&session.operator.grant.namespace);
        Ok(Self { session, client })
    }
}

/// A session ends with its key: one that was revoked opens nothing more.
async fn session_of(headers: &HeaderMap, pages: &Pages) -> Result<Option<Session>, Fault> {
    let Some(mut session) =
        cookie::find(headers).and_then(|cookie| pages.sessions.find(cookie, Instant::now()))
    else {
        return Ok(None);
    };
    let grant = auth::renewed(&pages.app, &session.operator.grant).await?;
    Ok(grant.filter(|grant| grant.has(Scope::Operator)).map(|grant| {
        session.operator.grant = grant;
        session
    }))
}

/// After signing in, somebody who only wanted to look is back where they were going.
fn to_sign_in(parts: &Parts) -> Response {
    let looks = parts.method == Method::GET;
    if looks && parts.headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site") {
        return once_more();
    }
    let path = if looks { parts.uri.path() } else { "/" };
    Redirect::to(&format!("/sign-in?next={path}")).into_response()
}

/// Who follows a link of another site, such as a chat, comes without the cookie, which is never sent from there. From a page
/// of ours it is.
fn once_more() -> Response {
    let page = html! { main #main .alone { p { a href="" { "Go on" } } } };
    ([(header::REFRESH, "0")], document("One moment", None, &page)).into_response()
}

/// The fields of a form.
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// A field without the white space around it; empty if it is missing.
    pub(super) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(field, _)| field == name);
        found.map_or("", |(_, value)| value.trim())
    }

    /// A form that stays out for too long would hold a place of the server.
    async fn read(request: Request, app: &App) -> Result<Self, Response> {
        let (parts, body) = request.into_parts();
        let bytes = read_body(body, app).await.map_err(|_| Fault::Unreadable.into_response())?;
        let request = Request::from_parts(parts, Body::from(bytes));
        let form: Result<Form<Vec<(String, String)>>, _> = Form::from_request(request, &()).await;
        form.map(|Form(fields)| Self(fields)).map_err(|_| Fault::Unreadable.into_response())
    }
}

/// A form of somebody who is signed in, sent from a page of their session.
pub(super) struct SignedForm {
    pub(super) signed_in: SignedIn,
    pub(super) fields: Fields,
}

impl FromRequest<Pages> for SignedForm {
    type Rejection = Response;

    async fn from_request(request: Request, pages: &Pages) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let signed_in = SignedIn::from_request_parts(&mut parts, pages).await?;
        let form = OwnForm::from_request(Request::from_parts(parts, body), pages).await?;
        if !signed_in.session.form_token.is(form.0.get("form_token")) {
            return Err(Fault::NotOurs.into_response());
        }
        Ok(Self { signed_in, fields: form.0 })
    }
}

/// A form that is sent from one of our pages, whoever sends it.
pub(super) struct OwnForm(pub(super) Fields);

impl FromRequest<Pages> for OwnForm {
    type Rejection = Response;

    async fn from_request(request: Request, pages: &Pages) -> Result<Self, Response> {
        if !is_from_here(request.headers()) {
            return Err(Fault::NotOurs.into_response());
        }
        Ok(Self(Fields::read(request, &pages.app).await?))
    }
}

/// Browsers say where a form comes from, in words that no page can choose. Where a proxy gives the server another name, the
/// first of the two still tells.
fn is_from_here(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(site) = text("sec-fetch-site") {
        return site == "same-origin";
    }
    let origin = text("origin").and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
    origin.is_some_and(|origin| text("host") == Some(origin))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_form_of_another_site_is_recognised() {
        for (pairs, is_ours) in [
            (
                vec![
                    ("sec-fetch-site", "same-origin"),
                    ("origin", "https://ops.example"),
                    ("host", "inner:80"),
                ],
                true,
            ),
            (vec![("sec-fetch-site", "cross-site"), ("origin", "http://h"), ("host", "h")], false),
            (vec![("sec-fetch-site", "same-site"), ("origin", "http://h"), ("host", "h")], false),
            (vec![("sec-fetch-site", "none")], false),
            (vec![("origin", "http://127.0.0.1:80"), ("host", "127.0.0.1:80")], true),
            (vec![("origin", "http://127.0.0.1:81"), ("host", "127.0.0.1:80")], false),
            (vec![("origin", "null"), ("host", "127.0.0.1:80")], false),
            (vec![("host", "127.0.0.1:80")], false),
        ] {
            assert_eq!(is_from_here(&headers(&pairs)), is_ours, "{pairs:?}");
        }
    }
}
