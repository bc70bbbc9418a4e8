//! The writer that renders one key, and the writer of one part of it.

use std::fmt;

use crate::encode::{check, encoded_len, is_unreserved, push_encoded};
use crate::error::{KeyError, PartError};
use crate::key::Key;
use crate::limits::MAX_KEY_BYTES;

/// Enough for most keys, so that rendering allocates once.
const USUAL_CAPACITY: usize = 64;
/// The digits of `u128::MAX`.
const MAX_DIGITS: usize = 39;

/// Renders one key: literals and parts in the order of the template.
///
/// Remembers the first failure and gives it back from [`finish`](Self::finish), even if the caller dropped it,
/// and holds at most [`MAX_KEY_BYTES`] bytes, however long the values are.
///
/// ```
/// use ratchet_key::KeyWriter;
///
/// let mut key = KeyWriter::new();
/// key.literal("seat:");
/// key.part().text("Saal 3/B")?;
/// key.literal(":");
/// key.part().unsigned(17)?;
/// assert_eq!(key.finish()?.as_str(), "seat:Saal%203%2FB:17");
/// # Ok::<(), ratchet_key::KeyError>(())
/// ```
#[derive(Clone)]
pub struct KeyWriter {
    text: String,
    /// The full length, also of what did not fit.
    bytes: usize,
    parts: usize,
    /// A part was begun and nothing written to it yet.
    open: bool,
    failure: Option<KeyError>,
}

impl KeyWriter {
    /// An empty writer with room for a usual key.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(USUAL_CAPACITY)
    }

    /// An empty writer with room for `bytes`, at most [`MAX_KEY_BYTES`].
    #[must_use]
    #[inline]
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            text: String::with_capacity(bytes.min(MAX_KEY_BYTES)),
            bytes: 0,
            parts: 0,
            open: false,
            failure: None,
        }
    }

    /// Appends literal text of a template, as it is.
    ///
    /// Not checked again: the text comes from a [`Template`](crate::Template) that parsed, at compile time.
    #[inline]
    pub fn literal(&mut self, text: &'static str) {
        self.push(text);
    }

    /// Begins the next part, to which exactly one value is written.
    #[inline]
    pub fn part(&mut self) -> PartWriter<'_> {
        self.close_part();
        self.open = true;
        self.parts += 1;
        PartWriter { key: self }
    }

    /// The rendered key.
    ///
    /// # Errors
    ///
    /// The first failure of a part (a part to which nothing was written counts as empty), or
    /// [`KeyError::TooLong`].
    #[inline]
    pub fn finish(mut self) -> Result<Key, KeyError> {
        self.close_part();
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        if self.bytes > MAX_KEY_BYTES {
            return Err(KeyError::TooLong { bytes: self.bytes, limit: MAX_KEY_BYTES });
        }
        Key::rendered(self.text)
    }

    /// Appends what fits and counts all of it.
    #[inline]
    fn push(&mut self, text: &str) {
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes <= MAX_KEY_BYTES {
            self.text.push_str(text);
        }
    }

    #[inline]
    fn close_part(&mut self) {
        if self.open {
            // A part without a value would make two different lists of values render alike.
            let _ = self.refuse(PartError::Empty);
        }
    }

    fn refuse(&mut self, reason: PartError) -> Result<(), KeyError> {
        self.open = false;
        let failure = KeyError::Part { position: self.parts.saturating_sub(1), reason };
        self.failure.get_or_insert_with(|| failure.clone());
        Err(failure)
    }
}

/// Shows how far the key is, and none of the values.
impl fmt::Debug for KeyWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyWriter")
            .field("bytes", &self.bytes)
            .field("parts", &self.parts)
            .finish_non_exhaustive()
    }
}

impl Default for KeyWriter {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes the value of one placeholder; made by [`KeyWriter::part`].
///
/// Every method takes the writer by value, so one part holds exactly one value.
#[must_use = "a part to which nothing is written makes the key fail"]
pub struct PartWriter<'a> {
    key: &'a mut KeyWriter,
}

impl PartWriter<'_> {
    /// Writes a text, percent-encoded.
    ///
    /// # Errors
    ///
    /// [`KeyError::Part`] for an empty text, control characters and surrounding white space.
    #[inline]
    pub fn text(self, value: &str) -> Result<(), KeyError> {
        // Most values are ids that stand for themselves, and such a text has nothing that must be refused.
        if !value.is_empty() && value.bytes().all(is_unreserved) {
            self.plain(value);
            return Ok(());
        }
        if let Err(reason) = check(value) {
            return self.key.refuse(reason);
        }
        self.key.open = false;
        self.key.bytes = self.key.bytes.saturating_add(encoded_len(value));
        if self.key.bytes <= MAX_KEY_BYTES {
            push_encoded(&mut self.key.text, value);
        }
        Ok(())
    }

    /// Writes a signed integer in decimal, without leading zeros; negative ones with `-`.
    ///
    /// # Errors
    ///
    /// None today; the type is that of [`text`](Self::text), so that all implementations read alike.
    #[inline]
    pub fn integer(self, value: i128) -> Result<(), KeyError> {
        if value < 0 {
            self.key.push("-");
        }
        self.unsigned(value.unsigned_abs())
    }

    /// Writes an unsigned integer in decimal, without leading zeros.
    ///
    /// # Errors
    ///
    /// None today, as for [`integer`](Self::integer).
    #[inline]
    pub fn unsigned(self, value: u128) -> Result<(), KeyError> {
        let mut buffer = [0; MAX_DIGITS];
        self.plain(decimal(value, &mut buffer));
        Ok(())
    }

    /// Writes `true` or `false`.
    ///
    /// # Errors
    ///
    /// None today, as for [`integer`](Self::integer).
    #[inline]
    pub fn boolean(self, value: bool) -> Result<(), KeyError> {
        self.plain(if value { "true" } else { "false" });
        Ok(())
    }

    /// Writes text that stands for itself.
    #[inline]
    fn plain(self, text: &str) {
        self.key.open = false;
        self.key.push(text);
    }
}

/// The decimal digits of a number, in the end of the buffer.
fn decimal(value: u128, buffer: &mut [u8; MAX_DIGITS]) -> &str {
    let mut used = 0;
    let mut rest = value;
    for slot in buffer.iter_mut().rev() {
        // Division by a constant is quick on 64 bits and slow on 128.
        let (quotient, digit) = if let Ok(small) = u64::try_from(rest) {
            (u128::from(small / 10), small % 10)
        } else {
            (rest / 10, u64::try_from(rest % 10).unwrap_or_default())
        };
        *slot = b'0' + u8::try_from(digit).unwrap_or_default();
        used += 1;
        rest = quotient;
        if rest == 0 {
            break;
        }
    }
    buffer.get(MAX_DIGITS - used..).and_then(|digits| std::str::from_utf8(digits).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_value_is_counted_and_not_kept() {
        for value in ["a".repeat(1_000_000), "é".repeat(1_000_000)] {
            let mut key = KeyWriter::new();
            key.part().text(&value).unwrap();
            assert!(key.bytes >= 1_000_000);
            assert!(key.text.capacity() <= MAX_KEY_BYTES);
        }
    }
}
