//! The table: what follows from an outcome.

use std::time::Duration;

use super::command::{Answer, AttemptNote, Decision, Refusal};
use super::{LONGEST_LEASE, Moment, lease, resolve};
use crate::contract::MechanismKind;
use crate::model::{
    Cause, CauseKind, Effect, Outcome, OutcomeKind, Payload, Record, State, StepState, Token, Uncertainty,
};
use crate::policy::{OnUnknown, RetryPolicy};
use crate::time::Timestamp;

pub(super) fn settle(
    record: &Record,
    token: Token,
    outcome: &Outcome,
    moment: Moment,
) -> Result<Decision, Refusal> {
    if token == Token::NONE || token > record.token {
        return Err(Refusal::Superseded);
    }
    let current = record.token == token && record.state == State::Running;
    if !current {
        return Ok(late(record, token, outcome, moment.now));
    }
    if record.lease.as_ref().is_none_or(|lease| lease.started_at.is_none()) {
        return Err(Refusal::NotStarted);
    }
    let next = after(record, outcome, moment);
    let answer = Answer::Settled(next.state);
    Ok(Decision::new(next, answer).noting(AttemptNote::ended(token, outcome, moment.now, false)))
}

/// An outcome that comes after its lease was superseded. It takes nothing from a newer attempt; but that the effect
/// happened is true for ever, so it settles a record that waits, and is kept where another attempt runs.
fn late(record: &Record, token: Token, outcome: &Outcome, now: Timestamp) -> Decision {
    let note = AttemptNote::ended(token, outcome, now, true);
    match outcome {
        Outcome::Done { result, missing } if waits(record) && record.may_be_applied() => {
            let mut settled = record.clone();
            // A lease under which nothing was started ends with it, so that its holder starts nothing any more.
            if record.lease.is_some() {
                settled.token = record.token.next();
            }
            succeed(&mut settled, result.as_ref(), missing.as_ref(), now);
            let answer = Answer::Settled(settled.state);
            Decision::new(settled, answer).noting(note)
        }
        Outcome::Done { result, missing }
            if record.state == State::Running && record.may_be_applied() && !is_confirmed(record) =>
        {
            let detail = missing.as_ref().map(Cause::to_string).unwrap_or_default();
            let cause = Some(Cause::new(CauseKind::ReportedLate, detail));
            let confirmed = Record { result: result.clone(), cause, ..record.clone() };
            Decision::new(confirmed, Answer::Late(record.state)).noting(note)
        }
        // The same report again, because its answer was lost.
        _ if record.token == token && record.state != State::Running => {
            Decision::new(record.clone(), Answer::Settled(record.state)).noting(note)
        }
        _ => Decision::new(record.clone(), Answer::Late(record.state)).noting(note),
    }
}

/// Whether no attempt runs that could have an effect, and none is certain to be needless.
fn waits(record: &Record) -> bool {
    match record.state {
        State::Pending | State::Uncertain | State::Abandoned => true,
        State::Running => record.lease.as_ref().is_none_or(|lease| lease.started_at.is_none()),
        _ => false,
    }
}

/// Whether an earlier attempt has reported the effect while this one runs.
fn is_confirmed(record: &Record) -> bool {
    record.cause.as_ref().is_some_and(|cause| cause.kind() == CauseKind::ReportedLate)
}

pub(super) fn expire(record: &Record, moment: Moment) -> Result<Decision, Refusal> {
    let now = moment.now;
    let lease = match &record.lease {
        Some(lease) if record.state == State::Running => lease,
        _ => return Err(Refusal::State(record.state)),
    };
    let plausible = lease.until <= now.after(LONGEST_LEASE);
    if lease.until > now && plausible {
        return Err(Refusal::NotExpired);
    }
    if lease.started_at.is_none() {
        return Ok(Decision::new(lease::unstarted(record, now), Answer::Released));
    }
    let outcome = Outcome::unknown(Cause::new(
        CauseKind::LeaseLost,
        "the worker did not report before its lease ended",
    ));
    let next = after(record, &outcome, moment);
    let answer = Answer::Settled(next.state);
    Ok(Decision::new(next, answer).noting(AttemptNote::ended(record.token, &outcome, now, false)))
}

/// The record after an attempt that ended with `outcome`.
fn after(record: &Record, outcome: &Outcome, moment: Moment) -> Record {
    let mut next = Record { lease: None, risk_accepted: false, ..record.clone() };
    if is_confirmed(record) && outcome.kind() != OutcomeKind::Done {
        let missing = record.cause.as_ref().filter(|_| record.result.is_none());
        succeed(&mut next, record.result.as_ref(), missing, moment.now);
        return next;
    }
    next.cause = outcome.cause().cloned();
    if outcome.kind() != OutcomeKind::Done {
        mark_unfinished_steps(&mut next);
    }
    match outcome {
        Outcome::Done { result, missing } => {
            succeed(&mut next, result.as_ref(), missing.as_ref(), moment.now);
        }
        Outcome::Rejected { after_lookup: true, .. } => {
            next.effect.may_be_applied = false;
            if next.may_be_applied() {
                unknown(&mut next, None, moment);
            } else {
                finish(&mut next, State::Failed, moment.now);
            }
        }
        Outcome::Rejected { .. } if !next.may_be_applied() => finish(&mut next, State::Failed, moment.now),
        Outcome::NotApplied { retry_after, .. } if !next.may_be_applied() => {
            not_applied(&mut next, *retry_after, moment);
        }
        // A certain answer says nothing about an earlier attempt, or an unfinished step, that may have had its effect.
        Outcome::Rejected { .. } => unknown(&mut next, None, moment),
        Outcome::NotApplied { retry_after, .. } => {
            // To wait because the destination asked for it is no attempt; the deadline of blind sends still holds.
            next.spent += u32::from(retry_after.is_none() || asks_first(&next, moment.now));
            continue_unconfirmed(&mut next, *retry_after, moment);
        }
        Outcome::Unknown { retry_after, .. } => {
            if mark_unconfirmed(&mut next) {
                unknown(&mut next, *retry_after, moment);
            } else if is_not_retryable(&next) && !next.cancel_requested {
                finish(&mut next, State::Failed, moment.now);
            } else {
                not_applied(&mut next, *retry_after, moment);
            }
        }
    }
    next
}

/// A step that was entered and never reported may have had its effect, whatever the handler says at its end: it may
/// have been dropped halfway, beside another step that failed.
fn mark_unfinished_steps(record: &mut Record) {
    for step in record.steps.values_mut().filter(|step| step.state == StepState::Started) {
        step.effect.may_be_applied = true;
    }
}

/// Marks the handler's own effect; `false` if nothing of the record may have been applied.
fn mark_unconfirmed(record: &mut Record) -> bool {
    // A handler that keeps its effects inside steps has none of its own, unless this attempt pinned one. One that began no
    // step did something else, or nothing: nobody knows.
    let pinned = record.effect.pin.as_ref().is_some_and(|pin| pin.by == record.token);
    let in_steps = record.effect.contract.mechanism() == MechanismKind::Steps && !record.steps.is_empty();
    if pinned || !in_steps {
        record.effect.may_be_applied = true;
    }
    record.may_be_applied()
}

pub(super) fn succeed(
    record: &mut Record,
    result: Option<&Payload>,
    missing: Option<&Cause>,
    now: Timestamp,
) {
    record.effect.may_be_applied = false;
    for step in record.steps.values_mut() {
        step.effect.may_be_applied = false;
    }
    record.result = result.cloned();
    record.cause = missing.cloned();
    finish(record, State::Succeeded, now);
}

pub(super) fn finish(record: &mut Record, state: State, now: Timestamp) {
    record.state = state;
    record.lease = None;
    record.uncertainty = None;
    record.reconcile_at = None;
    record.settled_at = Some(now);
}

/// Stops the record with a stated reason, for somebody to settle; a reconciler is asked at once where there is one.
pub(super) fn park(record: &mut Record, why: Uncertainty, now: Timestamp) {
    finish(record, State::Uncertain, now);
    record.uncertainty = Some(why);
    record.reconcile_at = record.policy.reconciles.then(|| now.after(record.policy.reconcile_after));
}

fn not_applied(record: &mut Record, retry_after: Option<Duration>, moment: Moment) {
    if record.cancel_requested {
        return resolve::stop(record, moment.now);
    }
    let waited = retry_after.is_some();
    record.spent += u32::from(!waited);
    let at = next_attempt(record, retry_after, moment);
    let spent = record.spent >= record.policy.retry.max_attempts;
    // A record that only waited to be sent for the first time had no chance so far.
    let only_waited = was_not_admitted(record) && record.effect.pin.is_none();
    let over = |end| at >= end && !only_waited;
    if spent || horizon_end(&record.effect, &record.policy.retry).is_some_and(over) {
        finish(record, State::Exhausted, moment.now);
    } else {
        retry(record, at);
    }
}

fn unknown(record: &mut Record, retry_after: Option<Duration>, moment: Moment) {
    // A destination that will recognise the request and asks to wait (another one is under way, too many came) makes the
    // next send a part of this attempt. The deadline of blind sends does not move.
    let recognised = record.unconfirmed().all(|effect| is_recognised(effect, moment.now));
    // The wish of a handler that failed, as programs in other languages report it, is none of its destination's: it only puts
    // the next attempt off.
    let failed = record.cause.as_ref().is_some_and(|cause| cause.kind() == CauseKind::Failed);
    let waits = retry_after.is_some() && recognised && !failed && !asks_first(record, moment.now);
    record.spent += u32::from(!waits);
    continue_unconfirmed(record, retry_after, moment);
}

fn is_recognised(effect: &Effect, now: Timestamp) -> bool {
    let sent = effect.first_sent_at().unwrap_or(now);
    effect.contract.window_end(sent).is_some_and(|end| now < end)
}

fn continue_unconfirmed(record: &mut Record, retry_after: Option<Duration>, moment: Moment) {
    let at = next_attempt(record, retry_after, moment);
    match why_not_again(record, at) {
        None => retry(record, at),
        Some(why) => stop_sending(record, why, moment.now),
    }
}

/// The end of sends that cannot be repeated without asking.
pub(super) fn stop_sending(record: &mut Record, why: Uncertainty, now: Timestamp) {
    if gives_up(record, why) {
        finish(record, State::Abandoned, now);
    } else {
        park(record, why, now);
    }
}

/// `may_lose` gives up only where asking again is no way out; bounds that are reached leave a record for a person.
fn gives_up(record: &Record, why: Uncertainty) -> bool {
    let no_way_out =
        matches!(why, Uncertainty::NoDeduplication | Uncertainty::WindowOver | Uncertainty::NotRetryable);
    no_way_out && !record.policy.reconciles && record.policy.on_unknown == OnUnknown::MayLose
}

fn why_not_again(record: &Record, at: Timestamp) -> Option<Uncertainty> {
    if record.cause.as_ref().is_some_and(|cause| cause.kind() == CauseKind::RequestChanged) {
        return Some(Uncertainty::RequestChanged);
    }
    if record.cancel_requested {
        return Some(Uncertainty::Cancelled);
    }
    if is_not_retryable(record) {
        return Some(Uncertainty::NotRetryable);
    }
    let attempts_spent = record.spent >= record.policy.retry.max_attempts;
    may_run_again(record, at).err().or(attempts_spent.then_some(Uncertainty::AttemptsSpent))
}

/// A record that may have had effects is executed again only where each of them can be repeated at that point, or is
/// asked about before it is.
pub(super) fn may_run_again(record: &Record, at: Timestamp) -> Result<(), Uncertainty> {
    let blind_steps = record.steps.values().filter(|step| !step.reconciles).map(|step| &step.effect);
    let mut blind = std::iter::once(&record.effect).chain(blind_steps).filter(|effect| effect.may_be_applied);
    blind.try_for_each(|effect| repeatable(effect, false, record, at))
}

/// Whether the next attempt has to ask about one of its steps. It is bounded by the allowed attempts alone, so none of
/// these is free.
fn asks_first(record: &Record, at: Timestamp) -> bool {
    let mut asked = record.steps.values().filter(|step| step.reconciles && step.effect.may_be_applied);
    asked.any(|step| repeatable(&step.effect, true, record, at).is_err())
}

/// Whether an effect that may have happened can be asked for again at this point without asking first. One that
/// `reconciles` is never duplicated on purpose.
pub(super) fn repeatable(
    effect: &Effect,
    reconciles: bool,
    record: &Record,
    at: Timestamp,
) -> Result<(), Uncertainty> {
    if record.risk_accepted {
        return Ok(());
    }
    let sent = effect.first_sent_at();
    let can_be_asked = reconciles || record.policy.reconciles;
    let duplicates_allowed = record.policy.on_unknown == OnUnknown::MayDuplicate && !can_be_asked;
    if !duplicates_allowed {
        match sent.map_or_else(|| effect.contract.window_end(at), |sent| effect.contract.window_end(sent)) {
            None => return Err(Uncertainty::NoDeduplication),
            Some(end) if at >= end => return Err(Uncertainty::WindowOver),
            Some(_) => {}
        }
    }
    match horizon_end(effect, &record.policy.retry) {
        Some(end) if at >= end => Err(Uncertainty::HorizonOver),
        _ => Ok(()),
    }
}

pub(super) fn horizon_end(effect: &Effect, retry: &RetryPolicy) -> Option<Timestamp> {
    effect.first_sent_at().map(|sent| sent.after(retry.horizon))
}

fn retry(record: &mut Record, at: Timestamp) {
    record.state = State::Pending;
    record.ready_at = at;
}

fn is_not_retryable(record: &Record) -> bool {
    record.cause.as_ref().is_some_and(|cause| cause.kind() == CauseKind::NotRetryable)
}

fn was_not_admitted(record: &Record) -> bool {
    record.cause.as_ref().is_some_and(|cause| cause.kind() == CauseKind::NotAdmitted)
}

/// The policy's wait with its spread, or what the destination asked for, whichever is longer. A gate that admits nobody
/// has spread those who wait by itself.
fn next_attempt(record: &Record, retry_after: Option<Duration>, moment: Moment) -> Timestamp {
    if let Some(wait) = retry_after.filter(|_| was_not_admitted(record)) {
        return moment.now.after(wait);
    }
    let policy = &record.policy.retry;
    let base = policy.delay_after(record.spent).min(RetryPolicy::LONGEST_DELAY);
    let spread = base * policy.jitter_percent.min(100) / 100;
    let own = (base.saturating_sub(spread)) + spread * 2 * moment.jitter.per_mille() / 1000;
    // Coming earlier than the destination asked for would be a known mistake, so its wish alone is not cut short.
    moment.now.after(own.min(RetryPolicy::LONGEST_DELAY).max(retry_after.unwrap_or_default()))
}
