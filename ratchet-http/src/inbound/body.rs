//! Bodies, and how much of them is read.

use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};

/// Why a body could not be read.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The body of what this layer hands to the handler and answers to the client.
#[derive(Debug)]
pub struct Body(UnsyncBoxBody<Bytes, BoxError>);

impl HttpBody for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.0).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

pub(super) fn whole(bytes: Bytes) -> Body {
    Body(Full::new(bytes).map_err(|never: Infallible| match never {}).boxed_unsync())
}

pub(super) fn passed_on<B>(body: B) -> Body
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    Body(body.map_err(Into::into).boxed_unsync())
}

/// What was read of a body.
pub(super) enum Read {
    /// All of it.
    Whole(Bytes),
    /// More than was wanted, and it goes on.
    TooLong(Body),
}

/// Reads a body of up to `limit` bytes.
///
/// # Errors
/// If it breaks off.
pub(super) async fn read<B>(body: B, limit: usize) -> Result<Read, BoxError>
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let mut body = Box::pin(body);
    let mut seen = BytesMut::new();
    // What says that it is too long need not be read.
    while body.size_hint().lower() <= (limit - seen.len()) as u64 {
        let Some(frame) = body.frame().await else { return Ok(Read::Whole(seen.freeze())) };
        let Ok(data) = frame.map_err(Into::into)?.into_data() else { continue };
        if seen.len() + data.len() > limit {
            seen.extend_from_slice(&data);
            break;
        }
        seen.extend_from_slice(&data);
    }
    Ok(Read::TooLong(passed_on(Resumed { seen: Some(seen.freeze()), rest: body })))
}

/// A body whose beginning was read already.
struct Resumed<B> {
    seen: Option<Bytes>,
    rest: Pin<Box<B>>,
}

impl<B: HttpBody<Data = Bytes>> HttpBody for Resumed<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.seen.take().filter(|seen| !seen.is_empty()) {
            Some(seen) => Poll::Ready(Some(Ok(Frame::data(seen)))),
            None => self.rest.as_mut().poll_frame(cx),
        }
    }

    fn size_hint(&self) -> SizeHint {
        let seen = self.seen.as_ref().map_or(0, Bytes::len) as u64;
        let rest = self.rest.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(seen));
        if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(seen)) {
            hint.set_upper(upper);
        }
        hint
    }
}
