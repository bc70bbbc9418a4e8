//! In and out.

use std::time::Instant;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::Pages;
use super::cookie;
use super::fault::Fault;
use super::layout::document;
use super::request::{OwnForm, SignedForm, SignedIn};

/// The most characters of a person's name.
const LONGEST_NAME: usize = 60;

#[derive(Deserialize)]
pub(super) struct Next {
    #[serde(default)]
    next: String,
}

pub(super) async fn ask(Query(Next { next }): Query<Next>) -> Markup {
    form(&next, None)
}

fn form(next: &str, problem: Option<&str>) -> Markup {
    document(
        "Sign in",
        None,
        &html! {
            main #main .alone {
                h1 { "Ratchet" }
                @if let Some(problem) = problem { p.problem role="alert" { (problem) } }
                form method="post" action="/sign-in" {
                    input type="hidden" name="next" value=(path_within(next));
                    label for="name" { "Your name" }
                    p.hint #name-hint { "Stands beside each decision that you make here." }
                    input #name name="name" required maxlength=(LONGEST_NAME) autocomplete="username"
                        aria-describedby="name-hint";
                    label for="key" { "Operator key" }
                    p.hint #key-hint { "Made with " code { "ratchet keys create --scope operator" } }
                    input #key name="key" type="password" required autocomplete="current-password"
                        aria-describedby="key-hint";
                    button.main { "Sign in" }
                }
            }
        },
    )
}

pub(super) async fn sign_in(
    State(pages): State<Pages>,
    headers: HeaderMap,
    OwnForm(fields): OwnForm,
) -> Result<Response, Fault> {
    let next = path_within(fields.get("next"));
    let refuse = |problem: &str| (StatusCode::FORBIDDEN, form(next, Some(problem))).into_response();
    let name = fields.get("name");
    if name.is_empty() || name.chars().count() > LONGEST_NAME {
        return Ok(refuse("Say who you are, in at most 60 characters: it stands beside your decisions."));
    }
    let Some(operator) = pages.operator(fields.get("key"), name).await? else {
        return Ok(refuse("This is no operator key, or it is revoked or over."));
    };
    let cookie = pages.sessions.open(operator, Instant::now())?;
    let cookie = cookie::set(&headers, cookie.as_str());
    let to = format!("/signed-in?next={next}");
    Ok(([(header::SET_COOKIE, cookie)], Redirect::to(&to)).into_response())
}

/// Says why signing in came to nothing where the browser did not keep the cookie.
pub(super) async fn welcome(
    Query(Next { next }): Query<Next>,
    signed_in: Result<SignedIn, Response>,
) -> Response {
    const NOT_KEPT: &str = "Your browser did not keep the session. These pages need HTTPS, unless they are opened on the \
        machine of the server itself as localhost.";
    match signed_in {
        Ok(_) => Redirect::to(path_within(&next)).into_response(),
        Err(_) => (StatusCode::FORBIDDEN, form(&next, Some(NOT_KEPT))).into_response(),
    }
}

pub(super) async fn sign_out(State(pages): State<Pages>, headers: HeaderMap, _: SignedForm) -> Response {
    if let Some(cookie) = cookie::find(&headers) {
        pages.sessions.close(cookie);
    }
    ([(header::SET_COOKIE, cookie::set(&headers, ""))], Redirect::to("/sign-in")).into_response()
}

/// A path of these pages: an address elsewhere would lead whoever signed in astray.
fn path_within(next: &str) -> &str {
    let is_path =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_".contains(&byte));
    if next.starts_with('/') && !next.starts_with("//") && is_path(next) { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_elsewhere() {
        for (given, path) in [
            ("/records/7", "/records/7"),
            ("/uncertain", "/uncertain"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example", "/"),
            ("/a\r\nSet-Cookie: b=c", "/"),
            ("", "/"),
        ] {
            assert_eq!(path_within(given), path, "{given}");
        }
    }
}
