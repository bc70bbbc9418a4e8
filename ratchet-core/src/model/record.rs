//! The durable row of one intended action.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::after::{After, Ending};
use super::cause::Cause;
use super::effect::{Effect, Step};
use super::identity::RecordId;
use super::name::{GroupId, Queue, StepName, Version, WorkerId};
use super::payload::{Fingerprint, Payload};
use super::trace_parent::TraceParent;
use crate::ledger::Served;
use crate::policy::{OnUnknown, Policy};
use crate::time::Timestamp;

/// The durable row of one (namespace, operation, key, generation).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Record {
    /// Which intended action this is.
    pub id: RecordId,
    /// The version of the code that the producer asked for.
    pub version: Version,
    /// The fingerprint of the input.
    pub fingerprint: Fingerprint,
    /// The input.
    pub input: Payload,
    /// How it is retried, bounded and kept: a snapshot taken when it was submitted.
    pub policy: Policy,
    /// Where it waits for a worker.
    pub queue: Queue,
    /// Higher ones are claimed first.
    pub priority: Priority,
    /// To which group it belongs.
    pub group: Option<GroupId>,
    /// After which record it comes.
    pub after: Option<After>,
    /// Where in which trace it was asked for first.
    pub trace: Option<TraceParent>,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// What is the case now.
    pub state: State,
    /// Not to be claimed before this point.
    pub ready_at: Timestamp,
    /// The last token that was handed out; it only grows.
    pub token: Token,
    /// Who may execute it now.
    pub lease: Option<Lease>,
    /// How many executions were started.
    pub attempts: u32,
    /// How many of them count against the policy's bound.
    pub spent: u32,
    /// The effect of the handler outside its named steps.
    pub effect: Effect,
    /// The named effects of the handler.
    pub steps: BTreeMap<StepName, Step>,
    /// Somebody asked to start nothing more.
    pub cancel_requested: bool,
    /// Somebody accepted that the next send may be a duplicate.
    pub risk_accepted: bool,
    /// What `Done` left.
    pub result: Option<Payload>,
    /// Why the last attempt did not end well, or why the result is missing.
    pub cause: Option<Cause>,
    /// Why the record is uncertain.
    pub uncertainty: Option<Uncertainty>,
    /// When somebody should ask the destination what happened.
    pub reconcile_at: Option<Timestamp>,
    /// When it reached a state that needs no more work.
    pub settled_at: Option<Timestamp>,
}

impl Record {
    /// Whether some attempt may have had an effect that nobody confirmed.
    #[must_use]
    pub fn may_be_applied(&self) -> bool {
        self.unconfirmed().next().is_some()
    }

    /// The effects that some attempt may have had and nobody confirmed: of the handler itself, and of its steps.
    pub fn unconfirmed(&self) -> impl Iterator<Item = &Effect> {
        let steps = self.steps.values().map(|step| &step.effect);
        std::iter::once(&self.effect).chain(steps).filter(|effect| effect.may_be_applied)
    }

    /// Whether it may have its effect twice although its operation is declared with a policy that does not allow that: it was
    /// enqueued by a program that did not know the declaration.
    #[must_use]
    pub fn is_laxer_than(&self, declared: &Policy) -> bool {
        let may_duplicate =
            |policy: &Policy| policy.on_unknown == OnUnknown::MayDuplicate && !policy.reconciles;
        may_duplicate(&self.policy) && !may_duplicate(declared)
    }

    /// The effect of a step, or of the handler itself.
    #[must_use]
    pub fn effect_of(&self, step: Option<&StepName>) -> Option<&Effect> {
        match step {
            None => Some(&self.effect),
            Some(name) => self.steps.get(name).map(|step| &step.effect),
        }
    }

    /// What a worker has to serve to execute it.
    #[must_use]
    pub fn served(&self) -> Served {
        Served { operation: self.id.operation.clone(), version: self.version.clone() }
    }

    /// How it ended, for records that come after it; `None` if it goes on.
    #[must_use]
    pub const fn ending(&self) -> Option<Ending> {
        Ending::of(self.state, self.uncertainty, self.reconcile_at)
    }

    /// Whether it is settled for so long that a tombstone may take its place.
    ///
    /// An uncertain record is never purged: somebody has to settle it first.
    #[must_use]
    pub fn is_purgeable(&self, now: Timestamp) -> bool {
        let ended = self.state.is_settled() && self.state != State::Uncertain;
        ended && self.settled_at.is_some_and(|at| at.after(self.policy.retention) <= now)
    }
}

/// What is the case with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Waits until the record that it comes after has ended.
    Waiting,
    /// Waits to be claimed.
    Pending,
    /// A worker holds the lease.
    Running,
    /// The effect happened.
    Succeeded,
    /// The destination refused.
    Failed,
    /// Every allowed attempt certainly had no effect, but those of steps that are done.
    Exhausted,
    /// The effect may have happened, and nobody may try again without asking first.
    Uncertain,
    /// Stopped before any effect.
    Cancelled,
    /// Given up with an unknown outcome, as the operation's `may_lose` allows.
    Abandoned,
    /// Never executed: the record that it comes after ended in another way.
    Skipped,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 10] = [
        Self::Waiting,
        Self::Pending,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Exhausted,
        Self::Uncertain,
        Self::Cancelled,
        Self::Abandoned,
        Self::Skipped,
    ];

    /// Whether no worker will touch the record again by itself.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        !matches!(self, Self::Waiting | Self::Pending | Self::Running)
    }

    /// Whether it is certain what happened, so that a new generation may follow.
    #[must_use]
    pub const fn is_definite(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Exhausted | Self::Cancelled | Self::Skipped)
    }

    /// The name that logs, metrics and ledgers use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Exhausted => "exhausted",
            Self::Uncertain => "uncertain",
            Self::Cancelled => "cancelled",
            Self::Abandoned => "abandoned",
            Self::Skipped => "skipped",
        }
    }

    /// The state of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The fence: names a lease, and only grows per record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(u64);

impl Token {
    /// No lease yet.
    pub const NONE: Self = Self(0);

    /// The token of this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The one that supersedes this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How urgent a record is; higher ones are claimed first, 0 is usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Priority(pub i16);

/// The right to execute a record for a while.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lease {
    /// Who holds it.
    pub worker: WorkerId,
    /// Until when, by the ledger's clock.
    pub until: Timestamp,
    /// When the handler was entered; a lease alone is not a start.
    pub started_at: Option<Timestamp>,
}

/// Why a record is uncertain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Uncertainty {
    /// The destination does not recognise a repeated request.
    NoDeduplication,
    /// The destination may have forgotten the first request.
    WindowOver,
    /// The allowed attempts are spent.
    AttemptsSpent,
    /// The time in which a send may be repeated without asking is over.
    HorizonOver,
    /// The next request would differ from the one that was pinned.
    RequestChanged,
    /// Cancelled after an attempt that may have had its effect.
    Cancelled,
    /// The handler does not know what happened, and said that another attempt is of no use.
    NotRetryable,
}

impl Uncertainty {
    /// A sentence for people.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::NoDeduplication => "the destination does not recognise a repeated request",
            Self::WindowOver => "the destination may have forgotten the first request",
            Self::AttemptsSpent => "every allowed attempt was made and the last ones ended unknown",
            Self::HorizonOver => "the time in which a send may be repeated without asking is over",
            Self::RequestChanged => "the request would differ from the one that was sent first",
            Self::NotRetryable => {
                "the handler failed with an unknown outcome and said that another attempt is of no use"
            }
            Self::Cancelled => "it was cancelled after an attempt that may have had its effect",
        }
    }
}

/// The compact rest of a purged record, which answers a late duplicate.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tombstone {
    /// Which intended action it was.
    pub id: RecordId,
    /// The version that the producer asked for.
    pub version: Version,
    /// The fingerprint of its input.
    pub fingerprint: Fingerprint,
    /// How it ended.
    pub state: State,
    /// When it ended.
    pub ended_at: Timestamp,
}

impl Tombstone {
    /// What is left of a settled record.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        Self {
            id: record.id.clone(),
            version: record.version.clone(),
            fingerprint: record.fingerprint,
            state: record.state,
            ended_at: record.settled_at.unwrap_or(record.created_at),
        }
    }
}
