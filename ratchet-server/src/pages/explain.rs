//! What is the case with a record, why, and what happens next: the decision in words.

use ratchet::{OnUnknown, Record, RecordState, Timestamp, Uncertainty};

use super::words::{cause, counted, distance, is_for_ever, sentence, span, stamp};
use crate::said::Said;

/// A record in words.
pub(super) struct Explained {
    /// What is the case.
    pub(super) headline: String,
    /// Why.
    pub(super) why: Vec<String>,
    /// What happens next, with or without somebody's help.
    pub(super) next: Vec<String>,
}

pub(super) fn explain(record: &Record, said: &Said, now: Timestamp) -> Explained {
    match record.state {
        RecordState::Waiting => waiting(record),
        RecordState::Pending => pending(record, said, now),
        RecordState::Running => running(record, now),
        RecordState::Uncertain => uncertain(record, said, now),
        ended => settled(record, said, ended),
    }
}

fn waiting(record: &Record) -> Explained {
    let on = record.after.as_ref().map_or("success", |after| after.on.as_str());
    Explained {
        headline: "It waits until the record that it comes after has ended.".to_owned(),
        why: vec![format!("It is executed on {on} of that record, and skipped on any other end.")],
        next: vec!["Nothing has to be done: it is decided about as soon as that record ends.".to_owned()],
    }
}

fn pending(record: &Record, said: &Said, now: Timestamp) -> Explained {
    let headline = if record.ready_at > now {
        format!("It waits, and is due {}.", distance(record.ready_at, now))
    } else {
        "It is due, and waits for a worker.".to_owned()
    };
    let mut why: Vec<String> = last_cause(record, said).into_iter().collect();
    if record.attempts == 0 {
        why.push("No attempt was started so far, so nothing was sent.".to_owned());
    } else if record.may_be_applied() {
        why.push("An attempt may have had its effect.".to_owned());
        why.push(why_again(record).to_owned());
    } else {
        why.push("What was tried so far certainly had no effect.".to_owned());
    }
    Explained { headline, why, next: vec![taken_by(record), bounds(record)] }
}

/// Why a record that may have had its effect runs again.
fn why_again(record: &Record) -> &'static str {
    if record.risk_accepted {
        "Somebody accepted that it may happen twice, so it is sent again."
    } else if record.unconfirmed().all(|effect| effect.contract.deduplicates()) {
        "The destination recognises a repeated request, so the same request is sent again, with the same key."
    } else if record.policy.on_unknown == OnUnknown::MayDuplicate {
        "Its operation declares `may_duplicate`, so it is sent again although the effect may happen twice."
    } else {
        "The next attempt asks the destination before it repeats what it may not repeat."
    }
}

fn taken_by(record: &Record) -> String {
    format!(
        "A worker that serves {} version {} in queue {} takes it by itself.",
        record.id.operation, record.version, record.queue
    )
}

fn bounds(record: &Record) -> String {
    let retry = &record.policy.retry;
    format!(
        "{} of at most {} spent; an unknown effect is sent again for at most {} after the first send.",
        sentence(&counted(record.spent.into(), "attempt", "attempts")),
        retry.max_attempts,
        span(retry.horizon)
    )
}

fn running(record: &Record, now: Timestamp) -> Explained {
    let Some(lease) = &record.lease else {
        return Explained { headline: "It is running.".to_owned(), why: Vec::new(), next: Vec::new() };
    };
    let started = lease.started_at.map_or_else(
        || "Its handler was not entered so far: a lease is not a start.".to_owned(),
        |at| format!("Its handler was entered {}; a send may be under way.", distance(at, now)),
    );
    let mut why = vec![started];
    let mut next = Vec::new();
    if lease.until <= now {
        why.push(format!("Its lease ended {}, and nobody reported.", distance(lease.until, now)));
        next.push(
            "The next worker that looks decides what follows from an outcome that is unknown.".to_owned(),
        );
    } else {
        next.push(format!(
            "The worker reports, or extends its lease, which ends {}.",
            distance(lease.until, now)
        ));
        next.push(if_silent(record).to_owned());
    }
    if record.cancel_requested {
        why.push(
            "Somebody asked to cancel: the worker is told to stop, and nothing more is started.".to_owned(),
        );
    }
    Explained { headline: format!("Worker {} executes attempt {}.", lease.worker, record.token), why, next }
}

fn if_silent(record: &Record) -> &'static str {
    let started = record.lease.as_ref().is_some_and(|lease| lease.started_at.is_some());
    if !started {
        "If it is not heard of again, the record waits for another worker, at no cost."
    } else if record.effect.contract.deduplicates() {
        "If it is not heard of again, the effect is unknown; it is sent again with the same key, while the destination \
         recognises it."
    } else {
        "If it is not heard of again, the effect is unknown, and is not sent again without asking unless its operation \
         allows that."
    }
}

fn uncertain(record: &Record, said: &Said, now: Timestamp) -> Explained {
    let mut why: Vec<String> = last_cause(record, said).into_iter().collect();
    why.extend(record.uncertainty.map(|why| reason(why).to_owned()));
    let next = match record.reconcile_at {
        Some(at) if at > now => {
            format!("A worker that serves its operation asks the destination {}.", distance(at, now))
        }
        Some(_) => "A worker that serves its operation asks the destination as soon as it looks.".to_owned(),
        None => {
            "Nothing happens by itself: somebody has to find out what happened, and say so here.".to_owned()
        }
    };
    Explained {
        headline: "The effect may have happened, and nobody knows.".to_owned(),
        why,
        next: vec![next, "Until then, whoever enqueues it again is told that it is uncertain.".to_owned()],
    }
}

/// Why nobody may simply try again.
fn reason(why: Uncertainty) -> &'static str {
    match why {
        Uncertainty::NoDeduplication => {
            "The destination does not recognise a repeated request: sending it again could have the effect twice."
        }
        Uncertainty::WindowOver => {
            "The destination may have forgotten the first request: sending it again could have the effect twice."
        }
        Uncertainty::AttemptsSpent => "Every allowed attempt was made, and the last ones ended unknown.",
        Uncertainty::HorizonOver => "The time in which it may be sent again without asking is over.",
        Uncertainty::RequestChanged => {
            "The next request would differ from the one that was sent first, under the same key: it was stopped before \
             it left."
        }
        Uncertainty::NotRetryable => {
            "The handler failed without a word about the effect, and said that another attempt is of no use."
        }
        Uncertainty::Cancelled => "It was cancelled after an attempt that may have had its effect.",
        other => other.explain(),
    }
}

fn settled(record: &Record, said: &Said, state: RecordState) -> Explained {
    let (headline, mut why) = match state {
        RecordState::Succeeded => ("The effect happened.", Vec::new()),
        RecordState::Failed => {
            ("It was refused, and had no effect.", last_cause(record, said).into_iter().collect())
        }
        RecordState::Exhausted => (
            "Every allowed attempt certainly had no effect.",
            last_cause(record, said).into_iter().collect::<Vec<String>>(),
        ),
        RecordState::Cancelled => ("It was cancelled before it had any effect.", Vec::new()),
        RecordState::Skipped => (
            "It was never executed: the record that it comes after ended in another way.",
            vec!["What becomes of that record later changes nothing about it.".to_owned()],
        ),
        _ => (
            "The effect may have happened; it was given up, as its operation allows (`may_lose`).",
            last_cause(record, said).into_iter().collect(),
        ),
    };
    if state == RecordState::Succeeded {
        if let Some(missing) = &record.cause {
            why.push(format!("Its result is missing: {}.", cause(missing.kind())));
        } else if record.attempts > 0 {
            why.push(format!(
                "{}.",
                sentence(&counted(record.attempts.into(), "attempt was started", "attempts were started"))
            ));
        }
    }
    Explained { headline: headline.to_owned(), why, next: after_the_end(record, state) }
}

fn after_the_end(record: &Record, state: RecordState) -> Vec<String> {
    let mut next = vec![match state {
        RecordState::Succeeded => "Nothing more is done. Whoever enqueues it again receives what is on record.",
        RecordState::Abandoned => "Nothing more is done by itself. What was found out later can still be said here.",
        _ => "Nothing more is done by itself. The key stays taken: whoever enqueues it again is told how it ended.",
    }
    .to_owned()];
    if let Some(end) = record.settled_at.map(|at| at.after(record.policy.retention)) {
        next.push(if is_for_ever(end) {
            "The record is kept for ever.".to_owned()
        } else {
            format!("The record is kept until {} UTC; after that its identity alone stays taken.", stamp(end))
        });
    }
    next
}

/// The last thing that went wrong, with what the program said about it.
fn last_cause(record: &Record, said: &Said) -> Option<String> {
    let known = record.cause.as_ref()?;
    let told = said.told(known).unwrap_or_default();
    let clause = sentence(&cause(known.kind()));
    Some(if told.is_empty() { format!("{clause}.") } else { format!("{clause}: “{told}”.") })
}
