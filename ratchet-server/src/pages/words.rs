//! Times, spans and names in words.

use std::time::Duration;

use maud::{Markup, html};
use ratchet::{CauseKind, OutcomeKind, RecordId, RecordState, Timestamp};

use crate::terminal::harmless;

/// A span in its two largest units.
pub(super) fn span(span: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let seconds = span.as_secs();
    let Some(largest) = UNITS.iter().position(|(size, _)| seconds >= *size) else {
        return format!("{} ms", span.as_millis());
    };
    let (size, unit) = UNITS[largest];
    let whole = format!("{} {unit}", seconds / size);
    match UNITS.get(largest + 1).map(|(next, unit)| (seconds % size / next, unit)) {
        Some((rest, unit)) if rest > 0 && seconds / size < 10 => format!("{whole} {rest} {unit}"),
        _ => whole,
    }
}

/// A point of time, to the second. Times are in UTC, as in logs.
pub(super) fn stamp(at: Timestamp) -> String {
    let whole = Timestamp::from_millis(at.as_millis().div_euclid(1000).saturating_mul(1000));
    whole.to_string().replace('T', " ").replace('Z', "")
}

/// How far a point of time is from now, with the point itself as its title.
pub(super) fn when(at: Timestamp, now: Timestamp) -> Markup {
    html! { time datetime=(at) title={ (stamp(at)) " UTC" } { (distance(at, now)) } }
}

/// How far a point of time is from now.
pub(super) fn distance(at: Timestamp, now: Timestamp) -> String {
    match (now.since(at), at.since(now)) {
        (Duration::ZERO, Duration::ZERO) => "now".to_owned(),
        (past, Duration::ZERO) => format!("{} ago", span(past)),
        (_, future) => format!("in {}", span(future)),
    }
}

/// A time and the day, as a list of events has them.
pub(super) fn moment(at: Timestamp) -> Markup {
    html! { time datetime=(at) { (stamp(at)) } }
}

/// The last moment that a clock can show stands for no end.
pub(super) fn is_for_ever(at: Timestamp) -> bool {
    at.as_millis() == i64::MAX
}

/// The state as a word with a mark, so that colour is not all there is.
pub(super) fn state(state: RecordState) -> Markup {
    html! { span class={ "state " (state) } { (state) } }
}

/// What a state means, in the words of the documentation.
pub(super) fn meaning(state: RecordState) -> &'static str {
    match state {
        RecordState::Waiting => "waits for another record",
        RecordState::Pending => "waits for a worker",
        RecordState::Running => "has a worker",
        RecordState::Succeeded => "the effect happened",
        RecordState::Failed => "the destination refused",
        RecordState::Exhausted => "every attempt certainly had no effect",
        RecordState::Uncertain => "the effect may have happened",
        RecordState::Cancelled => "stopped before any effect",
        RecordState::Abandoned => "unknown, and given up as declared",
        RecordState::Skipped => "never executed: the other branch was taken",
    }
}

/// What an attempt knew when it ended.
pub(super) fn outcome(kind: OutcomeKind) -> &'static str {
    match kind {
        OutcomeKind::Done => "the effect happened",
        OutcomeKind::NotApplied => "certainly no effect",
        OutcomeKind::Rejected => "certainly refused",
        OutcomeKind::Unknown => "the effect may have happened",
    }
}

/// Why something did not end well, as a clause.
pub(super) fn cause(kind: CauseKind) -> String {
    let known = match kind {
        CauseKind::Status(status) => return format!("the destination answered {status}"),
        CauseKind::Handler => "the handler said so",
        CauseKind::Error => "an error of other code ended the handler",
        CauseKind::Panic => "the handler panicked",
        CauseKind::Timeout => "the attempt ran longer than its timeout",
        CauseKind::Shutdown => "the worker was stopped meanwhile",
        CauseKind::LeaseLost => "the worker did not report before its lease ended",
        CauseKind::Cancelled => "it was cancelled meanwhile",
        CauseKind::NotRetryable => "the handler failed, and said that another attempt is of no use",
        CauseKind::NotAdmitted => "the destination takes nothing more at the moment, so nothing was sent",
        CauseKind::Connect => "the destination could not be reached, so nothing was sent",
        CauseKind::Transport => "the connection broke after the request may have left",
        CauseKind::UnreadableAnswer => {
            "the destination answered with success, and its answer could not be read"
        }
        CauseKind::InFlight => "the destination is still at a request with this key",
        CauseKind::Mismatch => "the destination knows this key with another request",
        CauseKind::RequestChanged => "the next request would differ from the pinned one",
        CauseKind::UnreadableInput => "the stored input does not fit the handler's type",
        CauseKind::UnstorableResult => "the result could not be stored",
        CauseKind::ReportedLate => "an earlier attempt has reported that the effect happened",
        CauseKind::Resolved => "somebody looked and decided",
        other => other.as_str(),
    };
    known.to_owned()
}

/// The key as people name it: the second and later generations have a number.
pub(super) fn key(id: &RecordId) -> String {
    match id.generation.get() {
        1 => id.key.to_string(),
        number => format!("{}#{number}", id.key),
    }
}

/// A text of strangers on one page with ours: nothing in it turns the direction of what follows.
pub(super) fn foreign(text: &str) -> String {
    harmless(text)
}

/// A number and its noun.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// The first letter in upper case.
pub(super) fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_at_most_two_units() {
        for (millis, words) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (59_000, "59 s"),
            (60_000, "1 min"),
            (95_000, "1 min 35 s"),
            (3_600_000, "1 h"),
            (3_725_000, "1 h 2 min"),
            (36_060_000, "10 h"),
            (86_400_000, "1 d"),
            (180_000_000, "2 d 2 h"),
        ] {
            assert_eq!(span(Duration::from_millis(millis)), words);
        }
    }

    #[test]
    fn a_moment_is_told_from_now() {
        let now = Timestamp::from_millis(1_768_464_000_000);
        assert_eq!(distance(now, now), "now");
        assert_eq!(distance(Timestamp::from_millis(1_768_463_995_000), now), "5 s ago");
        assert_eq!(distance(now.after(Duration::from_mins(2)), now), "in 2 min");
        assert_eq!(stamp(now.after(Duration::from_millis(999))), "2026-01-15 08:00:00");
    }
}
