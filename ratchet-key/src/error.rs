//! Why a key could not be rendered or read. No message ever contains the value.

use std::error::Error;
use std::fmt;

use crate::limits::{MAX_KEY_BYTES, MAX_STEP_BYTES};

/// Why a key could not be made.
///
/// The messages say what is wrong, why, and what to do. They never contain the value, since keys are made of
/// business data and errors end up in logs.
///
/// ```
/// use ratchet_key::{KeyError, KeyWriter, PartError};
///
/// let mut key = KeyWriter::new();
/// assert_eq!(key.part().text(""), Err(KeyError::Part { position: 0, reason: PartError::Empty }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// A value cannot stand in a key.
    Part {
        /// Which placeholder of the template, counted from 0.
        position: usize,
        /// What is wrong with its value.
        reason: PartError,
    },
    /// The rendered key is longer than the limit.
    TooLong {
        /// The length of the rendered key, marks included.
        bytes: usize,
        /// The limit, [`MAX_KEY_BYTES`].
        limit: usize,
    },
    /// A step name is not one to 64 characters of `[a-z0-9_.-]`.
    BadStep,
    /// A generation of 0: they are counted from 1.
    BadGeneration,
    /// The key already carries marks; they are put on once, on the bare key.
    AlreadyMarked,
    /// The text of a stored key could not have been rendered.
    Malformed,
}

/// Why a value cannot stand in a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PartError {
    /// The value is the empty text, or none was written.
    Empty,
    /// The value contains a control character.
    ControlCharacter,
    /// The value begins or ends with white space.
    SurroundingWhiteSpace,
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => {
                "is empty, so all records without it would share one key; \
                 give it a value before you enqueue"
            }
            Self::ControlCharacter => {
                "contains a control character, which is an accident in an identity; \
                 clean the value where it enters your system"
            }
            Self::SurroundingWhiteSpace => {
                "begins or ends with white space, so that the same thing could get two keys; \
                 trim the value where it enters your system"
            }
        })
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Part { position, reason } => write!(f, "the value of key part {} {reason}", position + 1),
            Self::TooLong { bytes, limit } => write!(
                f,
                "the key has {bytes} bytes and {limit} are allowed, since destinations refuse or cut longer \
                 keys; use an id in place of a long text"
            ),
            Self::BadStep => write!(
                f,
                "the step name is not one to {MAX_STEP_BYTES} characters of [a-z0-9_.-], so it could not be \
                 told apart from the rest of the key; rename the step"
            ),
            Self::BadGeneration => {
                f.write_str("the generation is 0, but generations are counted from 1; pass 1 for the first")
            }
            Self::AlreadyMarked => f.write_str(
                "the key already carries a generation or a step, and a second mark would make it ambiguous; \
                 put both marks on the bare key in one call",
            ),
            Self::Malformed => write!(
                f,
                "this text could not have been rendered from a template, so it is the key of no record; \
                 pass a key exactly as it was shown, at most {MAX_KEY_BYTES} bytes, without marks"
            ),
        }
    }
}

impl Error for KeyError {}
impl Error for PartError {}
