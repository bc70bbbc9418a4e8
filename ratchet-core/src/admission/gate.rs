//! The gate of one destination: who may send now, and how long the others wait. Pure: it reads no clock and no store.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{BreakerPolicy, Limits};
use crate::time::Timestamp;

/// The longest that one answer of a destination can close its gate for everybody.
const LONGEST_PAUSE: Duration = Duration::from_hours(24);

/// After how long it is worth asking again where nobody knows when there will be room.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// The distance between those who wait, where no limit says a longer one.
const CLOSEST: Duration = Duration::from_millis(10);

/// How many times of being opened by hand are kept.
const MOST_REOPENINGS: usize = 8;

/// How far apart the first and the last of those who wait for one thing come back.
const LONGEST_LINE: Duration = Duration::from_mins(1);

/// What is known about a destination, by all workers of a store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Gate {
    /// What it was held to by the last who asked.
    pub limits: Limits,
    /// Whether the destination works.
    pub breaker: Breaker,
    /// The destination asked not to be sent anything before this point.
    pub paused_until: Option<Timestamp>,
    /// The sends that are under way, as far as anybody knows.
    pub sends: Vec<OpenSend>,
    /// The number of the last permit.
    last_permit: Permit,
    /// Before this many microseconds since the Unix epoch the next send would be too early for the rate.
    next_send_micros: i64,
    /// When the last of those who were told to wait comes back.
    line_ends: Option<Timestamp>,
    /// Who opened it by hand, the last one last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reopened: Vec<Reopening>,
}

/// Somebody's decision that a destination works again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reopening {
    /// Who.
    pub by: String,
    /// Why.
    pub reason: String,
    /// When, by the ledger's clock.
    pub at: Timestamp,
}

/// A circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Breaker {
    /// The destination works: sends pass.
    Closed {
        /// How many sends failed since the last one that did not.
        failures: u32,
    },
    /// Nothing is sent; then one send tries.
    Open {
        /// When it opened.
        since: Timestamp,
        /// When one tries.
        until: Timestamp,
    },
    /// One send tries whether the destination works again.
    HalfOpen {
        /// That send.
        probe: Permit,
    },
}

/// The permit of one send: a number that only grows per destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Permit(pub u64);

/// A send that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OpenSend {
    /// Its permit.
    pub permit: Permit,
    /// When it was admitted.
    pub since: Timestamp,
    /// After this point it counts as over, if nobody reports on it.
    pub until: Timestamp,
}

/// What is asked of a gate, and told to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GateCommand {
    /// May a send begin now?
    Enter,
    /// A send that was admitted is over.
    Leave {
        /// Its permit.
        permit: Permit,
        /// What it says about the destination.
        health: Health,
        /// For how long the destination asked not to be sent anything, by anybody.
        pause: Option<Duration>,
    },
    /// Somebody knows that the destination works again: its breaker is closed, and its pause is over. Limits stay as they are.
    Reopen {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
}

/// What the end of a send says about its destination; not about the effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Health {
    /// It answered; a refusal is an answer too.
    Answered,
    /// It could not be reached, did not answer in time, or said that it cannot work now.
    Failed,
    /// Nothing: the send did not leave, or was given up for another reason.
    NotSent,
}

/// What a gate answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GateAnswer {
    /// The send may begin, and its end is to be reported under this permit.
    Admitted(Permit),
    /// Not now.
    Wait {
        /// When to ask again; longer than nothing.
        span: Duration,
        /// Why.
        why: WaitReason,
    },
    /// The report was taken down.
    Left {
        /// It opened the circuit breaker.
        opened: bool,
    },
    /// The gate was opened by hand.
    Reopened,
}

/// Why a send has to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WaitReason {
    /// The destination asked for it.
    Paused,
    /// The circuit breaker is open.
    BreakerOpen,
    /// Another send tries whether the destination works again.
    Probing,
    /// As many sends are under way as may be.
    Full,
    /// Another send began a short time ago.
    Rate,
}

impl Default for Breaker {
    fn default() -> Self {
        Self::Closed { failures: 0 }
    }
}

impl WaitReason {
    /// The name that metrics use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::BreakerOpen => "breaker_open",
            Self::Probing => "probing",
            Self::Full => "full",
            Self::Rate => "rate",
        }
    }

    /// In words, for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Paused => "the destination asked everybody to wait",
            Self::BreakerOpen => "the circuit breaker is open",
            Self::Probing => "another send tries whether the destination works again",
            Self::Full => "as many sends are under way as may be",
            Self::Rate => "the rate limit is reached",
        }
    }
}

impl Gate {
    /// The gate after a command at this moment, and the answer.
    #[must_use]
    pub fn decide(&self, limits: &Limits, command: &GateCommand, now: Timestamp) -> (Self, GateAnswer) {
        if let GateCommand::Reopen { by, reason } = command {
            let reopening = Reopening { by: by.clone(), reason: reason.clone(), at: now };
            return (self.clone().reopen(reopening), GateAnswer::Reopened);
        }
        let mut next = Self { limits: *limits, ..self.clone() };
        next.forget_what_is_over(now);
        let answer = match *command {
            GateCommand::Leave { permit, health, pause } => {
                let was_open = next.is_breaker_open();
                next.leave(permit, health, pause, now);
                GateAnswer::Left { opened: next.is_breaker_open() && !was_open }
            }
            _ => next.enter(now),
        };
        (next, answer)
    }

    fn is_breaker_open(&self) -> bool {
        matches!(self.breaker, Breaker::Open { .. })
    }

    /// Whoever was told to wait comes back as they were told; whoever asks now is admitted.
    fn reopen(mut self, reopening: Reopening) -> Self {
        self.breaker = Breaker::default();
        (self.paused_until, self.line_ends) = (None, None);
        self.reopened.push(reopening);
        let surplus = self.reopened.len().saturating_sub(MOST_REOPENINGS);
        self.reopened.drain(..surplus);
        self
    }

    /// Sends of workers that died make room; and what began later than now was written when the clock was wrong. How long
    /// something lasts was said by whoever began it: others, who are held to other limits, do not end it sooner.
    fn forget_what_is_over(&mut self, now: Timestamp) {
        self.sends.retain(|send| send.since <= now && now < send.until);
        self.paused_until = self.paused_until.filter(|until| is_ahead(*until, now, LONGEST_PAUSE));
        if let Some(rate) = self.limits.rate {
            self.next_send_micros =
                self.next_send_micros.min(micros(now).saturating_add(rate.interval_micros()));
        }
        self.breaker = match self.breaker {
            Breaker::Open { since, .. } if since > now => Breaker::Open { since: now, until: now },
            Breaker::HalfOpen { probe } if !self.is_under_way(probe) => {
                Breaker::Open { since: now, until: now }
            }
            breaker => breaker,
        };
    }

    fn is_under_way(&self, permit: Permit) -> bool {
        self.sends.iter().any(|send| send.permit == permit)
    }

    fn enter(&mut self, now: Timestamp) -> GateAnswer {
        match self.closed_until(now) {
            None => GateAnswer::Admitted(self.admit(now)),
            Some((at, why)) => GateAnswer::Wait { span: self.queue_up(at).since(now), why },
        }
    }

    /// Until when nobody can be admitted, as far as anybody knows, and why.
    fn closed_until(&self, now: Timestamp) -> Option<(Timestamp, WaitReason)> {
        let soon = now.after(ASK_AGAIN);
        let paused = self.paused_until.map(|until| (until, WaitReason::Paused));
        let broken = match self.breaker {
            // Whoever has no breaker neither heeds nor moves that of others.
            _ if self.limits.breaker.is_none() => None,
            Breaker::Open { until, .. } if now < until => Some((until, WaitReason::BreakerOpen)),
            Breaker::HalfOpen { .. } => Some((soon, WaitReason::Probing)),
            Breaker::Open { .. } | Breaker::Closed { .. } => None,
        };
        let is_full = self.limits.at_most.is_some_and(|most| self.sends.len() >= most.get() as usize);
        let full = is_full.then_some((soon, WaitReason::Full));
        let is_early = self.limits.rate.is_some() && micros(now) < self.next_send_micros;
        let early = is_early.then_some((next_millisecond(self.next_send_micros), WaitReason::Rate));
        [paused, broken, full, early].into_iter().flatten().max_by_key(|(at, _)| *at)
    }

    fn admit(&mut self, now: Timestamp) -> Permit {
        let permit = Permit(self.last_permit.0.saturating_add(1));
        self.last_permit = permit;
        self.sends.push(OpenSend { permit, since: now, until: now.after(self.limits.longest_send) });
        if let Some(rate) = self.limits.rate {
            self.next_send_micros = micros(now).saturating_add(rate.interval_micros());
        }
        if self.limits.breaker.is_some() && self.is_breaker_open() {
            self.breaker = Breaker::HalfOpen { probe: permit };
        }
        permit
    }

    /// Those who wait come back one after the other, as fast as there may be room for them, and not all at once.
    fn queue_up(&mut self, earliest: Timestamp) -> Timestamp {
        let behind = self.line_ends.map_or(earliest, |end| end.max(earliest));
        let turn = behind.min(earliest.after(LONGEST_LINE));
        self.line_ends = Some(turn.after(self.distance()));
        turn
    }

    fn distance(&self) -> Duration {
        let by_rate = self.limits.rate.map(|rate| rate.per / rate.sends.get());
        // As if a send took a second.
        let by_room = self.limits.at_most.map(|most| Duration::from_secs(1) / most.get());
        by_rate.max(by_room).unwrap_or_default().max(CLOSEST)
    }

    fn leave(&mut self, permit: Permit, health: Health, pause: Option<Duration>, now: Timestamp) {
        self.sends.retain(|send| send.permit != permit);
        if let Some(policy) = self.limits.breaker {
            self.breaker = judged(self.breaker, policy, permit, health, now);
        }
        let asked = pause.map(|pause| now.after(pause.min(LONGEST_PAUSE)));
        self.paused_until = self.paused_until.max(asked.filter(|until| *until > now));
    }
}

/// The breaker after the end of a send. While it is not closed, only its own probe counts: other sends began before it
/// opened, and say nothing new.
fn judged(
    breaker: Breaker,
    policy: BreakerPolicy,
    permit: Permit,
    health: Health,
    now: Timestamp,
) -> Breaker {
    let open = Breaker::Open { since: now, until: now.after(policy.open_for) };
    match (breaker, health) {
        (Breaker::Closed { failures }, Health::Failed)
            if failures.saturating_add(1) >= policy.failures.get() =>
        {
            open
        }
        (Breaker::Closed { failures }, Health::Failed) => Breaker::Closed { failures: failures + 1 },
        (Breaker::Closed { .. }, Health::Answered) => Breaker::default(),
        (Breaker::HalfOpen { probe }, Health::Answered) if probe == permit => Breaker::default(),
        (Breaker::HalfOpen { probe }, Health::Failed) if probe == permit => open,
        (Breaker::HalfOpen { probe }, Health::NotSent) if probe == permit => {
            Breaker::Open { since: now, until: now }
        }
        (unchanged, _) => unchanged,
    }
}

fn is_ahead(until: Timestamp, now: Timestamp, at_most: Duration) -> bool {
    now < until && until <= now.after(at_most)
}

fn micros(at: Timestamp) -> i64 {
    at.as_millis().saturating_mul(1000)
}

fn next_millisecond(micros: i64) -> Timestamp {
    Timestamp::from_millis(micros.saturating_add(999).div_euclid(1000))
}
