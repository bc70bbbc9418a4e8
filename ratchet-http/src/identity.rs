//! Puts the identity where the contract says.

use ratchet_core::contract::Mechanism;
use ratchet_core::{Cause, Context, Failure, Pin};
use reqwest::Request;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::field::put_field;
use crate::prepare::unsendable;

/// Puts the identity, and the time of the first request if the destination wants it, into a request.
pub(crate) fn put_identity(request: &mut Request, ctx: &Context, pin: &Pin) -> Result<(), Failure> {
    let contract = ctx.contract();
    let put = |request: &mut Request| -> Result<(), Cause> {
        match contract.mechanism() {
            Mechanism::Header(name) => put_header(request.headers_mut(), name, &pin.wire_key)?,
            Mechanism::BodyField(path) => put_into_body(request, path, &pin.wire_key)?,
            Mechanism::QueryParameter(name) => put_parameter(request, name, &pin.wire_key)?,
            _ => {}
        }
        if let Some(name) = contract.first_sent_header() {
            let first = std::time::UNIX_EPOCH
                + std::time::Duration::from_millis(u64::try_from(pin.first_at.as_millis()).unwrap_or(0));
            put_header(request.headers_mut(), name, &httpdate::fmt_http_date(first))?;
        }
        Ok(())
    };
    put(request).map_err(|cause| ctx.not_sent(cause))
}

/// One header, however often and in whatever case it was set by hand.
fn put_header(headers: &mut HeaderMap, name: &str, text: &str) -> Result<(), Cause> {
    let name: HeaderName =
        name.parse().map_err(|_| unsendable("the contract names a header that HTTP does not allow"))?;
    let value = HeaderValue::from_str(text)
        .map_err(|_| unsendable("the key has characters that HTTP does not allow"))?;
    if headers.get_all(&name).iter().any(|set| set != value) {
        return Err(unsendable(format_args!(
            "the header `{name}` was set by hand to something else, and carries the identity: leave it to \
             `.idempotent(&ctx)`"
        )));
    }
    headers.insert(name, value);
    Ok(())
}

fn put_parameter(request: &mut Request, name: &str, text: &str) -> Result<(), Cause> {
    let set: Vec<bool> = request
        .url()
        .query_pairs()
        .filter(|(found, _)| found == name)
        .map(|(_, value)| value == text)
        .collect();
    match set.as_slice() {
        [] => {
            request.url_mut().query_pairs_mut().append_pair(name, text);
            Ok(())
        }
        [true] => Ok(()),
        _ => Err(unsendable(format_args!(
            "the parameter `{name}` was set by hand to something else, and carries the identity: leave it to \
             `.idempotent(&ctx)`"
        ))),
    }
}

fn put_into_body(request: &mut Request, path: &str, text: &str) -> Result<(), Cause> {
    let body = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default();
    let with_key = put_field(body, path, text).map_err(|why| unsendable(why.explain(path)))?;
    *request.body_mut() = Some(with_key.into());
    Ok(())
}
