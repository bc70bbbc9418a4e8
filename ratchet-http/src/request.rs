//! A request on its way from the handler to the destination.

use std::fmt;

use ratchet_core::{Context, Destination, Failure, Sending};
use reqwest::RequestBuilder;
use reqwest::header::CONTENT_TYPE;
use serde::Serialize;
use tracing::Instrument as _;

use crate::answer::Answer;
use crate::form::encoded;
use crate::health::report;
use crate::identity::put_identity;
use crate::json::sorted;
use crate::prepare::{Terms, pin, prepare, unsendable};
use crate::reading::{read_answer, read_error};
use crate::trace::traced;

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
    /// Why there is no request.
    unfit: Option<&'static str>,
    terms: Terms,
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
        Self { http, destination, builder, unfit: None, terms: Terms::default(), identity: NoIdentity }
    }

    /// Sends it under the identity of this attempt's operation, in the place that the operation's contract names. Where
    /// the contract names none, nothing is added. Inside a named step, give it the context of the step.
    pub fn idempotent(self, ctx: &Context) -> Request<&Context> {
        let Self { http, destination, builder, unfit, terms, .. } = self;
        Request { http, destination, builder, unfit, terms, identity: ctx }
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

    /// A form, as Stripe and others take it: a struct, a map, or a list of pairs. What is inside has its place in brackets,
    /// and what is `None` is left out.
    ///
    /// ```
    /// # use ratchet_core::{Context, Failure};
    /// async fn charge(ctx: Context, http: ratchet_http::Client, order: &str, cents: u64) -> Result<(), Failure> {
    ///     let charge = serde_json::json!({
    ///         "amount": cents,
    ///         "currency": "eur",
    ///         "metadata": { "order": order }, // metadata[order]=…
    ///     });
    ///     http.post("https://api.stripe.com/v1/charges").form(&charge).idempotent(&ctx).deliver().await?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// The names are sorted, as those of [`json`](Self::json) are; equal ones keep the order of the list.
    pub fn form<T: Serialize + ?Sized>(self, body: &T) -> Self {
        match encoded(body) {
            Ok(text) => {
                let builder =
                    self.builder.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(text);
                Self { builder, ..self }
            }
            Err(why) => Self { unfit: Some(why.explain()), ..self },
        }
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

    /// Which account of the destination this is for, or which credential where the destination forgets its keys with one:
    /// an id or a name, never the credential itself. A later attempt for another one is stopped before the network.
    pub fn account(mut self, account: impl Into<String>) -> Self {
        self.terms.account = Some(account.into());
        self
    }

    /// Which region of the destination this is for, where its address does not say so.
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.terms.region = Some(region.into());
        self
    }

    /// Keeps the request of the first attempt, and sends that again byte for byte, whatever this one says: for bodies with
    /// something in them that is another one each time.
    ///
    /// Method, URL, body and its type are stored with the record, at most
    /// [`KeptRequest::LARGEST`](ratchet_core::KeptRequest::LARGEST) bytes of text; other headers are those of the attempt.
    /// Two different requests of one attempt need a step each.
    pub fn keep_request(mut self) -> Self {
        self.terms.keep = true;
        self
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
        if let Some(why) = self.unfit {
            return Err(ctx.not_sent(unsendable(why)));
        }
        let built = self.builder.build().map_err(|error| unsendable(error.without_url()));
        let mut request = built.and_then(prepare).map_err(|cause| ctx.not_sent(cause))?;
        // Before anything is written down: who waits has sent nothing, and no window of a destination begins.
        let admitted = match &self.destination {
            Some(destination) => Some(ctx.admit(destination).await?),
            None => None,
        };
        let pin = pin(ctx, &mut request, &self.terms).await?;
        put_identity(&mut request, ctx, &pin)?;
        let asked = request.url().clone();
        let span = traced(&mut request, ctx);
        // Unless an answer says otherwise below, this send stays unknown: also if this future is dropped.
        let sending = ctx.begin_send();
        let read = async {
            match self.http.execute(request).await {
                Ok(response) => read_answer(response, &asked, ctx.contract()).await,
                Err(error) => Err(read_error(&error)),
            }
        };
        let read = read.instrument(span).await;
        report(admitted, &read);
        conclude(sending, read)
    }
}

/// Tells the attempt how a send ended.
pub(crate) fn conclude(sending: Sending, read: Result<Answer, Failure>) -> Result<Answer, Failure> {
    match read {
        Ok(answer) => {
            sending.acted();
            tracing::debug!(
                replayed = answer.is_replayed(),
                duplicate = answer.is_duplicate(),
                "the destination confirmed"
            );
            Ok(answer)
        }
        Err(failure) => {
            let failure = sending.failed(failure);
            tracing::debug!(outcome = failure.outcome().kind().as_str(), "the destination did not confirm");
            Err(failure)
        }
    }
}
