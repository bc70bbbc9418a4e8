//! Hands no jobs out where a backup was restored: what was sent after it was taken is pending again in it.

use std::sync::atomic::{AtomicBool, Ordering};

use ratchet::ledger::{HighWaterFile, SharedLedger, Standing};

/// Whether jobs may be handed out, as workers in Rust decide it.
pub(super) struct RestoreGuard {
    /// `None` where there is no place for a mark, so that a restored backup looks like any other store.
    file: Option<HighWaterFile>,
    open: AtomicBool,
    /// A job was handed out since the mark was raised. Set at first, so that a mark is there before anything is sent.
    worked: AtomicBool,
}

impl RestoreGuard {
    pub(super) fn new(file: Option<HighWaterFile>) -> Self {
        // Nobody asks before the first look.
        Self { file, open: AtomicBool::new(true), worked: AtomicBool::new(true) }
    }

    /// Whether jobs may be handed out, as the last look found.
    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// A job is handed out, so the store moves on.
    pub(super) fn worked(&self) {
        self.worked.store(true, Ordering::Release);
    }

    /// Compares the store with what was seen of it.
    pub(super) async fn look(&self, ledger: &SharedLedger) {
        let worked = self.worked.swap(false, Ordering::AcqRel);
        let standing = match &self.file {
            Some(file) => file.compare(&**ledger, worked).await.map_err(|error| error.to_string()),
            None => match ledger.mark().await {
                Ok(mark) if mark.held_since.is_some() => Ok(Standing::HeldBack),
                Ok(_) => Ok(Standing::GoesOn),
                Err(error) => Err(error.to_string()),
            },
        };
        let open = matches!(standing, Ok(Standing::GoesOn));
        if !open {
            self.worked.fetch_or(worked, Ordering::AcqRel);
        }
        let was_open = self.open.swap(open, Ordering::AcqRel);
        match standing {
            Err(error) => {
                tracing::error!(error, "no job is handed out, since it is not known how the store stands");
            }
            Ok(Standing::HeldBack) if was_open => tracing::error!(
                "no job is handed out: the store is behind what was seen of it, so a backup was restored; look at what the \
                 destinations have, then run `ratchet acknowledge-restore`"
            ),
            Ok(_) => {}
        }
    }
}
