//! What happened to a record: its attempts and leases, and what people decided about it, in the order of time.

use maud::{Markup, html};
use ratchet::{Attempt, AttemptEnd, AuditEntry, OutcomeKind, Record, RecordState, Timestamp};

use super::words::{cause, foreign, moment, outcome, sentence, span, state};
use crate::said::Said;

/// One entry; its kind gives it a mark.
struct Event {
    at: Timestamp,
    kind: &'static str,
    told: Markup,
}

pub(super) fn show(
    record: &Record,
    attempts: &[Attempt],
    decisions: &[AuditEntry],
    said: &Said,
    now: Timestamp,
) -> Markup {
    let enqueued = html! { b { "Enqueued" } " for version " (record.version) ", in queue " (record.queue) };
    let mut events = vec![Event { at: record.created_at, kind: "made", told: enqueued }];
    events.extend(attempts.iter().map(|attempt| of_attempt(record, attempt, said, now)));
    events.extend(decisions.iter().map(of_decision));
    events.sort_by_key(|event| event.at);
    html! {
        ol.timeline {
            @for event in &events {
                li class=(event.kind) { (moment(event.at)) div { (event.told) } }
            }
        }
    }
}

fn of_attempt(record: &Record, attempt: &Attempt, said: &Said, now: Timestamp) -> Event {
    let is_current = attempt.token == record.token && record.state == RecordState::Running;
    let lease = record.lease.as_ref().filter(|_| is_current);
    let told = html! {
        p { b { "Attempt " (attempt.token) } ", leased to worker " code { (attempt.worker) } }
        p {
            @match attempt.started_at {
                Some(at) => { "Handler entered after " (span(at.since(attempt.leased_at))) ". " },
                None => "The handler was not entered: a lease is not a start. ",
            }
            @match (&attempt.end, lease) {
                (Some(end), _) => (ended(attempt, end, said)),
                (None, Some(lease)) => { "Its lease " @if lease.until > now { "ends" } @else { "ended" } " at " (moment(lease.until)) "." },
                (None, None) if attempt.started_at.is_none() => "It was given back.",
                (None, None) => "It did not report.",
            }
        }
    };
    let kind = match (&attempt.end, is_current) {
        (Some(end), _) => end.outcome.as_str(),
        (None, true) => "running",
        (None, false) => "made",
    };
    Event { at: attempt.leased_at, kind, told }
}

fn ended(attempt: &Attempt, end: &AttemptEnd, said: &Said) -> Markup {
    let took = span(end.at.since(attempt.started_at.unwrap_or(attempt.leased_at)));
    html! {
        span class={ "outcome " (end.outcome.as_str()) } { (name(end.outcome)) } " after " (took) ": "
        (outcome(end.outcome)) "."
        @if let Some(known) = &end.cause {
            " " (sentence(&cause(known.kind()))) "."
            @let told = said.told(known).unwrap_or_default();
            @if !told.is_empty() { q { (told) } }
        }
        @if end.late { " It came late, after another attempt had the lease." }
    }
}

fn name(kind: OutcomeKind) -> &'static str {
    match kind {
        OutcomeKind::Done => "Done",
        OutcomeKind::NotApplied => "Not applied",
        OutcomeKind::Rejected => "Rejected",
        OutcomeKind::Unknown => "Unknown",
    }
}

fn of_decision(entry: &AuditEntry) -> Event {
    let told = html! {
        p { b { (act(&entry.action)) } " by " (foreign(&entry.by)) ": " (state(entry.from)) " → " (state(entry.to)) }
        p { q { (foreign(&entry.reason)) } }
    };
    Event { at: entry.at, kind: "decided", told }
}

/// What the audit trail calls an act, as the pages do.
pub(super) fn act(action: &str) -> String {
    match action {
        "resolve" => "Reconciled".to_owned(),
        "replay" => "Replayed".to_owned(),
        "cancel" => "Cancelled".to_owned(),
        "new_generation" => "Released".to_owned(),
        other => sentence(&foreign(other)),
    }
}
