//! Leases: granting, starting, extending and giving back.

use std::time::Duration;

use super::command::{Answer, AttemptNote, Decision, Refusal};
use super::settle::{may_run_again, stop_sending};
use super::{LONGEST_LEASE, Moment};
use crate::contract::Terms;
use crate::model::{Attempt, Lease, Record, State, Token, WorkerId};
use crate::policy::Policy;
use crate::time::Timestamp;

pub(super) fn grant(
    record: &Record,
    worker: &WorkerId,
    duration: Duration,
    start_if_safe: bool,
    moment: Moment,
) -> Result<Decision, Refusal> {
    let now = moment.now;
    if record.state != State::Pending {
        return Err(Refusal::State(record.state));
    }
    if record.ready_at > now {
        return Err(Refusal::NotDue(record.ready_at));
    }
    if let Err(why) = may_run_again(record, now) {
        let mut parked = record.clone();
        stop_sending(&mut parked, why, now);
        return Ok(Decision::new(parked, Answer::Parked(why)));
    }
    let mut leased = record.clone();
    leased.token = record.token.next();
    leased.state = State::Running;
    let until = now.after(duration.min(LONGEST_LEASE));
    leased.lease = Some(Lease { worker: worker.clone(), until, started_at: None });
    // A start that nobody used costs an attempt and no more where a repeated request is recognised.
    let started = start_if_safe && record.effect.contract.deduplicates();
    if started {
        mark_started(&mut leased, now);
    }
    let attempt = Attempt {
        token: leased.token,
        worker: worker.clone(),
        version: leased.version.clone(),
        leased_at: now,
        started_at: started.then_some(now),
        end: None,
    };
    Ok(Decision::new(leased, Answer::Leased).noting(AttemptNote::Opened(attempt)))
}

fn mark_started(record: &mut Record, now: Timestamp) {
    if let Some(lease) = &mut record.lease {
        lease.started_at = Some(now);
    }
    record.attempts += 1;
    record.effect.first_started_at.get_or_insert(now);
}

/// The lease under `token`, if it is the current one.
fn current(record: &Record, token: Token) -> Result<&Lease, Refusal> {
    match &record.lease {
        Some(lease) if record.token == token && record.state == State::Running => Ok(lease),
        _ => Err(Refusal::Superseded),
    }
}

pub(super) fn started(record: &Record, token: Token) -> Result<(), Refusal> {
    current(record, token)?.started_at.map(|_| ()).ok_or(Refusal::NotStarted)
}

pub(super) fn start(record: &Record, token: Token, now: Timestamp) -> Result<Decision, Refusal> {
    if current(record, token)?.started_at.is_some() {
        return Ok(Decision::new(record.clone(), Answer::Started));
    }
    if record.cancel_requested {
        return Err(Refusal::Cancelled);
    }
    let mut running = record.clone();
    mark_started(&mut running, now);
    Ok(Decision::new(running, Answer::Started).noting(AttemptNote::Started { token, at: now }))
}

/// Holds the record to a declaration that came after it. What the destination promises counts for what is sent from now
/// on: nobody knows how an effect was asked for that may have happened before.
pub(super) fn adopt(
    record: &Record,
    token: Token,
    contract: &Terms,
    policy: &Policy,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    if current(record, token)?.started_at.is_some() {
        return Err(Refusal::AlreadyStarted);
    }
    let mut held = record.clone();
    held.policy.on_unknown = policy.on_unknown;
    held.policy.reconciles = policy.reconciles;
    held.policy.reconcile_after = policy.reconcile_after;
    if !record.may_be_applied() && record.effect.pin.is_none() {
        held.effect.contract = contract.clone();
    }
    if let Err(why) = may_run_again(&held, now) {
        stop_sending(&mut held, why, now);
        return Ok(Decision::new(held, Answer::Parked(why)));
    }
    Ok(Decision::new(held, Answer::Adopted))
}

pub(super) fn renew(
    record: &Record,
    token: Token,
    duration: Duration,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let mut lease = current(record, token)?.clone();
    lease.until = now.after(duration.min(LONGEST_LEASE));
    let answer = Answer::Renewed { until: lease.until, cancel_requested: record.cancel_requested };
    Ok(Decision::new(Record { lease: Some(lease), ..record.clone() }, answer))
}

pub(super) fn release(record: &Record, token: Token, now: Timestamp) -> Result<Decision, Refusal> {
    if current(record, token)?.started_at.is_some() {
        return Err(Refusal::AlreadyStarted);
    }
    Ok(Decision::new(unstarted(record, now), Answer::Released))
}

/// The record after a lease under which nothing was started: it costs nothing.
pub(super) fn unstarted(record: &Record, now: Timestamp) -> Record {
    let mut free = Record { lease: None, state: State::Pending, ..record.clone() };
    if record.cancel_requested {
        super::resolve::stop(&mut free, now);
    }
    free
}
