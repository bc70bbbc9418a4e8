//! What follows from an action of producers, workers and people.

use std::sync::Arc;

use ratchet_core::decide::{Answer, Command, Refusal, Stored, SubmitDecision};
use ratchet_core::{Generation, Record, RecordId, Renewal, State, Token, Tombstone, WorkerId};

use super::Protocol;
use super::actions::{Action, Fault, LEAP, Order};
use super::scenario::{LEASE, at, ticks};
use super::world::{Account, Job, Letter, Phase, Word, Worker, World};
use crate::planted::Mutation;
use crate::stale::oversteps;

impl Protocol {
    /// The world after an action; `None` if it changes nothing.
    pub(super) fn step(&self, mut world: World, action: Action) -> Option<World> {
        match action {
            Action::Arrive(place) => self.arrive(&mut world, place),
            Action::Refuse(place, said) => self.refuse(&mut world, place, said)?,
            Action::Advance(place) => self.advance(&mut world, place)?,
            Action::Renew(place) => self.renew(&mut world, place)?,
            Action::Claim(place, row) => self.claim(&mut world, place, row)?,
            Action::Submit => self.submit(&mut world)?,
            Action::FindExpired(row) => {
                world.rescue = Some((row, Arc::clone(&world.rows[row])));
                if !self.scenario.bounds.thorough && !self.rules.is_broken(Mutation::RescueByIdOnly) {
                    self.rescue(&mut world)?;
                }
            }
            Action::Rescue => self.rescue(&mut world)?,
            Action::Ask(row) => self.ask(&mut world, row)?,
            Action::Purge(row) => purge(&mut world, row)?,
            Action::Tick => world.now = self.scenario.bounds.next_tick(world.now),
            Action::Fault(fault) => {
                world.faults -= 1;
                self.fault(&mut world, fault)?;
            }
            Action::Order(order) => {
                world.orders -= 1;
                self.order(&mut world, order)?;
            }
        }
        Some(world.tidy())
    }

    /// Has a command carried out, as a ledger does.
    pub(super) fn apply(&self, world: &mut World, row: usize, command: &Command) -> Result<Answer, Refusal> {
        let Stored::Record(record) = &*world.rows[row] else { return Err(Refusal::NoRecord) };
        let decision = self.rules.decide(record, command, world.now)?;
        if oversteps(record, command, &decision.record) {
            world.seen.stale_accepted = true;
        }
        world.rows[row] = Arc::new(Stored::Record(Box::new(decision.record)));
        Ok(decision.answer)
    }

    fn record(world: &World, row: usize) -> Option<&Record> {
        match &**world.rows.get(row)? {
            Stored::Record(record) => Some(record),
            Stored::Tombstone(_) => None,
        }
    }

    fn submit(&self, world: &mut World) -> Option<()> {
        if self.rules.is_broken(Mutation::EarlyAcknowledgement) {
            if world.seen.acknowledged {
                return None;
            }
            world.seen.acknowledged = true;
            world.letters.push(Letter::Submission);
            return Some(());
        }
        self.write_submission(world, None);
        world.seen.acknowledged = true;
        Some(())
    }

    /// Writes a submission, or finds what is there already.
    pub(super) fn write_submission(&self, world: &mut World, renewal: Option<Renewal>) {
        let newest = world.rows.last();
        let generation =
            newest.filter(|_| renewal.is_some()).map_or(Generation::FIRST, |row| row.id().generation);
        let mut submission = self.submission.clone();
        submission.id = RecordId { generation, ..submission.id };
        let is_renewal = renewal.is_some();
        submission.renewal = renewal;
        let SubmitDecision::Insert { record, .. } = self.rules.submit(newest, &submission, world.now) else {
            return;
        };
        let stored = Arc::new(Stored::Record(record));
        match world.rows.len() {
            0 => world.accounts.push(self.no_effects()),
            _ if is_renewal => world.accounts.push(self.no_effects()),
            _ => {
                world.seen.key_freed = true;
                world.rows.pop();
            }
        }
        world.rows.push(stored);
    }

    fn no_effects(&self) -> Vec<Account> {
        vec![Account::default(); self.scenario.effects.len()]
    }

    fn claim(&self, world: &mut World, place: usize, row: usize) -> Option<()> {
        let until = world.now + LEASE;
        // A row that is parked instead is a change as well.
        let Answer::Leased = self.lease(world, row)? else { return Some(()) };
        let record = Self::record(world, row)?;
        let started = record.lease.as_ref().is_some_and(|lease| lease.started_at.is_some());
        let phase = if started { Phase::Started } else { Phase::Leased };
        world.workers[place] = Worker::Busy(Job { row, token: record.token, effect: 0, until, phase });
        Some(())
    }

    fn lease(&self, world: &mut World, row: usize) -> Option<Answer> {
        let start_if_safe = !self.rules.is_broken(Mutation::NoStartMark);
        let worker = WorkerId::from_static("worker");
        self.apply(world, row, &Command::Lease { worker, duration: ticks(LEASE), start_if_safe }).ok()
    }

    fn advance(&self, world: &mut World, place: usize) -> Option<()> {
        let Worker::Busy(mut job) = world.workers[place].clone() else { return None };
        match job.phase {
            Phase::Leased if self.rules.is_broken(Mutation::NoStartMark) => {
                job.phase = Phase::Pinned(world.now);
            }
            Phase::Leased if self.apply(world, job.row, &Command::Start { token: job.token }).is_ok() => {
                job.phase = Phase::Started;
            }
            Phase::Leased => {
                let _refused = self.apply(world, job.row, &Command::Release { token: job.token });
                world.workers[place] = Worker::Idle;
                return Some(());
            }
            Phase::Started if self.scenario.effects[job.effect].step.is_some() => {
                self.enter_step(world, &mut job);
            }
            Phase::Started | Phase::Entered => job.phase = self.pin(world, &job),
            Phase::Pinned(_) if world.now >= job.until => {
                job.phase = self.effect_ended(&job, Word::NotApplied);
            }
            Phase::Pinned(at) => self.send(world, &mut job, at),
            // The client waits no longer, since nothing is to come.
            Phase::Sent => job.phase = self.effect_ended(&job, Word::Unknown),
            Phase::Asking => {
                job.phase =
                    Phase::Found(self.look_up(world, job.row, job.effect, Token::new(job.token.get() - 1)));
            }
            Phase::Found(finding) => self.conclude(world, &mut job, finding),
            Phase::StepEnded(said) => self.finish_step(world, &mut job, said),
            Phase::Ended(_) => return None,
        }
        world.workers[place] = Worker::Busy(job);
        Some(())
    }

    fn send(&self, world: &mut World, job: &mut Job, pinned_at: u8) {
        let until = self.scenario.effects[job.effect].arrives_until(pinned_at);
        let Job { row, effect, token, .. } = *job;
        world.letters.push(Letter::Request { row, effect, token, until, doubled: false });
        job.phase = Phase::Sent;
    }

    fn pin(&self, world: &mut World, job: &Job) -> Phase {
        if world.now >= job.until {
            return self.effect_ended(job, Word::NotApplied);
        }
        let request = Box::new(self.requests[job.effect].clone());
        let step = self.scenario.effects[job.effect].step.clone();
        match self.apply(world, job.row, &Command::Pin { token: job.token, step, request }) {
            Ok(_) => {
                world.seen.blind_send |= self.is_blind(world, job);
                Phase::Pinned(world.now)
            }
            Err(Refusal::NotRepeatable(_)) => self.effect_ended(job, Word::Unknown),
            Err(_) => self.effect_ended(job, Word::NotApplied),
        }
    }

    /// Whether the destination has acted and may not recognise another request.
    fn is_blind(&self, world: &World, job: &Job) -> bool {
        let Some((acted, _)) = world.accounts[job.row][job.effect].acted else { return false };
        !self.scenario.effects[job.effect].is_recognised(acted, world.now)
            && self.scenario.has_one_effect()
            && !world.seen.risk_accepted
    }

    fn renew(&self, world: &mut World, place: usize) -> Option<()> {
        let Worker::Busy(mut job) = world.workers[place].clone() else { return None };
        let command = Command::Renew { token: job.token, duration: ticks(LEASE) };
        // A lease that is lost is over for good.
        let renewed = self.apply(world, job.row, &command).is_ok();
        job.until = if renewed { world.now + LEASE } else { world.now };
        world.workers[place] = Worker::Busy(job);
        Some(())
    }

    /// Compares what was read with what is there now, and writes what follows.
    fn rescue(&self, world: &mut World) -> Option<()> {
        let (row, read) = world.rescue.take()?;
        if self.rules.is_broken(Mutation::RescueByIdOnly) {
            let now = std::mem::replace(&mut world.rows[row], Arc::clone(&read));
            let _decided = self.apply(world, row, &Command::Expire);
            let written =
                |stored: &Stored| matches!(stored, Stored::Record(record) if record.state == State::Running);
            if written(&world.rows[row]) {
                world.rows[row] = now;
            }
            return Some(());
        }
        if is_same(&read, &world.rows[row]) {
            let _decided = self.apply(world, row, &Command::Expire);
        }
        Some(())
    }

    fn ask(&self, world: &mut World, row: usize) -> Option<()> {
        let seen = Self::record(world, row)?.token;
        self.apply(world, row, &Command::Ask { at_most: ticks(1) }).ok()?;
        if self.scenario.bounds.thorough {
            world.letters.push(Letter::Question { row, seen });
        } else {
            self.ask_destination(world, row, seen);
        }
        Some(())
    }

    fn fault(&self, world: &mut World, fault: Fault) -> Option<()> {
        match fault {
            Fault::Crash(place) => world.workers[place] = Worker::Idle,
            Fault::GiveUp(place) => self.end_effect(world, place, Word::Unknown)?,
            Fault::NoConnection(place) => self.end_effect(world, place, Word::NotApplied)?,
            Fault::SendLate(place) => {
                let Worker::Busy(mut job) = world.workers[place].clone() else { return None };
                let Phase::Pinned(at) = job.phase else { return None };
                self.send(world, &mut job, at);
                world.workers[place] = Worker::Busy(job);
            }
            Fault::NotDone(place) => self.not_done(world, place)?,
            Fault::AnswerLost(place) => self.lose_answer(world, place)?,
            Fault::ClaimLost(_) => {
                let row = (0..world.rows.len())
                    .find(|row| Self::record(world, *row).is_some_and(|record| is_due(record, world.now)))?;
                self.lease(world, row)?;
            }
            Fault::SubmitLost => self.write_submission(world, None),
            Fault::LoseAnswer(place) => self.arrive_unheard(world, place)?,
            Fault::Lose(place) => drop(world.letters.remove(place)),
            Fault::Double(place) => {
                if let Letter::Request { doubled, .. } = &mut world.letters[place] {
                    *doubled = true;
                }
                let letter = world.letters[place].clone();
                world.letters.push(letter);
            }
            Fault::Leap => world.now += LEAP,
        }
        Some(())
    }

    /// The store does what the worker asks, and the worker does not learn it.
    fn lose_answer(&self, world: &mut World, place: usize) -> Option<()> {
        let Worker::Busy(job) = world.workers[place].clone() else { return None };
        match job.phase {
            Phase::Leased => {
                self.apply(world, job.row, &Command::Start { token: job.token }).ok()?;
                end(world, place, Word::NotEntered)
            }
            Phase::Started | Phase::Entered => {
                // What was not entered for certain is reported as not applied, and so is a send that was not written down.
                let mut told = job.clone();
                if job.phase == Phase::Started && self.scenario.effects[job.effect].step.is_some() {
                    self.enter_step(world, &mut told);
                    matches!(told.phase, Phase::Entered).then_some(())?;
                } else {
                    matches!(self.pin(world, &job), Phase::Pinned(_)).then_some(())?;
                }
                self.end_effect(world, place, Word::NotApplied)
            }
            _ => None,
        }
    }

    /// The store does not do what the worker asks, and the worker does not know that.
    fn not_done(&self, world: &mut World, place: usize) -> Option<()> {
        let Worker::Busy(mut job) = world.workers[place].clone() else { return None };
        match job.phase {
            Phase::StepEnded(said) => self.after_step(&mut job, said),
            _ => job.phase = Phase::Ended(Word::NotEntered),
        }
        world.workers[place] = Worker::Busy(job);
        Some(())
    }

    fn end_effect(&self, world: &mut World, place: usize, said: Word) -> Option<()> {
        let Worker::Busy(job) = &mut world.workers[place] else { return None };
        job.phase = self.effect_ended(job, said);
        Some(())
    }

    fn order(&self, world: &mut World, order: Order) -> Option<()> {
        let (by, reason) = ("somebody".to_owned(), "because".to_owned());
        match order {
            Order::SubmitAgain => {
                let before = world.rows.clone();
                self.write_submission(world, None);
                (before != world.rows).then_some(())
            }
            Order::NewGeneration => {
                let before = world.rows.len();
                self.write_submission(world, Some(Renewal { by, reason }));
                (before != world.rows.len()).then_some(())
            }
            Order::Cancel(row) => {
                self.apply(world, row, &Command::Cancel { by, reason, seen: None }).ok().map(|_| ())
            }
            Order::Replay { row, accept_risk } => {
                let command = Command::Replay { by, reason, accept_risk, at_most: None, seen: None };
                self.apply(world, row, &command).ok()?;
                world.seen.risk_accepted |= accept_risk;
                Some(())
            }
        }
    }
}

/// An attempt comes to its end.
fn end(world: &mut World, place: usize, said: Word) -> Option<()> {
    let Worker::Busy(job) = &mut world.workers[place] else { return None };
    job.phase = Phase::Ended(said);
    Some(())
}

fn purge(world: &mut World, row: usize) -> Option<()> {
    let Stored::Record(record) = &*world.rows[row] else { return None };
    world.rows[row] = Arc::new(Stored::Tombstone(Tombstone::of(record)));
    Some(())
}

fn is_due(record: &Record, now: u8) -> bool {
    record.state == State::Pending && record.ready_at <= at(now)
}

/// Whether a row is what was read: the mark that writers insist on.
fn is_same(read: &Stored, now: &Stored) -> bool {
    match (read, now) {
        (Stored::Record(read), Stored::Record(now)) => {
            read.state == now.state && read.token == now.token && read.lease == now.lease
        }
        _ => false,
    }
}
