//! The way of one request through the layer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Request, Response, response};
use http_body::Body as HttpBody;
use ratchet_core::decide::Answer;
use ratchet_core::{Cause, CauseKind, Execution, Outcome, Payload, Submission};
use tower_service::Service;
use tracing::Instrument as _;

use super::answer::{Kept, Verdict};
use super::body::{Body, BoxError, Read, passed_on, read, whole};
use super::claim::{Claim, claim};
use super::identity::{Scope, submission};
use super::key;
use super::problem::Problem;
use super::settings::Settings;

/// A service whose requests are executed once per key; made by [`IdempotencyLayer`](super::IdempotencyLayer).
#[derive(Debug, Clone)]
pub struct IdempotencyService<S> {
    inner: S,
    settings: Arc<Settings>,
}

impl<S> IdempotencyService<S> {
    pub(super) const fn new(inner: S, settings: Arc<Settings>) -> Self {
        Self { inner, settings }
    }
}

type Answered<E> = Result<Response<Body>, E>;

impl<S, B, R> Service<Request<B>> for IdempotencyService<S>
where
    S: Service<Request<Body>, Response = Response<R>, Future: Send, Error: Send + 'static>
        + Clone
        + Send
        + 'static,
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    R: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Answered<S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The one that is ready is used up.
        let next = self.inner.clone();
        let inner = std::mem::replace(&mut self.inner, next);
        let settings = Arc::clone(&self.settings);
        Box::pin(async move {
            match admit(&settings, request).await {
                Admitted::Free(request) => pass(inner, request).await,
                Admitted::Guarded(request, submission) => {
                    // A task of its own, so that neither the claim nor the answer is lost with the connection.
                    let one = settings.under_way.enter();
                    let guarded = guard(settings.clone(), inner, *request, *submission);
                    let guarded = async move {
                        let _one = one;
                        guarded.await
                    };
                    let answered = tokio::spawn(guarded.in_current_span()).await;
                    answered.unwrap_or_else(|_| Ok(Problem::Interrupted.into_response(&settings)))
                }
                Admitted::Refused(problem) => Ok(problem.into_response(&settings)),
            }
        })
    }
}

enum Admitted {
    /// It has no key and needs none.
    Free(Request<Body>),
    Guarded(Box<Request<Body>>, Box<Submission>),
    Refused(Problem),
}

async fn admit<B>(settings: &Settings, request: Request<B>) -> Admitted
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    if !Settings::concerns(request.method()) {
        return Admitted::Free(request.map(passed_on));
    }
    let key = match key::read(request.headers(), settings.longest_key) {
        Ok(Some(key)) => key,
        Ok(None) if settings.requires_key(request.method()) => return Admitted::Refused(Problem::KeyMissing),
        Ok(None) => return Admitted::Free(request.map(passed_on)),
        Err(why) => return Admitted::Refused(Problem::KeyMalformed(why)),
    };
    let (parts, body) = request.into_parts();
    let Some(principal) = (settings.principal)(&parts) else {
        return Admitted::Refused(Problem::NoPrincipal);
    };
    match read(body, settings.largest_request).await {
        Ok(Read::Whole(body)) => identified(settings, &key, &principal, parts, body),
        Ok(Read::TooLong(_)) => Admitted::Refused(Problem::RequestTooLarge),
        Err(_) => Admitted::Refused(Problem::RequestUnreadable),
    }
}

fn identified(settings: &Settings, key: &str, principal: &str, parts: Parts, body: Bytes) -> Admitted {
    let scope = Scope { principal, method: &parts.method, path: parts.uri.path() };
    let Ok(id) = scope.record_id(settings, key) else { return Admitted::Refused(Problem::StoreUnavailable) };
    let submission = submission(settings, id, key, &parts, &body);
    Admitted::Guarded(Box::new(Request::from_parts(parts, whole(body))), Box::new(submission))
}

async fn pass<S, R>(mut inner: S, request: Request<Body>) -> Answered<S::Error>
where
    S: Service<Request<Body>, Response = Response<R>>,
    R: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    Ok(inner.call(request).await?.map(passed_on))
}

async fn guard<S, R>(
    settings: Arc<Settings>,
    inner: S,
    mut request: Request<Body>,
    submission: Submission,
) -> Answered<S::Error>
where
    S: Service<Request<Body>, Response = Response<R>, Future: Send, Error: Send + 'static> + Send + 'static,
    R: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let key = submission.id.digest();
    let execution = match claim(&settings, submission).await {
        Claim::Execute(execution) => *execution,
        Claim::Repeat(kept) => return Ok(repeated(kept, &settings)),
        Claim::Refuse(problem) => {
            tracing::debug!(%key, code = problem.code(), "not executed");
            return Ok(problem.into_response(&settings));
        }
    };
    request.extensions_mut().insert(execution.context().clone());
    let span = tracing::info_span!("inbound", %key);
    let handled = execution.run(handle(inner, request)).instrument(span.clone()).await;
    conclude(&settings, execution, handled).instrument(span).await
}

/// What came of the handler.
enum Handled {
    /// An answer with all of its body.
    Whole(response::Parts, Bytes),
    /// An answer with more body than is kept.
    TooLong(response::Parts, Body),
    /// An answer whose body broke off.
    Broken,
}

async fn handle<S, R>(mut inner: S, request: Request<Body>) -> Result<Handled, S::Error>
where
    S: Service<Request<Body>, Response = Response<R>>,
    R: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let (parts, body) = inner.call(request).await?.into_parts();
    Ok(match read(body, Payload::LARGEST_RESULT).await {
        Ok(Read::Whole(body)) => Handled::Whole(parts, body),
        Ok(Read::TooLong(body)) => Handled::TooLong(parts, body),
        Err(_) => Handled::Broken,
    })
}

/// Writes down what came of the handler, and answers only then.
async fn conclude<E>(
    settings: &Settings,
    execution: Execution,
    handled: Result<Result<Handled, E>, Cause>,
) -> Answered<E> {
    let unknown = |why| Outcome::unknown(Cause::new(CauseKind::Handler, why));
    let interrupted = || Problem::Interrupted.into_response(settings);
    let keep = |parts: &response::Parts, body: Option<&Bytes>| {
        let kept = || Kept::of(parts, body, &settings.kept_headers).outcome();
        Verdict::of(parts).outcome(parts.status, kept)
    };
    let (outcome, answer) = match handled {
        Err(cause) => (Outcome::unknown(cause), Ok(interrupted())),
        Ok(Err(error)) => (unknown("the handler's service failed"), Err(error)),
        Ok(Ok(Handled::Broken)) => (unknown("the body of the answer broke off"), Ok(interrupted())),
        Ok(Ok(Handled::Whole(parts, body))) => {
            (keep(&parts, Some(&body)), Ok(Response::from_parts(parts, whole(body))))
        }
        Ok(Ok(Handled::TooLong(parts, body))) => (keep(&parts, None), Ok(Response::from_parts(parts, body))),
    };
    let mut answer = match execution.settle(outcome).await {
        Ok(Ok(Answer::Settled(_))) => answer?,
        Ok(_) => return Ok(Problem::Superseded.into_response(settings)),
        Err(_) => return Ok(Problem::NotRecorded.into_response(settings)),
    };
    settings.advertise(answer.headers_mut());
    Ok(answer)
}

fn repeated(kept: Kept, settings: &Settings) -> Response<Body> {
    let mut response = match kept.into_response() {
        Ok(response) => response,
        Err(kept) => return Problem::AnswerNotKept(Some(kept)).into_response(settings),
    };
    let marker = HeaderName::from_static("idempotent-replayed");
    response.headers_mut().insert(marker, HeaderValue::from_static("true"));
    settings.advertise(response.headers_mut());
    response
}
