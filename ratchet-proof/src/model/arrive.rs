//! What comes of letters: at the destination, at workers, at the store.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ratchet_core::decide::{Answer, Command, Refusal, Verdict};
use ratchet_core::{Cause, CauseKind, Outcome, Token};

use super::Protocol;
use super::scenario::{Asking, TICK};
use super::world::{Account, Finding, Letter, Phase, Word, Worker, World};
use crate::planted::Mutation;

impl Protocol {
    /// A letter arrives, and all goes as usual.
    pub(super) fn arrive(&self, world: &mut World, place: usize) {
        match world.letters.remove(place) {
            Letter::Submission => self.write_submission(world, None),
            letter @ Letter::Request { row, effect, token, .. } => {
                let said = self.act(world, &letter);
                self.hear(world, (row, effect, token), said);
            }
            Letter::Outcome { row, token, said } => self.settle(world, row, token, said),
            Letter::Question { row, seen } => self.ask_destination(world, row, seen),
            Letter::Verdict { row, seen, finding } => self.resolve(world, row, seen, finding),
        }
    }

    /// A request arrives, and the client learns nothing of it.
    pub(super) fn arrive_unheard(&self, world: &mut World, place: usize) -> Option<()> {
        let letter @ Letter::Request { row, effect, token, .. } = world.letters.remove(place) else {
            return None;
        };
        self.act(world, &letter);
        self.hear(world, (row, effect, token), Word::Unknown);
        Some(())
    }

    /// What the destination does about a request.
    fn act(&self, world: &mut World, letter: &Letter) -> Word {
        let Letter::Request { row, effect, token, .. } = *letter else { return Word::Unknown };
        let now = world.now;
        let recognised = self.recognises(&world.accounts[row][effect], now, letter);
        let account = &mut world.accounts[row][effect];
        if account.closed {
            return Word::RefusedAfterLookup;
        }
        if token <= account.refuses_to {
            return Word::Refused;
        }
        if recognised {
            self.absorbed.store(true, Ordering::Relaxed);
            return Word::Done;
        }
        account.effects = (account.effects + 1).min(2);
        account.acted.get_or_insert((now, token));
        Word::Done
    }

    /// Whether the destination knows the request already.
    pub(super) fn recognises(&self, account: &Account, now: u8, letter: &Letter) -> bool {
        let Letter::Request { effect, token, .. } = letter else { return false };
        let remembers = self.scenario.effects[*effect].remembers;
        let (Some((acted, by)), Some(remembers)) = (account.acted, remembers) else { return false };
        let same_key = by == *token || !self.rules.is_broken(Mutation::AttemptInKey);
        now < acted.saturating_add(remembers) && same_key && !self.rules.is_broken(Mutation::NoDeduplication)
    }

    /// A request arrives and is refused.
    pub(super) fn refuse(&self, world: &mut World, place: usize, said: Word) -> Option<()> {
        let Letter::Request { row, effect, token, .. } = world.letters[place] else { return None };
        world.faults -= 1;
        world.letters.remove(place);
        self.hear(world, (row, effect, token), said);
        // An earlier request may be under way, so a refusal says something about it only where it is kept under the key.
        let is_kept = said == Word::RefusedAfterLookup && !self.rules.is_broken(Mutation::RefusalNotKept);
        world.accounts[row][effect].closed |= is_kept;
        Some(())
    }

    pub(super) fn ask_destination(&self, world: &mut World, row: usize, seen: Token) {
        let finding = self.look_up(world, row, 0, seen);
        world.letters.push(Letter::Verdict { row, seen, finding });
    }

    /// What a reconciler finds out.
    pub(super) fn look_up(&self, world: &mut World, row: usize, effect: usize, seen: Token) -> Finding {
        let account = &mut world.accounts[row][effect];
        if account.effects > 0 {
            return Finding::Applied;
        }
        let closes = !self.rules.is_broken(Mutation::AskWithoutClosing);
        if self.scenario.effects[effect].asking == Asking::RefusesOldCalls {
            if closes {
                account.refuses_to = account.refuses_to.max(seen);
            }
            return Finding::OldCallsRefused;
        }
        account.closed |= closes;
        Finding::Closed
    }

    fn resolve(&self, world: &mut World, row: usize, seen: Token, finding: Finding) {
        let verdict = match finding {
            Finding::Applied => Verdict::Applied { result: None },
            Finding::Closed => Verdict::NotAppliedAndClosed,
            Finding::OldCallsRefused => Verdict::NotAppliedOldCallsRefused,
        };
        let (by, reason) = ("reconciler".to_owned(), "asked".to_owned());
        let _answer = self.apply(world, row, &Command::Resolve { by, reason, seen, verdict });
    }

    /// A worker hears from the destination.
    fn hear(&self, world: &mut World, about: (usize, usize, Token), said: Word) {
        for worker in &mut world.workers {
            if let Worker::Busy(job) = worker
                && (job.row, job.effect, job.token) == about
                && job.phase == Phase::Sent
            {
                job.phase = self.effect_ended(job, said);
            }
        }
    }

    /// The store hears how an attempt ended.
    fn settle(&self, world: &mut World, row: usize, token: Token, said: Word) {
        let mut answer = self.apply(world, row, &Command::Settle { token, outcome: outcome(said) });
        if answer == Err(Refusal::NotStarted) && self.rules.is_broken(Mutation::NoStartMark) {
            let _started = self.apply(world, row, &Command::Start { token });
            answer = self.apply(world, row, &Command::Settle { token, outcome: outcome(said) });
        }
        if answer == Err(Refusal::NotStarted) {
            let _released = self.apply(world, row, &Command::Release { token });
        }
        if matches!(answer, Ok(Answer::Late(_))) {
            self.judged_late.store(true, Ordering::Relaxed);
        }
    }
}

/// What a word means to the store.
pub(super) fn outcome(said: Word) -> Outcome {
    let cause = |kind| Cause::new(kind, "");
    match said {
        Word::Done => Outcome::Done { result: None, missing: None },
        Word::NotApplied => Outcome::NotApplied { cause: cause(CauseKind::Connect), retry_after: None },
        Word::NotEntered => {
            Outcome::NotApplied { cause: cause(CauseKind::Handler), retry_after: Some(Duration::ZERO) }
        }
        Word::Refused => Outcome::Rejected { cause: cause(CauseKind::Status(401)), after_lookup: false },
        Word::RefusedAfterLookup => {
            Outcome::Rejected { cause: cause(CauseKind::Status(402)), after_lookup: true }
        }
        Word::Unknown => Outcome::unknown(cause(CauseKind::Transport)),
        Word::Busy => Outcome::Unknown { cause: cause(CauseKind::Status(429)), retry_after: Some(TICK) },
    }
}
