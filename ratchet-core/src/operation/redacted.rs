//! Inputs as people may see them.

use std::fmt;

use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::Value;

use super::Input;
use super::marks::redact;

/// An input without what is personal; see [`Input::redacted`].
///
/// ```
/// use ratchet_core::operation::Mark;
/// use ratchet_core::Input;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Receipt { order_id: u64, email: String }
///
/// // As #[derive(ratchet::Input)] does it for a field with #[pii].
/// impl Input for Receipt {
///     const MARKS: &'static [Mark] = &[Mark::field("email").personal()];
/// }
///
/// let receipt = Receipt { order_id: 7, email: "ada@example.com".to_owned() };
/// assert_eq!(receipt.redacted().to_string(), r#"{"email":"[redacted]","order_id":7}"#);
/// ```
pub struct Redacted<'a, I: ?Sized>(&'a I);

impl<'a, I: Input> Redacted<'a, I> {
    pub(super) const fn new(input: &'a I) -> Self {
        Self(input)
    }

    fn value(&self) -> Result<Value, serde_json::Error> {
        let mut value = serde_json::to_value(self.0)?;
        redact(&mut value, I::MARKS);
        Ok(value)
    }
}

impl<I: Input> fmt::Display for Redacted<'_, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the error: it is the type's own, and may hold what is to be hidden.
        self.value().map_err(|_| fmt::Error)?.fmt(f)
    }
}

impl<I: Input> fmt::Debug for Redacted<'_, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<I: Input> Serialize for Redacted<'_, I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value()
            .map_err(|_| S::Error::custom("the input cannot be written as JSON"))?
            .serialize(serializer)
    }
}
