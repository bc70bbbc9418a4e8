//! The identity as a middleware of `reqwest-middleware`, for programs whose requests go through one already.
//!
//! ```
//! use ratchet_core::{Context, Failure};
//! use ratchet_http::middleware::{Identified, failure_of};
//! use reqwest_middleware::ClientWithMiddleware;
//!
//! // The middleware is the last one, so that it sees the request as it is sent.
//! fn client(http: ratchet_http::reqwest::Client) -> ClientWithMiddleware {
//!     reqwest_middleware::ClientBuilder::new(http).with(Identified).build()
//! }
//!
//! async fn charge(ctx: Context, http: ClientWithMiddleware) -> Result<(), Failure> {
//!     let request = http.post("https://payments.example/charges").body("{}").with_extension(ctx);
//!     let answer = request.send().await.map_err(failure_of)?;
//!     let _ = answer.text().await?;
//!     Ok(())
//! }
//! ```
//!
//! Redirects and retries are the client's: build it with `redirect(Policy::none())` and `retry(retry::never())`. Where it
//! follows a redirect all the same, the outcome is unknown.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use http::Extensions;
use ratchet_core::{Context, Destination, Failure};
use reqwest::{Body, Request, Response};
use reqwest_middleware::{Error, Middleware, Next};
use tracing::Instrument as _;

use crate::answer::Answer;
use crate::health::report;
use crate::identity::put_identity;
use crate::prepare::{Terms, pin, prepare};
use crate::reading::{not_answered, read_answer, read_error};
use crate::request::conclude;
use crate::trace::traced;

/// Sends a request under the identity of the [`Context`] in its extensions, and passes on no answer but one that says that
/// the effect happened.
///
/// A request without a context is passed on only if its method is safe (GET, HEAD, OPTIONS).
#[derive(Debug, Clone, Copy)]
pub struct Identified;

/// Which account and region a request is for, whether it is kept, and whose gate it asks: an extension beside the context.
///
/// See [`account`](crate::Request::account), [`region`](crate::Request::region),
/// [`keep_request`](crate::Request::keep_request) and [`Client::to`](crate::Client::to).
#[derive(Debug, Clone, Default)]
pub struct Addressed {
    /// An id of the account, or the name of the credential.
    pub account: Option<String>,
    /// The region.
    pub region: Option<String>,
    /// Whether the first request is kept and sent again.
    pub keep_request: bool,
    /// A destination with limits.
    pub destination: Option<Destination>,
}

/// What became of a send that was not confirmed, as an error of `reqwest-middleware`.
struct Unconfirmed(Failure);

/// The failure in an error of `reqwest-middleware`, for the handler to pass on. An error of anybody else is unknown.
pub fn failure_of(error: Error) -> Failure {
    match error {
        Error::Middleware(error) => match error.downcast::<Unconfirmed>() {
            Ok(Unconfirmed(failure)) => failure,
            Err(_) => not_answered(),
        },
        Error::Reqwest(error) => read_error_of_any_client(&error),
    }
}

/// The caller made this client, which may follow redirects: a connection that fails can be the one after the effect.
fn read_error_of_any_client(error: &reqwest::Error) -> Failure {
    if error.is_connect() { not_answered() } else { read_error(error) }
}

type Answered<'a> = Pin<Box<dyn Future<Output = reqwest_middleware::Result<Response>> + Send + 'a>>;

impl Middleware for Identified {
    fn handle<'s, 'e, 'n, 'f>(
        &'s self,
        request: Request,
        extensions: &'e mut Extensions,
        next: Next<'n>,
    ) -> Answered<'f>
    where
        's: 'f,
        'e: 'f,
        'n: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            let Some(ctx) = extensions.get::<Context>().cloned() else {
                if request.method().is_safe() {
                    return next.run(request, extensions).await;
                }
                return Err(unconfirmed(Failure::not_applied(
                    "a request without an identity: add the context with `.with_extension(ctx)`",
                )));
            };
            let answer = deliver(&ctx, request, extensions, next).await.map_err(unconfirmed)?;
            Ok(rebuilt(&answer))
        })
    }
}

async fn deliver(
    ctx: &Context,
    request: Request,
    extensions: &mut Extensions,
    next: Next<'_>,
) -> Result<Answer, Failure> {
    let addressed = extensions.get::<Addressed>().cloned().unwrap_or_default();
    let terms = Terms { account: addressed.account, region: addressed.region, keep: addressed.keep_request };
    let mut request = prepare(request).map_err(|cause| ctx.not_sent(cause))?;
    let admitted = match &addressed.destination {
        Some(destination) => Some(ctx.admit(destination).await?),
        None => None,
    };
    let pin = pin(ctx, &mut request, &terms).await?;
    put_identity(&mut request, ctx, &pin)?;
    let asked = request.url().clone();
    let span = traced(&mut request, ctx);
    let sending = ctx.begin_send();
    let read = match next.run(request, extensions).instrument(span).await {
        Ok(response) => read_answer(response, &asked, ctx.contract()).await,
        Err(Error::Reqwest(error)) => Err(read_error_of_any_client(&error)),
        // Another middleware after this one: nobody knows what it did.
        Err(Error::Middleware(_)) => Err(not_answered()),
    };
    report(admitted, &read);
    conclude(sending, read)
}

/// The answer as a response once more, since its body was read.
fn rebuilt(answer: &Answer) -> Response {
    let mut response = http::Response::new(Body::from(answer.body().clone()));
    *response.status_mut() = answer.status();
    response.headers_mut().clone_from(answer.headers());
    Response::from(response)
}

fn unconfirmed(failure: Failure) -> Error {
    Error::middleware(Unconfirmed(failure))
}

impl fmt::Debug for Unconfirmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Unconfirmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the destination did not confirm the effect: {}", self.0)
    }
}

impl std::error::Error for Unconfirmed {}
