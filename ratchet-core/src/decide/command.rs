//! What can be asked of a record, and what comes back.

use serde::{Deserialize, Serialize};
use std::time::Duration;

use crate::contract::Terms;
use crate::model::{
    Attempt, AttemptEnd, AuditEntry, Cause, Effect, Ending, KeptRequest, Outcome, Payload, Pin, Recipe,
    Record, RequestFingerprint, Scope, SecretId, State, StepName, Token, Uncertainty, WorkerId,
};
use crate::policy::Policy;
use crate::time::Timestamp;

/// Something that a worker, a person or the ledger's own maintenance asks of a record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Command {
    /// Grant the right to execute.
    Lease {
        /// To whom.
        worker: WorkerId,
        /// For how long; at most [`LONGEST_LEASE`](super::LONGEST_LEASE).
        duration: Duration,
        /// Count it as started at once where the destination deduplicates, which saves a round trip.
        start_if_safe: bool,
    },
    /// The operation is declared by now, and more strictly than the record was enqueued with: nothing is repeated any more
    /// that the declaration does not allow. For a lease under which nothing was started.
    Adopt {
        /// The lease.
        token: Token,
        /// What the destination promises.
        contract: Terms,
        /// What follows from an unknown outcome; its retries stay those that the record was enqueued with.
        policy: Box<Policy>,
    },
    /// The handler is about to be entered.
    Start {
        /// The lease.
        token: Token,
    },
    /// Extend a lease.
    Renew {
        /// The lease.
        token: Token,
        /// For how long from now.
        duration: Duration,
    },
    /// Give back a lease whose handler was not entered.
    Release {
        /// The lease.
        token: Token,
    },
    /// The lease is over by the ledger's clock.
    Expire,
    /// Write down what is about to be sent.
    Pin {
        /// The lease.
        token: Token,
        /// Of which step; `None` for the handler's own effect.
        step: Option<StepName>,
        /// What is about to be sent.
        request: Box<PinRequest>,
    },
    /// A step is about to be entered.
    BeginStep {
        /// The lease.
        token: Token,
        /// Its name.
        step: StepName,
        /// What its destination promises.
        contract: Terms,
        /// The handler can ask the destination what happened.
        reconciles: bool,
    },
    /// The destination of a step was asked: the effect did not happen, and the destination refuses old calls. The step is
    /// entered again, with the same identity.
    RestartStep {
        /// The lease.
        token: Token,
        /// Its name.
        step: StepName,
    },
    /// A step ended.
    FinishStep {
        /// The lease.
        token: Token,
        /// Its name.
        step: StepName,
        /// How it ended.
        outcome: Outcome,
    },
    /// An attempt ended.
    Settle {
        /// The lease that it ran under.
        token: Token,
        /// What it knows.
        outcome: Outcome,
    },
    /// The record that this one comes after has ended: it is due now, or skipped.
    Follow {
        /// How that one ended.
        ended: Ending,
    },
    /// Start nothing more. It is not a rollback.
    Cancel {
        /// Who asks.
        by: String,
        /// Why.
        reason: String,
        /// The last token of the record that they looked at; whatever it is if there is none.
        seen: Option<Token>,
    },
    /// The destination is about to be asked what happened. Whoever is granted this asks, and nobody else for a while.
    Ask {
        /// How long the question takes at the most.
        at_most: Duration,
    },
    /// Somebody found out what happened.
    Resolve {
        /// Who.
        by: String,
        /// On what grounds.
        reason: String,
        /// The last token of the record that was looked into: a verdict says nothing about an attempt that came after.
        seen: Token,
        /// What happened.
        verdict: Verdict,
    },
    /// Run the same record again, with the same identity.
    Replay {
        /// Who asks.
        by: String,
        /// Why.
        reason: String,
        /// The caller accepts that the effect may happen twice.
        accept_risk: bool,
        /// How many executions follow at the most; as many as the policy says if there is no wish.
        at_most: Option<u32>,
        /// The last token of the record that they looked at; whatever it is if there is none.
        seen: Option<Token>,
    },
}

/// What is about to be sent to a destination. `Debug` leaves the wire key out, as that of [`Pin`] does.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PinRequest {
    /// The key in the form that the destination accepts.
    pub wire_key: String,
    /// By which recipe it was made.
    pub recipe: Recipe,
    /// With which secret, where the recipe takes one.
    pub secret: Option<SecretId>,
    /// Where in the request the key stands.
    pub place: String,
    /// Whether the destination recognises the key there, as the code that sends says.
    pub deduplicates: bool,
    /// An earlier send of this attempt may have had its effect, or had it.
    pub sent_before: bool,
    /// Within what the destination compares keys.
    pub scope: Scope,
    /// What the request looks like.
    pub request: RequestFingerprint,
    /// The request itself, where the one that was pinned first is to be sent by every attempt.
    pub kept: Option<KeptRequest>,
}

impl std::fmt::Debug for PinRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PinRequest").field("request", &self.request).finish_non_exhaustive()
    }
}

/// What somebody found out about an uncertain record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Verdict {
    /// The effect happened.
    Applied {
        /// What it left, if that is known.
        result: Option<Payload>,
    },
    /// The effect did not happen, and cannot happen any more under this key: the destination closed the key while it
    /// was asked. Merely asking is not enough, since the call of a paused worker can still arrive.
    NotAppliedAndClosed,
    /// The effect did not happen, and the destination itself refuses old calls (a signed timestamp, an expired
    /// token), so that the same identity may be used again.
    NotAppliedOldCallsRefused,
    /// Nothing was found out; ask again at this point.
    StillUnknown {
        /// When to ask again.
        ask_again_at: Option<Timestamp>,
    },
}

/// What follows from a command.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Decision {
    /// The record as it is from now on.
    pub record: Record,
    /// What to write on which attempt.
    pub attempt: Option<AttemptNote>,
    /// What to add to the audit trail.
    pub audit: Option<AuditEntry>,
    /// What to tell the caller.
    pub answer: Answer,
}

/// What to write on an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AttemptNote {
    /// A new attempt.
    Opened(Attempt),
    /// Its handler is entered.
    Started {
        /// Which.
        token: Token,
        /// When.
        at: Timestamp,
    },
    /// It ended. An end that is certain replaces one that is `Unknown`, never the other way round.
    Ended {
        /// Which.
        token: Token,
        /// How.
        end: AttemptEnd,
    },
}

/// What a caller is told.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Answer {
    /// The lease is granted; the record that comes with the answer holds it.
    Leased,
    /// No lease: the record may not be sent again without asking. It is uncertain now, or abandoned where the
    /// operation allows that.
    Parked(Uncertainty),
    /// The record is held to what is declared.
    Adopted,
    /// The handler may be entered.
    Started,
    /// The lease is extended.
    Renewed {
        /// Until when, by the ledger's clock.
        until: Timestamp,
        /// Somebody asked to stop.
        cancel_requested: bool,
    },
    /// The lease is given back.
    Released,
    /// This is what to send, now and on every later attempt.
    Pinned(Box<Pin>),
    /// The step may be entered.
    StepBegun,
    /// The step may have had this effect, and must not be repeated: ask its destination first.
    AskAboutStep(Box<Effect>),
    /// The step was finished by an earlier attempt and left this.
    StepDone(Option<Payload>),
    /// The step's end is written down.
    StepFinished,
    /// The attempt's end is written down, and the record is in this state.
    Settled(State),
    /// The attempt's end is written down, and the record, which goes its own way, is in this state.
    Late(State),
    /// The decision of a person, or that about a waiting record, is carried out, and the record is in this state.
    Now(State),
    /// The destination may be asked; it is asked again later if nothing is found out.
    Asking,
    /// The worker that executes the record is told to stop.
    CancelRequested,
}

/// Why a command changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A newer lease exists, or the record is not executed any more.
    #[error("the lease is superseded: another worker has taken the record over, or it is settled")]
    Superseded,
    /// The record was executed since somebody looked at it.
    #[error("the record has gone on since it was looked at: look again, and then decide")]
    Changed,
    /// There is no such record.
    #[error("there is no such record")]
    NoRecord,
    /// The record is in no state for it.
    #[error("not possible while the record is {0}")]
    State(State),
    /// The record is not due yet.
    #[error("the record is not due before {0}")]
    NotDue(Timestamp),
    /// The lease is not over.
    #[error("the lease is not over")]
    NotExpired,
    /// The operation allows replays for a while after the end, and that while is over.
    #[error(
        "its operation declares `replay_within`, and that ended at {0}: ask for a new generation instead"
    )]
    ReplayOver(Timestamp),
    /// The handler was entered, so the lease cannot simply be given back.
    #[error("the attempt has started: report its outcome instead")]
    AlreadyStarted,
    /// The handler was not entered, so there is nothing to report.
    #[error("the attempt has not started")]
    NotStarted,
    /// Somebody asked to start nothing more.
    #[error("the operation is cancelled")]
    Cancelled,
    /// The request differs from the pinned one.
    #[error("the {0} differs from what was pinned before the first send; sending it could act twice")]
    RequestChanged(Difference),
    /// The identity may not be sent again without asking.
    #[error("{}", .0.explain())]
    NotRepeatable(Uncertainty),
    /// No step of this name was entered.
    #[error("no step of this name was begun")]
    NoStep,
    /// The ledger cannot read the record. Nothing happens to it, and nothing keeps others from their own.
    #[error("the record cannot be read: {what}; restore it or ask for help")]
    Damaged {
        /// What is wrong, without any value of the record.
        what: String,
    },
    /// Running it again may act twice.
    #[error("running it again may have the effect twice ({}): accept the risk explicitly or resolve it first", .0.explain())]
    RiskNotAccepted(Uncertainty),
}

/// In what a request differs from the pinned one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Difference {
    /// The form of the identity, although it is made by the same recipe with the same secret.
    WireKey,
    /// The recipe: the destination does not take the key of the earlier one any more.
    Recipe,
    /// Where the key stands in the request, or whether the destination looks for one at all.
    Place,
    /// The destination, such as the origin of the URL.
    Destination,
    /// The account or the credential.
    Account,
    /// The region.
    Region,
    /// The route.
    Route,
    /// The method.
    Method,
    /// The URL.
    Url,
    /// The body.
    Body {
        /// The names of the fields that differ, as far as they are known.
        fields: Vec<String>,
    },
}

impl Difference {
    /// Whether it is in the request alone, and not in what makes the identity.
    #[must_use]
    pub const fn is_of_the_request(&self) -> bool {
        matches!(self, Self::Method | Self::Url | Self::Body { .. })
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::WireKey => "wire key",
            Self::Recipe => "recipe of the wire key (the contract does not take the pinned key any more)",
            Self::Place => "mechanism of the contract",
            Self::Destination => "destination",
            Self::Account => "account or credential",
            Self::Region => "region",
            Self::Route => "route",
            Self::Method => "method of the request",
            Self::Url => "URL of the request",
            Self::Body { fields } if !fields.is_empty() => {
                return write!(f, "body of the request (at `{}`)", fields.join("`, `"));
            }
            Self::Body { .. } => "body of the request",
        })
    }
}

impl Decision {
    pub(super) fn new(record: Record, answer: Answer) -> Self {
        Self { record, attempt: None, audit: None, answer }
    }

    pub(super) fn noting(mut self, attempt: AttemptNote) -> Self {
        self.attempt = Some(attempt);
        self
    }
}

impl AttemptNote {
    pub(super) fn ended(token: Token, outcome: &Outcome, at: Timestamp, late: bool) -> Self {
        let cause: Option<Cause> = outcome.cause().cloned();
        Self::Ended { token, end: AttemptEnd { at, outcome: outcome.kind(), cause, late } }
    }
}
