//! A rendered key and the marks of a generation and a step.

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::encode::{SEPARATORS, check, decode, is_unreserved};
use crate::error::KeyError;
use crate::limits::{MAX_KEY_BYTES, MAX_STEP_BYTES};

/// Stands before the generation. Outside the alphabets of literals and of values.
const GENERATION_MARK: char = '#';
/// Stands before the step. Outside the alphabets of literals and of values.
const STEP_MARK: char = '!';

/// A rendered key: the identity of one intended action, the same for every attempt.
///
/// At most [`MAX_KEY_BYTES`] bytes, ASCII only, and shared by all its clones. `Display` gives the key; `Debug` shows only its length, since
/// a key is made of business data and debug output ends up in logs.
///
/// ```
/// use ratchet_key::Key;
///
/// let key = Key::parse("invoice:inv_2048:collect:v1")?;
/// assert_eq!(key.to_string(), "invoice:inv_2048:collect:v1");
/// assert_eq!(format!("{key:?}"), "Key(27 bytes)");
/// # Ok::<(), ratchet_key::KeyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

impl Key {
    /// Wraps what the writer rendered; the only unchecked way in.
    pub(crate) fn rendered(text: String) -> Result<Self, KeyError> {
        within_limit(text.len())?;
        Ok(Self(text.into()))
    }

    /// Reads a bare key back from where it was stored or typed.
    ///
    /// Accepts only what rendering could have made: non-empty segments between `:` and `/`, made of
    /// `[A-Za-z0-9._~-]` and of `%XX` triples in the one spelling that the encoder writes. Marks are not
    /// accepted: a record keeps its generation and step beside the key.
    ///
    /// # Errors
    ///
    /// [`KeyError::Malformed`], or [`KeyError::TooLong`] for a text over [`MAX_KEY_BYTES`].
    ///
    /// ```
    /// use ratchet_key::{Key, KeyError};
    ///
    /// assert!(Key::parse("customer:Zo%C3%AB:welcome").is_ok());
    /// assert_eq!(Key::parse("customer:Zo%c3%ab:welcome"), Err(KeyError::Malformed));
    /// assert_eq!(Key::parse("invoice:inv_2048#2"), Err(KeyError::Malformed));
    /// ```
    pub fn parse(stored: &str) -> Result<Self, KeyError> {
        within_limit(stored.len())?;
        let rendered = |segment: &str| {
            let plain = !segment.is_empty() && segment.bytes().all(is_unreserved);
            plain || decode(segment).is_some_and(|value| check(&value).is_ok())
        };
        if stored.split(SEPARATORS).all(rendered) {
            Ok(Self(stored.into()))
        } else {
            Err(KeyError::Malformed)
        }
    }

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key of one generation and, if given, of one step: `key#2!charge`.
    ///
    /// The first generation has no mark, so the bare key is the identity of an operation's first and usually
    /// only generation. Different `(key, generation, step)` never give the same text.
    ///
    /// # Errors
    ///
    /// [`KeyError::BadGeneration`] for 0, [`KeyError::BadStep`] for a name that is not one to 64 characters
    /// of `[a-z0-9_.-]`, [`KeyError::AlreadyMarked`] if this key has marks, [`KeyError::TooLong`] if the marks
    /// do not fit.
    ///
    /// ```
    /// use ratchet_key::Key;
    ///
    /// let key = Key::parse("invoice:inv_2048:collect:v1")?;
    /// assert_eq!(key.with_marks(1, None)?, key);
    /// assert_eq!(key.with_marks(2, Some("charge"))?.as_str(), "invoice:inv_2048:collect:v1#2!charge");
    /// # Ok::<(), ratchet_key::KeyError>(())
    /// ```
    pub fn with_marks(&self, generation: u32, step: Option<&str>) -> Result<Self, KeyError> {
        if self.0.contains([GENERATION_MARK, STEP_MARK]) {
            return Err(KeyError::AlreadyMarked);
        }
        if generation == 0 {
            return Err(KeyError::BadGeneration);
        }
        if generation == 1 && step.is_none() {
            return Ok(self.clone());
        }
        let mut text = self.as_str().to_owned();
        if generation != 1 {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "{GENERATION_MARK}{generation}");
        }
        if let Some(step) = step {
            if !is_step_name(step) {
                return Err(KeyError::BadStep);
            }
            text.push(STEP_MARK);
            text.push_str(step);
        }
        Self::rendered(text)
    }
}

fn within_limit(bytes: usize) -> Result<(), KeyError> {
    if bytes > MAX_KEY_BYTES { Err(KeyError::TooLong { bytes, limit: MAX_KEY_BYTES }) } else { Ok(()) }
}

fn is_step_name(step: &str) -> bool {
    (1..=MAX_STEP_BYTES).contains(&step.len())
        && step.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-'))
}

impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({} bytes)", self.0.len())
    }
}
