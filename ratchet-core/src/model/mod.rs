//! What a ledger holds: identities, records, attempts and what is known about them.

mod after;
mod attempt;
mod body_fields;
mod cause;
mod effect;
mod finite;
mod hidden;
mod identity;
mod name;
mod outcome;
mod payload;
mod pin;
mod record;
mod submission;
mod trace_parent;
mod volatile;

pub use after::{After, Branch, Ending};
pub use attempt::{Attempt, AttemptEnd, AuditEntry};
pub use body_fields::BodyFields;
pub use cause::{Cause, CauseKind};
pub use effect::{Effect, Step, StepState};
#[cfg(test)]
pub(crate) use hidden::HIDDEN;
pub(crate) use hidden::hide;
pub use hidden::{HiddenPath, HiddenPaths};
pub use identity::{Generation, KeyDigest, RecordId};
pub use name::{
    DestinationName, DocumentKind, DocumentName, GroupId, NameError, Namespace, OperationName, Queue,
    SecretId, StepName, Version, WorkerId,
};
pub use outcome::{Outcome, OutcomeKind};
pub use payload::{Fingerprint, Payload, PayloadError};
pub use pin::{KeptRequest, Pin, Recipe, RequestFingerprint, Scope};
pub use record::{Lease, Priority, Record, State, Token, Tombstone, Uncertainty};
pub use submission::{Conflict, Renewal, Submission, Submitted};
pub use trace_parent::{TraceParent, TraceParentError};
pub(crate) use volatile::ObjectKind;
pub use volatile::VolatileFields;
