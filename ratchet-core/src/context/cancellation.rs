//! How a handler learns that it should stop.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

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
    reason: Mutex<Option<CancelReason>>,
    told: Notify,
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
        drop(first);
        self.told.notify_waiters();
    }

    pub(crate) fn reason(&self) -> Option<CancelReason> {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn wait(&self) -> CancelReason {
        loop {
            let told = self.told.notified();
            // Whatever is told from here on is heard.
            if let Some(reason) = self.reason() {
                return reason;
            }
            told.await;
        }
    }
}
