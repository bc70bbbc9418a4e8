//! What can happen next.

use ratchet_core::decide::Stored;
use ratchet_core::{Record, State};

use super::Protocol;
use super::scenario::{LEASE, MEMORY, at};
use super::world::{Job, Letter, Phase, Word, Worker, World};
use crate::planted::Mutation;

/// One thing that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// A letter arrives: the number is its place.
    Arrive(usize),
    /// A request arrives, and the destination answers something else than usual.
    Refuse(usize, Word),
    /// A worker takes the next step of its job.
    Advance(usize),
    /// A worker extends its lease.
    Renew(usize),
    /// A worker leases a row.
    Claim(usize, usize),
    /// A producer submits, for the first time or once more.
    Submit,
    /// The maintenance reads a row whose lease is over.
    FindExpired(usize),
    /// The maintenance writes what it decided.
    Rescue,
    /// A reconciler takes its turn.
    Ask(usize),
    /// A settled row becomes a tombstone.
    Purge(usize),
    /// The clock goes on.
    Tick,
    Fault(Fault),
    Order(Order),
}

/// Something that goes wrong, by the place of the worker or the letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The worker dies.
    Crash(usize),
    /// The worker waits no longer for an answer.
    GiveUp(usize),
    /// The connection is refused.
    NoConnection(usize),
    /// A worker whose lease is over believes that it stands: its clocks are slow, or it was paused after it looked.
    SendLate(usize),
    /// What the worker asks the store is not done.
    NotDone(usize),
    /// What the worker asks the store is done, and the answer is lost.
    AnswerLost(usize),
    /// A worker is granted a lease and never hears of it.
    ClaimLost(usize),
    /// The submission is written, and the producer does not hear of it.
    SubmitLost,
    Lose(usize),
    /// A request arrives, and its answer is lost.
    LoseAnswer(usize),
    Double(usize),
    /// Nobody does anything for a long time.
    Leap,
}

/// Something that people ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    SubmitAgain,
    NewGeneration,
    Cancel(usize),
    Replay { row: usize, accept_risk: bool },
}

/// How long a leap of the clock is.
pub(super) const LEAP: u8 = MEMORY - 2;

impl Protocol {
    /// What happens by itself: what is under way first, and time last. Without faults and orders the first of these,
    /// again and again, is the way to the end.
    pub(super) fn calm(&self, world: &World, actions: &mut Vec<Action>) {
        actions.extend((0..world.letters.len()).map(Action::Arrive));
        for (place, worker) in world.workers.iter().enumerate() {
            if matches!(worker, Worker::Busy(job) if job.phase != Phase::Sent || !is_under_way(world, job)) {
                actions.push(Action::Advance(place));
            }
        }
        if world.rescue.is_some() {
            actions.push(Action::Rescue);
        }
        if world.rows.is_empty() || !world.seen.acknowledged {
            actions.push(Action::Submit);
        }
        for (row, stored) in world.rows.iter().enumerate() {
            self.calm_row(world, row, stored, actions);
        }
    }

    fn calm_row(&self, world: &World, row: usize, stored: &Stored, actions: &mut Vec<Action>) {
        let Stored::Record(record) = stored else { return };
        let now = at(world.now);
        match record.state {
            State::Pending if record.ready_at <= now => {
                let idle = world.workers.iter().position(|worker| *worker == Worker::Idle);
                actions.extend(idle.map(|worker| Action::Claim(worker, row)));
            }
            State::Running if self.is_rescued(world, record) => actions.push(Action::FindExpired(row)),
            State::Uncertain if record.policy.reconciles => {
                let is_asked = |letter: &Letter| matches!(letter, Letter::Question { row: of, .. } | Letter::Verdict { row: of, .. } if *of == row);
                let due = record.reconcile_at.is_some_and(|at| at <= now);
                if due && !world.letters.iter().any(is_asked) {
                    actions.push(Action::Ask(row));
                }
            }
            _ => {}
        }
    }

    /// Whether the maintenance finds that a lease is over.
    fn is_rescued(&self, world: &World, record: &Record) -> bool {
        let is_over = record.lease.as_ref().is_some_and(|lease| lease.until <= at(world.now));
        is_over && world.rescue.is_none() && !self.rules.is_broken(Mutation::NoRescue)
    }

    /// What else may happen while the model is explored.
    pub(super) fn wild(&self, world: &World, actions: &mut Vec<Action>) {
        let bounds = self.scenario.bounds;
        for (row, stored) in world.rows.iter().enumerate() {
            if matches!(&**stored, Stored::Record(record) if self.rules.is_purgeable(record, world.now)) {
                actions.push(Action::Purge(row));
            }
        }
        for (place, worker) in world.workers.iter().enumerate().filter(|_| bounds.thorough) {
            if matches!(worker, Worker::Busy(job) if is_worth_renewing(job, world.now)) {
                actions.push(Action::Renew(place));
            }
        }
        if world.faults > 0 {
            self.faults(world, |fault| actions.push(Action::Fault(fault)));
        }
        if world.orders > 0 {
            orders(world, bounds.thorough, |order| actions.push(Action::Order(order)));
        }
        // Before there is anything, all times are alike.
        if world.now < bounds.ticks && !world.rows.is_empty() {
            actions.push(Action::Tick);
        }
    }

    fn faults(&self, world: &World, mut add: impl FnMut(Fault)) {
        for (place, worker) in world.workers.iter().enumerate() {
            match worker {
                Worker::Idle => {}
                Worker::Busy(job) => {
                    add(Fault::Crash(place));
                    faults_of(job, place, world.now, &mut add);
                }
            }
        }
        if let Some(idle) = world.workers.iter().position(|worker| *worker == Worker::Idle) {
            let is_due = |stored: &Stored| {
                matches!(stored, Stored::Record(record)
                    if record.state == State::Pending && record.ready_at <= at(world.now))
            };
            let due = world.rows.iter().position(|stored| is_due(stored));
            if due.is_some() {
                add(Fault::ClaimLost(idle));
            }
        }
        if world.rows.is_empty() {
            add(Fault::SubmitLost);
        }
        for place in 0..world.letters.len() {
            add(Fault::Lose(place));
            if matches!(world.letters[place], Letter::Request { .. }) {
                add(Fault::LoseAnswer(place));
            }
            // A copy is an action of its own for who recognises nothing, and no client can help that.
            let is_new_action = matches!(&world.letters[place], Letter::Request { effect, .. }
                if self.scenario.effects[*effect].remembers.is_none());
            if !is_new_action {
                add(Fault::Double(place));
            }
        }
        if world.now + LEAP <= self.scenario.bounds.ticks && !world.rows.is_empty() {
            add(Fault::Leap);
        }
    }

    /// What a request may be answered beside the usual; each costs a fault.
    pub(super) fn answers(&self, world: &World, actions: &mut Vec<Action>) {
        if world.faults == 0 {
            return;
        }
        for (place, letter) in world.letters.iter().enumerate() {
            // What is refused is refused with all its copies, so none with a twin is.
            let Letter::Request { row, effect, doubled: false, .. } = letter else { continue };
            let account = &world.accounts[*row][*effect];
            actions.push(Action::Refuse(place, Word::Refused));
            if self.recognises(account, world.now, letter) {
                continue;
            }
            if self.scenario.effects[*effect].remembers.is_some() {
                actions.push(Action::Refuse(place, Word::RefusedAfterLookup));
                actions.push(Action::Refuse(place, Word::Busy));
            }
        }
    }
}

/// Whether a request may still arrive.
fn is_under_way(world: &World, job: &Job) -> bool {
    world.letters.iter().any(|letter| match letter {
        Letter::Request { row, effect, token, .. } => {
            (*row, *effect, *token) == (job.row, job.effect, job.token)
        }
        _ => false,
    })
}

/// A lease is extended before it ends, and not at its beginning: that changes nothing.
fn is_worth_renewing(job: &Job, now: u8) -> bool {
    now < job.until && job.until < now + LEASE && !matches!(job.phase, Phase::Ended(_))
}

fn faults_of(job: &Job, place: usize, now: u8, add: &mut impl FnMut(Fault)) {
    match job.phase {
        Phase::Leased => {
            add(Fault::NotDone(place));
            add(Fault::AnswerLost(place));
        }
        Phase::Started => {
            add(Fault::AnswerLost(place));
        }
        Phase::Pinned(_) => {
            add(Fault::NoConnection(place));
            if now >= job.until {
                add(Fault::SendLate(place));
            }
        }
        Phase::Sent | Phase::Asking => add(Fault::GiveUp(place)),
        Phase::StepEnded(_) => add(Fault::NotDone(place)),
        Phase::Entered => add(Fault::AnswerLost(place)),
        Phase::Found(_) | Phase::Ended(_) => {}
    }
}

fn orders(world: &World, thorough: bool, mut add: impl FnMut(Order)) {
    if world.rows.is_empty() {
        return;
    }
    add(Order::SubmitAgain);
    if thorough && world.rows.len() < 2 {
        add(Order::NewGeneration);
    }
    for (row, stored) in world.rows.iter().enumerate() {
        let Stored::Record(record) = &**stored else { continue };
        if record.state.is_settled() {
            add(Order::Replay { row, accept_risk: false });
            if thorough && record.may_be_applied() {
                add(Order::Replay { row, accept_risk: true });
            }
        } else if !record.cancel_requested {
            add(Order::Cancel(row));
        }
    }
}
