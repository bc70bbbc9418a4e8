//! The end of the server: first nothing new begins, and what workers have may be reported; then the listener is closed.

use std::future;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep};

use super::App;

/// Requests that are under way when the last job is over need no longer than this to be answered.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// What process managers and people ask to stop with.
pub(super) struct StopSignals {
    terminate: Option<Signal>,
    interrupt: Option<Signal>,
}

impl StopSignals {
    pub(super) fn listen() -> Self {
        let listen = |kind| {
            let failed =
                |error| tracing::error!(%error, "a signal cannot be received: kill the program to end it");
            signal(kind).map_err(failed).ok()
        };
        Self { terminate: listen(SignalKind::terminate()), interrupt: listen(SignalKind::interrupt()) }
    }

    async fn received(&mut self) {
        async fn next(signal: &mut Option<Signal>) {
            match signal {
                Some(signal) => drop(signal.recv().await),
                None => future::pending().await,
            }
        }
        tokio::select! {
            () = next(&mut self.terminate) => {}
            () = next(&mut self.interrupt) => {}
        }
    }
}

/// Ready when connections are to be closed: the server was asked to stop, and workers have reported on the jobs that they
/// had, or the grace is over, or it was asked once more. Answers how long requests may be under way after that.
pub(super) async fn asked(app: &App, mut signals: StopSignals) -> Duration {
    signals.received().await;
    tracing::info!("asked to stop: nothing new begins, and the jobs that workers have may be reported");
    app.begin_to_stop();
    let begun = Instant::now();
    tokio::select! {
        () = app.jobs().are_over() => {}
        () = signals.received() => tracing::warn!("asked to stop once more: jobs are left to their workers"),
        () = sleep(app.limits().grace) => {
            tracing::warn!("some jobs were still under way when the grace was over");
        }
    }
    app.limits().grace.saturating_sub(begun.elapsed()).max(LAST_ANSWERS)
}
