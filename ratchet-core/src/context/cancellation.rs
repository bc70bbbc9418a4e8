//! How a handler learns that it should stop.

use std::sync::{Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// Why a handler should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancelReason {
    /// Somebody cancelled the operation.
    Cancelled,
    /// The lease could not be extended; another worker may have taken the record over.
    LeaseLost,
    /// The worker is being stopped.
    Shutdown,
    /// The attempt ran longer than its timeout.
    Timeout,
}

/// A signal with the first reason that was given, unless the lease is lost: then nothing else matters.
#[derive(Debug, Default)]
pub(crate) struct Cancellation {
    token: CancellationToken,
    reason: Mutex<Option<CancelReason>>,
}

impl Cancellation {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn cancel(&self, reason: CancelReason) {
        let mut first = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() || reason == CancelReason::LeaseLost {
            *first = Some(reason);
        }
        self.token.cancel();
    }

    pub(crate) fn reason(&self) -> Option<CancelReason> {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn wait(&self) -> CancelReason {
        self.token.cancelled().await;
        self.reason().unwrap_or(CancelReason::Shutdown)
    }
}
