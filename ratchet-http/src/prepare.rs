//! The request as it will be sent, but for its identity, and what is written down of it.

use std::fmt;

use ratchet_core::{Cause, CauseKind, Context, Failure, KeptRequest, Pin, RequestFingerprint, Scope};
use reqwest::Request;
use reqwest::header::{CONTENT_TYPE, HeaderValue};

/// What an author says about the place that a request goes to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    pub(crate) account: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) keep: bool,
}

/// Checks that a request can be sent, now and again.
pub(crate) fn prepare(mut request: Request) -> Result<Request, Cause> {
    check_scheme(request.url().scheme())?;
    // A fragment is never sent, so it is no part of what is asked for.
    request.url_mut().set_fragment(None);
    match request.body() {
        Some(body) if body.as_bytes().is_none() => {
            Err(unsendable("a body that is a stream cannot be sent again: collect it first"))
        }
        _ => Ok(request),
    }
}

/// Writes down what is about to be sent. Where an earlier attempt kept its request, that is the request from now on.
pub(crate) async fn pin(ctx: &Context, request: &mut Request, terms: &Terms) -> Result<Pin, Failure> {
    let mut scope = Scope::of(request.url().origin().ascii_serialization());
    scope.account.clone_from(&terms.account);
    scope.region.clone_from(&terms.region);
    if !terms.keep {
        return ctx.pin(scope, fingerprint(request)).await;
    }
    let offered = kept(request).map_err(|cause| ctx.not_sent(cause))?;
    let pin = ctx.pin_kept(scope, offered).await?;
    if let Some(first) = &pin.kept {
        restore(request, first).map_err(|cause| ctx.not_sent(cause))?;
    }
    Ok(pin)
}

fn fingerprint(request: &Request) -> RequestFingerprint {
    RequestFingerprint::new(request.method().as_str(), request.url().as_str(), body_of(request))
}

fn body_of(request: &Request) -> &[u8] {
    request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default()
}

fn kept(request: &Request) -> Result<KeptRequest, Cause> {
    let body = std::str::from_utf8(body_of(request))
        .map_err(|_| unsendable("only a body of text can be kept: this one is not UTF-8"))?;
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    Ok(KeptRequest {
        method: request.method().to_string(),
        url: request.url().to_string(),
        content_type: content_type.map(str::to_owned),
        body: body.to_owned(),
    })
}

fn restore(request: &mut Request, kept: &KeptRequest) -> Result<(), Cause> {
    let bad = || unsendable("the request that was kept cannot be read");
    *request.method_mut() = kept.method.parse().map_err(|_| bad())?;
    *request.url_mut() = kept.url.parse().map_err(|_| bad())?;
    request.headers_mut().remove(CONTENT_TYPE);
    if let Some(content_type) = &kept.content_type {
        let value = HeaderValue::from_str(content_type).map_err(|_| bad())?;
        request.headers_mut().insert(CONTENT_TYPE, value);
    }
    let had_body = request.body().is_some() || !kept.body.is_empty();
    *request.body_mut() = had_body.then(|| kept.body.clone().into());
    Ok(())
}

fn check_scheme(scheme: &str) -> Result<(), Cause> {
    match scheme {
        "http" => Ok(()),
        "https" if cfg!(feature = "tls") => Ok(()),
        "https" => Err(unsendable("`https` needs the feature `tls` of this crate")),
        _ => Err(unsendable("only `http` and `https` addresses can be requested")),
    }
}

pub(crate) fn unsendable(why: impl fmt::Display) -> Cause {
    Cause::new(CauseKind::Handler, why)
}
