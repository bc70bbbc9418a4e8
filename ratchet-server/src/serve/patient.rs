//! A connection whose other side has to read.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Gives up where nothing of an answer could be sent for so long: a client that does not read would hold the answer in
/// memory for ever.
pub(super) struct Patient<S> {
    stream: S,
    patience: Duration,
    stuck: Pin<Box<Sleep>>,
    waits: bool,
}

impl<S> Patient<S> {
    pub(super) fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, stuck: Box::pin(sleep(patience)), waits: false }
    }

    /// What came of an attempt to send, unless nothing came of any for too long.
    fn in_time<T>(&mut self, cx: &mut Context<'_>, sent: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if sent.is_ready() {
            self.waits = false;
            return sent;
        }
        if !self.waits {
            self.waits = true;
            self.stuck.as_mut().reset(Instant::now() + self.patience);
        }
        ready!(self.stuck.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.in_time(cx, sent)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.in_time(cx, sent)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let sent = Pin::new(&mut self.stream).poll_flush(cx);
        self.in_time(cx, sent)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let sent = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.in_time(cx, sent)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_stops_is_given_up_and_a_slow_one_is_not() {
        let (ours, mut theirs) = duplex(4);
        let mut patient = Patient::new(ours, PATIENCE);
        let reader = tokio::spawn(async move {
            let mut read = Vec::new();
            for _ in 0..3 {
                tokio::time::sleep(PATIENCE * 9 / 10).await;
                let mut part = [0; 4];
                theirs.read_exact(&mut part).await.unwrap();
                read.extend(part);
            }
            (read, theirs)
        });
        patient.write_all(b"0123456789ab").await.unwrap();
        let (read, _stopped) = reader.await.unwrap();
        assert_eq!(read, b"0123456789ab");
        let begun = Instant::now();
        let stuck = patient.write_all(b"cdefgh").await.unwrap_err();
        assert_eq!((stuck.kind(), begun.elapsed()), (io::ErrorKind::TimedOut, PATIENCE));
    }
}
