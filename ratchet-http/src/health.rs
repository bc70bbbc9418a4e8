//! What an answer, or its absence, says about the destination itself.

use std::time::Duration;

use ratchet_core::admission::Health;
use ratchet_core::{Admitted, CauseKind, Failure, Outcome};

use crate::answer::Answer;

/// Tells the gate of a destination how a send ended.
pub(crate) fn report(admitted: Option<Admitted>, read: &Result<Answer, Failure>) {
    if let Some(admitted) = admitted {
        let (health, pause) = read.as_ref().map_or_else(health_of, |_| (Health::Answered, None));
        admitted.report(health, pause);
    }
}

/// Whether the destination works, and for how long it asks everybody to wait.
///
/// That it asks to wait after any other status (a 409, where another request under the key is under way) concerns this
/// request alone.
fn health_of(failure: &Failure) -> (Health, Option<Duration>) {
    let outcome = failure.outcome();
    let wait = match outcome {
        Outcome::NotApplied { retry_after, .. } | Outcome::Unknown { retry_after, .. } => *retry_after,
        Outcome::Rejected { .. } | Outcome::Done { .. } => None,
    };
    match outcome.cause().map(ratchet_core::Cause::kind) {
        Some(CauseKind::Status(429 | 503)) => (Health::Failed, wait),
        Some(CauseKind::Status(408 | 500..)) => (Health::Failed, None),
        Some(CauseKind::Status(_)) => (Health::Answered, None),
        Some(CauseKind::Connect | CauseKind::Transport | CauseKind::UnreadableAnswer) => {
            (Health::Failed, None)
        }
        _ => (Health::NotSent, None),
    }
}

#[cfg(test)]
mod tests {
    use ratchet_core::Cause;

    use super::*;

    fn answered(status: u16) -> (Health, Option<Duration>) {
        let cause = Cause::new(CauseKind::Status(status), "");
        health_of(&Failure::new(Outcome::Unknown { cause, retry_after: Some(Duration::from_secs(7)) }))
    }

    #[test]
    fn only_a_destination_that_cannot_work_has_failed() {
        for status in [202, 302, 400, 402, 404, 409, 422, 425] {
            assert_eq!(answered(status), (Health::Answered, None), "{status}");
        }
        for status in [408, 500, 502, 504] {
            assert_eq!(answered(status), (Health::Failed, None), "{status}");
        }
        for status in [429, 503] {
            assert_eq!(answered(status), (Health::Failed, Some(Duration::from_secs(7))), "{status}");
        }
    }

    #[test]
    fn no_answer_is_a_failure_and_no_request_is_none() {
        let of = |kind| health_of(&Failure::new(Outcome::unknown(Cause::new(kind, ""))));
        for kind in [CauseKind::Connect, CauseKind::Transport, CauseKind::UnreadableAnswer] {
            assert_eq!(of(kind), (Health::Failed, None), "{kind}");
        }
        assert_eq!(of(CauseKind::Handler), (Health::NotSent, None));
    }
}
