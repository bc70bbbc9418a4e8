//! What a producer hands over, and what it is told.

use std::fmt;
use std::marker::PhantomData;

use ratchet_key::{Key, KeyError, MAX_KEY_BYTES};
use serde_json::Value;

use super::marks::without_volatile;
use super::{Codec, Mark, Operation, OutputOf, key_of};
use crate::ledger::LedgerError;
use crate::model::{
    Conflict, Fingerprint, Generation, NameError, Namespace, Payload, PayloadError, Priority, Queue,
    RecordId, Renewal, State, Submission, Submitted, TraceParent, Version,
};
use crate::telemetry;
use crate::time::Timestamp;
use crate::trace;

/// Key and namespace that fit within the limit whatever the generation: its mark has eleven bytes at the most, and that of
/// the namespace one.
const SURELY_SHORT: usize = MAX_KEY_BYTES - 12;

/// A wish to have an operation executed: a plain value that can be submitted now, or in a transaction of the caller's.
///
/// A key or an input that is refused is reported when the request is submitted.
#[must_use = "a request does nothing until it is submitted"]
pub struct Request<O> {
    prepared: Result<Prepared, Refused>,
    namespace: Option<Namespace>,
    not_before: Option<Timestamp>,
    queue: Option<Result<Queue, NameError>>,
    priority: Option<Priority>,
    renewal: Option<(Generation, Renewal)>,
    trace: Option<TraceParent>,
    operation: PhantomData<fn() -> O>,
}

// Derived, these would ask the same of the operation, which is no value.
impl<O> Clone for Request<O> {
    fn clone(&self) -> Self {
        Self {
            prepared: self.prepared.clone(),
            namespace: self.namespace.clone(),
            not_before: self.not_before,
            queue: self.queue.clone(),
            priority: self.priority,
            renewal: self.renewal.clone(),
            trace: self.trace,
            operation: PhantomData,
        }
    }
}

impl<O> PartialEq for Request<O> {
    fn eq(&self, other: &Self) -> bool {
        self.prepared == other.prepared
            && self.namespace == other.namespace
            && self.not_before == other.not_before
            && self.queue == other.queue
            && self.priority == other.priority
            && self.renewal == other.renewal
            && self.trace == other.trace
    }
}

impl<O> Eq for Request<O> {}

impl<O> fmt::Debug for Request<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("prepared", &self.prepared)
            .field("namespace", &self.namespace)
            .field("not_before", &self.not_before)
            .field("queue", &self.queue)
            .field("priority", &self.priority)
            .field("renewal", &self.renewal)
            .field("trace", &self.trace)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Prepared {
    key: Key,
    input: Payload,
    compared: Option<Fingerprint>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Refused {
    Key(KeyError),
    Input(PayloadError),
}

impl<O: Operation> Request<O> {
    /// Renders the key and writes the input as JSON.
    pub fn new(input: &O::Input) -> Self {
        Self {
            prepared: prepare::<O>(input),
            namespace: None,
            not_before: None,
            queue: None,
            priority: None,
            renewal: None,
            trace: None,
            operation: PhantomData,
        }
    }

    /// In another namespace than that of the client.
    pub fn in_namespace(mut self, namespace: Namespace) -> Self {
        self.namespace = Some(namespace);
        self
    }

    /// Not to be executed before this point.
    pub fn not_before(mut self, at: impl Into<Timestamp>) -> Self {
        self.not_before = Some(at.into());
        self
    }

    /// In another queue than the operation's, for workers that serve it. The identity stays the same: an action that is
    /// on record already stays in its queue.
    pub fn queue(mut self, name: impl Into<String>) -> Self {
        self.queue = Some(Queue::new(name));
        self
    }

    /// More urgent (or less) than the operation usually is.
    pub fn priority(mut self, priority: i16) -> Self {
        self.priority = Some(Priority(priority));
        self
    }

    /// Asked for at this place of a trace, which workers go on with, and hand on to the destination. Unless said otherwise it
    /// is that of the current span, where the feature `otel` is on and its layer installed.
    pub fn trace_parent(mut self, place: TraceParent) -> Self {
        self.trace = Some(place);
        self
    }

    /// A new legitimate action under the same key, after the definite end of generation `after`. Who wants it, and why,
    /// is written to the audit trail.
    pub fn new_generation(
        mut self,
        after: Generation,
        by: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        self.renewal = Some((after, Renewal { by: by.into(), reason: reason.into() }));
        self
    }

    /// The request as a ledger takes it.
    ///
    /// # Errors
    /// If the key, the input or the name of the queue was refused.
    pub fn into_submission(self, namespace: &Namespace) -> Result<Submission, EnqueueError> {
        let Prepared { key, input, compared } = self.prepared.map_err(|refused| match refused {
            Refused::Key(error) => EnqueueError::Key(error),
            Refused::Input(error) => EnqueueError::Input(error),
        })?;
        let spec = (O::SPEC)();
        let queue = self.queue.unwrap_or_else(|| Ok(spec.queue.clone())).map_err(EnqueueError::Queue)?;
        let (generation, renewal) = match self.renewal {
            Some((after, renewal)) => (after, Some(renewal)),
            None => (Generation::FIRST, None),
        };
        let id = RecordId {
            namespace: self.namespace.unwrap_or_else(|| namespace.clone()),
            operation: spec.name.clone(),
            key,
            generation,
        };
        // The marks of the identity count towards the limit of the key.
        if id.key.as_str().len() + id.namespace.as_str().len() > SURELY_SHORT {
            id.as_text(None)?;
            id.next_generation().as_text(None)?;
        }
        Ok(Submission {
            id,
            version: spec.version.clone(),
            input,
            compared,
            policy: spec.policy.clone(),
            contract: spec.contract.terms(),
            not_before: self.not_before,
            queue,
            priority: self.priority.unwrap_or(spec.priority),
            group: None,
            after: None,
            renewal,
            trace: self.trace.or_else(trace::current),
        })
    }
}

fn prepare<O: Operation>(input: &O::Input) -> Result<Prepared, Refused> {
    let key = key_of::<O>(input).map_err(Refused::Key)?;
    O::Codec::encode(input).and_then(|value| with_input(key, &value, O::Codec::MARKS)).map_err(Refused::Input)
}

/// Not generic, since it is compiled for every operation otherwise.
fn with_input(key: Key, value: &Value, marks: &[Mark]) -> Result<Prepared, PayloadError> {
    let input = Payload::from_value(value, Payload::LARGEST_INPUT)?;
    let rest = without_volatile(value, marks);
    let rest = rest.map(|rest| Payload::from_value(&rest, Payload::LARGEST_INPUT)).transpose()?;
    Ok(Prepared { key, input, compared: rest.map(|rest| rest.fingerprint()) })
}

/// Why nothing was enqueued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnqueueError {
    /// A value cannot be part of a key, or the key is too long.
    #[error("nothing was enqueued: {0}")]
    Key(#[from] KeyError),
    /// The input cannot be stored.
    #[error("nothing was enqueued: {0}")]
    Input(#[source] PayloadError),
    /// This cannot be the name of a queue.
    #[error("nothing was enqueued: {0}")]
    Queue(#[source] NameError),
    /// The ledger could not record it.
    #[error("not known to be enqueued; enqueue it again, which is safe: {0}")]
    Ledger(#[from] LedgerError),
    /// It is on record and has succeeded, and its stored result does not fit the type.
    #[error("the operation has succeeded, but its stored result cannot be read: {0}")]
    Result(#[source] PayloadError),
}

/// What a producer is told about its request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a conflict, or an action that has failed, is told here and nowhere else"]
pub enum Enqueued<T> {
    /// It is on record now and will be executed.
    New {
        /// Its identity.
        id: RecordId,
    },
    /// The same action is on record already: under way, or succeeded.
    Existing {
        /// Its identity.
        id: RecordId,
        /// `Pending`, `Running` or `Succeeded`.
        state: State,
        /// What it left, if it succeeded and the result was kept.
        result: Option<T>,
        /// The version that it was enqueued for.
        version: Version,
    },
    /// The same action is on record and ended otherwise than by success. It will not run again by itself.
    Ended {
        /// Its identity.
        id: RecordId,
        /// How it ended.
        state: State,
        /// The version that it was enqueued for.
        version: Version,
    },
    /// The key is taken by another input.
    Conflict(Conflict),
    /// The same action ended so long ago that only a tombstone is left.
    Expired {
        /// When it ended.
        ended_on: Timestamp,
        /// How it ended.
        state: State,
    },
}

impl<T> Enqueued<T> {
    /// Whether the action is on record and under way or done; everything else as an error.
    ///
    /// # Errors
    /// [`NotAccepted`] for a conflict and for an action that ended without success.
    pub fn accepted(self) -> Result<(RecordId, Option<T>), NotAccepted> {
        match self {
            Self::New { id } => Ok((id, None)),
            Self::Existing { id, result, .. } => Ok((id, result)),
            Self::Ended { state, .. } => Err(NotAccepted::Ended(state)),
            Self::Conflict(conflict) => Err(NotAccepted::Conflict(conflict)),
            Self::Expired { ended_on, state } => Err(NotAccepted::Expired { ended_on, state }),
        }
    }
}

/// Why an action is neither under way nor done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAccepted {
    /// The key is taken.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// It ended without success.
    #[error(
        "this action is {0} already and will not run again by itself: replay it, or ask for a new generation"
    )]
    Ended(State),
    /// It ended long ago.
    #[error("this action ended on {ended_on} ({state}) and its record is purged")]
    Expired {
        /// When.
        ended_on: Timestamp,
        /// How.
        state: State,
    },
}

impl<T: serde::de::DeserializeOwned> Enqueued<T> {
    /// Reads the answer of a ledger.
    ///
    /// # Errors
    /// If the stored result does not fit the type.
    pub fn from_answer(answer: Submitted) -> Result<Self, EnqueueError> {
        Ok(match answer {
            Submitted::New { id } => Self::New { id },
            Submitted::Conflict(conflict) => Self::Conflict(conflict),
            Submitted::Expired { ended_on, state } => Self::Expired { ended_on, state },
            Submitted::Existing { id, state, version, .. }
                if state.is_settled() && state != State::Succeeded =>
            {
                Self::Ended { id, state, version }
            }
            Submitted::Existing { id, state, result, version } => {
                let result =
                    result.map(|result| result.decode()).transpose().map_err(EnqueueError::Result)?;
                Self::Existing { id, state, result, version }
            }
        })
    }
}

/// Reads a ledger's answer to the submission of this identity, and tells logs and metrics.
///
/// # Errors
/// If the stored result does not fit the type.
pub fn answered<O: Operation>(
    id: &RecordId,
    answer: Submitted,
) -> Result<Enqueued<OutputOf<O>>, EnqueueError> {
    telemetry::submitted(id, &answer);
    Enqueued::from_answer(answer)
}
