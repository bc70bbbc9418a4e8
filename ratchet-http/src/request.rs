//! A request on its way from the handler to the destination.

use std::fmt;

use ratchet_core::admission::Health;
use ratchet_core::contract::Mechanism;
use ratchet_core::{Cause, CauseKind, Context, Destination, Failure, Fingerprint};
use reqwest::RequestBuilder;
use reqwest::header::{HeaderName, HeaderValue};
use serde::Serialize;

use crate::answer::Answer;
use crate::classify::{read_answer, read_error};
use crate::health::health_of;
use crate::json::sorted;

/// A request that has no identity yet, and so cannot be delivered.
#[derive(Debug, Clone, Copy)]
pub struct NoIdentity;

/// A request; `I` is [`NoIdentity`] until [`idempotent`](Self::idempotent) gives it the identity of an attempt.
///
/// `Debug` shows nothing of it: addresses and headers carry credentials.
#[must_use = "nothing is sent until it is delivered"]
pub struct Request<I> {
    http: reqwest::Client,
    /// Whose gate is asked before it is sent.
    destination: Option<Destination>,
    builder: RequestBuilder,
    identity: I,
}

impl<I> fmt::Debug for Request<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").finish_non_exhaustive()
    }
}

impl Request<NoIdentity> {
    pub(crate) fn new(
        http: reqwest::Client,
        destination: Option<Destination>,
        builder: RequestBuilder,
    ) -> Self {
        Self { http, destination, builder, identity: NoIdentity }
    }

    /// Sends it under the identity of this attempt's operation, in the place that the operation's contract names. Where
    /// the contract names none, nothing is added. Inside a named step, give it the context of the step.
    pub fn idempotent(self, ctx: &Context) -> Request<&Context> {
        let Self { http, destination, builder, .. } = self;
        Request { http, destination, builder, identity: ctx }
    }
}

impl<I> Request<I> {
    /// A JSON body. The names of its objects are sorted, since every attempt has to send the same bytes and the order of a
    /// hash map is another one each time. The order of a list is kept: make a list of a set that has an order.
    pub fn json<T: Serialize + ?Sized>(self, body: &T) -> Self {
        let builder = match sorted(body) {
            Ok(sorted) => self.builder.json(&sorted),
            // It fails there as well, and that error reaches `deliver`.
            Err(_) => self.builder.json(body),
        };
        Self { builder, ..self }
    }

    /// A body of bytes.
    pub fn body(self, body: impl Into<bytes::Bytes>) -> Self {
        Self { builder: self.builder.body(body.into()), ..self }
    }

    /// A header. The header that carries the identity is not set by hand.
    pub fn header(self, name: &str, value: &str) -> Self {
        Self { builder: self.builder.header(name, value), ..self }
    }

    /// A bearer token.
    pub fn bearer_auth(self, token: &str) -> Self {
        Self { builder: self.builder.bearer_auth(token), ..self }
    }

    /// Basic authentication.
    pub fn basic_auth(self, user: &str, password: &str) -> Self {
        Self { builder: self.builder.basic_auth(user, Some(password)), ..self }
    }
}

/// What a request needs to be delivered: the identity of an attempt.
#[diagnostic::on_unimplemented(
    message = "this request has no identity: its destination could not tell a repetition from a new action",
    label = "it would be sent without an identity",
    note = "call `.idempotent(&ctx)` on it before `.deliver()`"
)]
pub trait Identity {}

impl Identity for &Context {}

impl Request<NoIdentity> {
    /// Compiles nowhere: the request needs an identity first, which [`idempotent`](Self::idempotent) gives.
    #[allow(clippy::missing_errors_doc, reason = "it is never called")]
    pub fn deliver(self) -> std::future::Ready<Result<Answer, Failure>>
    where
        // The quantified lifetime keeps the compiler from judging the bound where it is written.
        for<'never> NoIdentity: Identity,
    {
        std::future::ready(Err(Failure::unknown("a request without an identity")))
    }
}

impl Request<&Context> {
    /// Sends the request once, and returns the answer if it says that the effect happened.
    ///
    /// Method, URL and body are written down before the first send. A later attempt that would send something else, a
    /// clock in the body for instance, is stopped before the network.
    ///
    /// # Errors
    /// A [`Failure`] that says what is known about the effect, for the handler to pass on.
    pub async fn deliver(self) -> Result<Answer, Failure> {
        let ctx = self.identity;
        let mut request = prepare(self.builder).map_err(|cause| ctx.not_sent(cause))?;
        // Before anything is written down: who waits has sent nothing, and no window of a destination begins.
        let admitted = match &self.destination {
            Some(destination) => Some(ctx.admit(destination).await?),
            None => None,
        };
        let scope = request.url().origin().ascii_serialization();
        let pin = ctx.pin(&scope, fingerprint(&request)).await?;
        if let Mechanism::Header(name) = ctx.contract().mechanism() {
            put_identity(request.headers_mut(), name, &pin.wire_key).map_err(|cause| ctx.not_sent(cause))?;
        }
        let asked = request.url().clone();
        // Unless an answer says otherwise below, this send stays unknown: also if this future is dropped.
        let sending = ctx.begin_send();
        let read = match self.http.execute(request).await {
            Ok(response) => read_answer(response, &asked).await,
            Err(error) => Err(read_error(&error)),
        };
        if let Some(admitted) = admitted {
            let (health, pause) = read.as_ref().map_or_else(health_of, |_| (Health::Answered, None));
            admitted.report(health, pause);
        }
        match read {
            Ok(answer) => {
                sending.acted();
                Ok(answer)
            }
            Err(failure) => {
                let failure = sending.failed(failure);
                tracing::debug!(
                    outcome = failure.outcome().kind().as_str(),
                    "the destination did not confirm"
                );
                Err(failure)
            }
        }
    }
}

/// The request as it will be sent, but for its identity.
fn prepare(builder: RequestBuilder) -> Result<reqwest::Request, Cause> {
    let mut request = builder.build().map_err(|error| unsendable(error.without_url()))?;
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

fn fingerprint(request: &reqwest::Request) -> Fingerprint {
    let body = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default();
    Fingerprint::of_parts(&[request.method().as_str().as_bytes(), request.url().as_str().as_bytes(), body])
}

fn check_scheme(scheme: &str) -> Result<(), Cause> {
    match scheme {
        "http" => Ok(()),
        "https" if cfg!(feature = "tls") => Ok(()),
        "https" => Err(unsendable("`https` needs the feature `tls` of this crate")),
        _ => Err(unsendable("only `http` and `https` addresses can be requested")),
    }
}

fn put_identity(headers: &mut reqwest::header::HeaderMap, name: &str, key: &str) -> Result<(), Cause> {
    let bad = |_: reqwest::header::InvalidHeaderName| {
        unsendable("the contract names a header that HTTP does not allow")
    };
    let name: HeaderName = name.parse().map_err(bad)?;
    if headers.contains_key(&name) {
        return Err(unsendable(format_args!(
            "the header `{name}` was set by hand and carries the identity: leave it to `.idempotent(&ctx)`"
        )));
    }
    let value = HeaderValue::from_str(key)
        .map_err(|_| unsendable("the key has characters that HTTP does not allow"))?;
    headers.insert(name, value);
    Ok(())
}

fn unsendable(why: impl fmt::Display) -> Cause {
    Cause::new(CauseKind::Handler, why)
}
