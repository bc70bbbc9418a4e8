//! What kind of destination and operation a model is about, and how much goes wrong.

use std::time::Duration;

use ratchet_core::{Contract, OnUnknown, Policy, RetryPolicy, StepName, Timestamp};

/// One step of the model's clock.
pub(crate) const TICK: Duration = Duration::from_mins(1);

/// How long a lease lasts.
pub(crate) const LEASE: u8 = 2;

/// How long the destination of a limited memory remembers.
pub(crate) const MEMORY: u8 = 10;

/// For how long of it a repetition is safe by the contract; the rest is the time that a request may be under way.
pub(crate) const WINDOW: u8 = 9;

/// A time that does not come.
pub(crate) const NEVER: u8 = u8::MAX;

/// A destination, an operation, and the bounds of what is explored.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// What the record believes about the destination of the operation.
    pub(crate) contract: Contract,
    /// What the handler does, in this order.
    pub(crate) effects: Vec<Effect>,
    pub(crate) policy: Policy,
    pub(crate) bounds: Bounds,
}

/// One effect of the handler.
#[derive(Debug, Clone)]
pub(crate) struct Effect {
    /// Of which step; `None` if it is the handler's own.
    pub(crate) step: Option<StepName>,
    pub(crate) contract: Contract,
    /// For how long the destination recognises a repetition; `None` if it never does.
    pub(crate) remembers: Option<u8>,
    /// What whoever asks can do at the destination.
    pub(crate) asking: Asking,
}

/// What comes of a question to the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    /// There is nobody to ask.
    Nobody,
    /// What did not happen is closed, so that it does not happen later.
    Closes,
    /// Calls that were made before the question are refused from then on.
    RefusesOldCalls,
}

/// How much of a scenario is explored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Workers at the same time.
    pub workers: usize,
    /// Faults of any kind, in any order and at any time.
    pub faults: u8,
    /// Orders of people and producers: cancel, replay, submit again, new generation.
    pub orders: u8,
    /// For how long the clock of the store runs.
    pub ticks: u8,
    /// Whether workers extend their leases, maintenance reads before it writes, questions are under way for a while, and
    /// people accept risks and ask for new generations.
    pub thorough: bool,
}

impl Bounds {
    /// What a test of every change explores.
    ///
    /// What every step of the clock in the middle of the window adds is left to thorough runs.
    pub const SHORT: [Self; 2] = [
        Self { workers: 2, faults: 1, orders: 1, ticks: 11, thorough: false },
        Self { workers: 2, faults: 2, orders: 0, ticks: 11, thorough: false },
    ];
}

impl Bounds {
    pub(crate) const fn next_tick(self, now: u8) -> u8 {
        if !self.thorough && now == LEASE + 1 { WINDOW } else { now + 1 }
    }
}

impl Scenario {
    /// One for each way in which the decision treats an unknown outcome.
    pub(crate) fn all(bounds: Bounds) -> Vec<Self> {
        let key = Contract::header("Idempotency-Key");
        let limited = (key.remembers_for(ticks(MEMORY)), Some(MEMORY));
        let endless = (key.remembers_forever(), Some(NEVER));
        let nothing = (Contract::NONE, None);
        let park = policy(OnUnknown::Park);
        let asks = Policy { reconciles: true, ..park.clone() };
        let own = |name, (contract, remembers), asking, policy: &Policy| Self {
            name,
            contract,
            effects: vec![Effect { step: None, contract, remembers, asking }],
            policy: policy.clone(),
            bounds,
        };
        let step = |name, (contract, remembers), asking| Effect {
            step: Some(StepName::from_static(name)),
            contract,
            remembers,
            asking,
        };
        let steps =
            |name, effects| Self { name, contract: Contract::STEPS, effects, policy: park.clone(), bounds };
        vec![
            own("remembers for a while", limited, Asking::Nobody, &park),
            own("remembers for a while, is asked", limited, Asking::Closes, &asks),
            own("remembers for ever", endless, Asking::Nobody, &park),
            own("no memory, parks", nothing, Asking::Nobody, &park),
            own("no memory, is asked and closes", nothing, Asking::Closes, &asks),
            own("no memory, refuses old calls", nothing, Asking::RefusesOldCalls, &asks),
            own("may be lost", nothing, Asking::Nobody, &policy(OnUnknown::MayLose)),
            own("may be doubled", nothing, Asking::Nobody, &policy(OnUnknown::MayDuplicate)),
            steps(
                "steps: remembers, then parks",
                vec![step("pay", limited, Asking::Nobody), step("ship", nothing, Asking::Nobody)],
            ),
            steps(
                "steps: closes, then refuses old calls",
                vec![step("pay", nothing, Asking::Closes), step("ship", nothing, Asking::RefusesOldCalls)],
            ),
        ]
    }

    /// Whether a second effect is a fault: not where the operation says that it may happen.
    pub(crate) fn has_one_effect(&self) -> bool {
        self.policy.on_unknown != OnUnknown::MayDuplicate
    }
}

impl Effect {
    /// Until when a request that was pinned at `now` may arrive. Where nothing is repeated on a guess it may be as late as
    /// it likes.
    pub(crate) fn arrives_until(&self, now: u8) -> u8 {
        if self.remembers == Some(MEMORY) { now + MEMORY - WINDOW } else { NEVER }
    }

    /// Whether another request at `now` is surely recognised, after the destination acted at `acted`.
    pub(crate) fn is_recognised(&self, acted: u8, now: u8) -> bool {
        match self.remembers {
            None => false,
            Some(MEMORY) => now < acted + WINDOW,
            Some(_) => true,
        }
    }
}

fn policy(on_unknown: OnUnknown) -> Policy {
    let retry = RetryPolicy {
        max_attempts: 3,
        first_delay: TICK,
        growth_percent: 100,
        max_delay: TICK,
        jitter_percent: 0,
        horizon: ticks(MEMORY + 2),
    };
    Policy { retry, timeout: ticks(LEASE), on_unknown, retention: ticks(2), ..Policy::DEFAULT }
}

pub(crate) fn ticks(count: u8) -> Duration {
    TICK * u32::from(count)
}

/// The store's clock after so many ticks.
pub(crate) fn at(tick: u8) -> Timestamp {
    Timestamp::from_millis(1_768_464_000_000).after(ticks(tick))
}
