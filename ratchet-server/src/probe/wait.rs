//! Waits, and shows how long still.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tokio::time::Instant;

/// Waits until this time after `start`.
pub(super) async fn until(start: Instant, span: Duration, what: &'static str) {
    let end = start + span;
    let bar = ProgressBar::new(end.saturating_duration_since(Instant::now()).as_secs()).with_style(style());
    bar.set_message(what);
    while Instant::now() < end {
        tokio::time::sleep_until(end.min(Instant::now() + Duration::from_secs(1))).await;
        bar.inc(1);
    }
    bar.finish_and_clear();
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{msg} {wide_bar} {eta}").unwrap_or_else(|_| ProgressStyle::default_bar())
}
