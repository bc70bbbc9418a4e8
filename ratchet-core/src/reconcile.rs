//! Asks a destination what happened, where a record cannot be sent again without asking.

use std::fmt;
use std::future::Future;
use std::pin::Pin as Pinned;
use std::sync::Arc;

use ratchet_key::KeyError;

use crate::contract::Terms;
use crate::decide::Verdict;
use crate::failure::Failure;
use crate::model::{Effect, Payload, Pin, Record, RecordId, StepName, Version};
use crate::operation::{Codec, Operation, OutputOf, States};
use crate::time::Timestamp;

/// What a reconciler found out at the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Found<T> {
    /// The effect happened, and left this.
    Applied(T),
    /// The effect did not happen, and for the stated reason no call that is still under way can make it happen.
    NotApplied(Closed),
    /// The destination is still at it.
    InFlight,
    /// It could not be found out.
    StillUnknown,
}

/// Why a call that is still under way cannot have its effect after the destination was asked.
///
/// That the destination knows nothing is no such reason: a paused worker's call can arrive after the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Closed {
    /// The destination closed the key while it was asked: it was cancelled by its key, or a refusal is remembered under it.
    /// The record ends as failed.
    ByTheDestination,
    /// The destination refuses calls that were made so long ago (a signed time, a token that has ended), so the same
    /// identity is used again.
    OldCallsRefused,
}

/// What a reconciler is told about the record, or the step, that it asks about.
#[derive(Clone)]
pub struct Inquiry {
    about: Arc<About>,
    states: Arc<States>,
}

/// The effect that is asked about, and whose it is.
pub(crate) struct About {
    pub(crate) id: RecordId,
    pub(crate) step: Option<StepName>,
    pub(crate) version: Version,
    /// The identity as text, as the handler had it.
    pub(crate) unpinned_key: String,
    pub(crate) effect: Effect,
    pub(crate) attempts: u32,
}

impl About {
    /// The effect of a record outside its steps. Fails as [`RecordId::as_text`]; no handler was entered for such a record
    /// either.
    pub(crate) fn record(record: &Record) -> Result<Self, KeyError> {
        Ok(Self {
            id: record.id.clone(),
            step: None,
            version: record.version.clone(),
            unpinned_key: record.id.as_text(None)?,
            effect: record.effect.clone(),
            attempts: record.attempts,
        })
    }
}

impl Inquiry {
    pub(crate) fn new(about: About, states: Arc<States>) -> Self {
        Self { about: Arc::new(about), states }
    }

    /// The key that the destination was sent: the pinned one, or the identity as text, which is
    /// [`Context::key`](crate::Context::key), if nothing was pinned.
    #[must_use]
    pub fn key(&self) -> &str {
        self.pin().map_or(self.about.unpinned_key.as_str(), |pin| &pin.wire_key)
    }

    /// What was written down before the first send; `None` if no attempt came so far, or its effect needs no pin.
    #[must_use]
    pub fn pin(&self) -> Option<&Pin> {
        self.about.effect.pin.as_deref()
    }

    /// Which record it is.
    #[must_use]
    pub fn id(&self) -> &RecordId {
        &self.about.id
    }

    /// Which of its steps; `None` if it is the effect of the handler outside its steps.
    #[must_use]
    pub fn step(&self) -> Option<&StepName> {
        self.about.step.as_ref()
    }

    /// The version that the producer asked for.
    #[must_use]
    pub fn version(&self) -> &Version {
        &self.about.version
    }

    /// What the record keeps of what the destination promises.
    #[must_use]
    pub fn terms(&self) -> &Terms {
        &self.about.effect.contract
    }

    /// When the destination may first have seen the key, by the ledger's clock.
    #[must_use]
    pub fn first_sent_at(&self) -> Option<Timestamp> {
        self.about.effect.first_sent_at()
    }

    /// How many attempts were made.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.about.attempts
    }

    /// The worker's state of type `T`, such as the client to ask with.
    ///
    /// # Errors
    /// A failure that names the type if the worker has none: add it with `.state(…)`.
    pub fn state<T: Clone + Send + Sync + 'static>(&self) -> Result<T, Failure> {
        let missing = || {
            Failure::unknown(format_args!("the worker has no state of type `{}`", std::any::type_name::<T>()))
        };
        self.states.get().ok_or_else(missing)
    }
}

impl fmt::Debug for Inquiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inquiry")
            .field("operation", &self.about.id.operation)
            .field("key", &format_args!("{}", self.about.id.digest()))
            .field("step", &self.about.step)
            .finish_non_exhaustive()
    }
}

/// A question that is under way.
pub type Asking<O> = Pinned<Box<dyn Future<Output = Result<Found<OutputOf<O>>, Failure>> + Send>>;

/// The functions that an attribute can name after `reconcile =`.
#[diagnostic::on_unimplemented(
    message = "this function cannot reconcile the operation",
    label = "expected `async fn(Inquiry, Input) -> Result<Found<T>, Failure>` with the operation's own input and `T`",
    note = "an operation that returns `Result<T, Failure>` is reconciled by `async fn ask(about: ratchet::Inquiry, input: …) -> Result<ratchet::Found<T>, ratchet::Failure>`"
)]
pub trait Reconciles<O: Operation> {
    /// Asks.
    fn ask(self, about: Inquiry, input: O::Input) -> Asking<O>;
}

#[diagnostic::do_not_recommend]
impl<O, F, Answer> Reconciles<O> for F
where
    O: Operation,
    F: FnOnce(Inquiry, O::Input) -> Answer,
    Answer: Future<Output = Result<Found<OutputOf<O>>, Failure>> + Send + 'static,
{
    fn ask(self, about: Inquiry, input: O::Input) -> Asking<O> {
        Box::pin(self(about, input))
    }
}

/// A question without its types, as a worker holds it.
pub(crate) type Question = Pinned<Box<dyn Future<Output = Option<Verdict>> + Send>>;

/// What the reconciler of `O` found out; `None` if it is still unknown.
pub(crate) fn ask<O: Operation>(about: Inquiry, input: &Payload) -> Question {
    let Ok(input) = O::Codec::decode(input) else { return Box::pin(std::future::ready(None)) };
    let asking = O::reconcile(about, input);
    Box::pin(async move {
        match asking.await {
            Ok(Found::Applied(output)) => {
                Some(Verdict::Applied { result: Payload::encode(&output, Payload::LARGEST_RESULT).ok() })
            }
            Ok(Found::NotApplied(Closed::ByTheDestination)) => Some(Verdict::NotAppliedAndClosed),
            Ok(Found::NotApplied(Closed::OldCallsRefused)) => Some(Verdict::NotAppliedOldCallsRefused),
            Ok(Found::InFlight | Found::StillUnknown) | Err(_) => None,
        }
    })
}
