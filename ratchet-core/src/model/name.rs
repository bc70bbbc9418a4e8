//! Names that travel in keys, claims and logs: short, printable, checked once.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A name that was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} is refused: it must have 1 to {longest} characters of {alphabet}")]
pub struct NameError {
    what: &'static str,
    longest: usize,
    alphabet: &'static str,
}

/// A text that costs nothing to clone: one of the program's own, or one that all its clones share.
#[derive(Clone)]
enum Text {
    Static(&'static str),
    Shared(Arc<str>),
}

impl Text {
    fn as_str(&self) -> &str {
        match self {
            Self::Static(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $longest:literal, $accepts:ident, $alphabet:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Text);

        impl $name {
            #[doc = concat!("Checks ", $what, ".\n\n# Errors\nIf it is empty, longer than ", $longest, " bytes or has other characters than ", $alphabet, ".")]
            pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
                Self::checked(&text.into())
            }

            fn checked(text: &str) -> Result<Self, NameError> {
                if accepts(text.as_bytes(), $longest, $accepts) {
                    Ok(Self(Text::Shared(text.into())))
                } else {
                    Err(NameError { what: $what, longest: $longest, alphabet: $alphabet })
                }
            }

            #[doc = concat!("Checks ", $what, " in a constant.\n\n# Panics\nWhere [`new`](Self::new) would fail; in a constant this is a compile error.")]
            #[must_use]
            pub const fn from_static(text: &'static str) -> Self {
                assert!(accepts(text.as_bytes(), $longest, $accepts), concat!($what, " has 1 to ", $longest, " characters of ", $alphabet));
                Self(Text::Static(text))
            }

            /// Takes what the macro has checked, so that the compiler need not do it once more for each operation.
            #[allow(dead_code, reason = "generated code has three of these names")]
            pub(crate) const fn from_macro(text: &'static str) -> Self {
                Self(Text::Static(text))
            }

            /// The name as text, if it stands in the program; for constants.
            #[allow(dead_code, reason = "one of these names is looked at while compiling")]
            pub(crate) const fn literal(&self) -> &str {
                match &self.0 {
                    Text::Static(text) => text,
                    Text::Shared(_) => "",
                }
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Checked;

                impl Visitor<'_> for Checked {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($what)
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        $name::checked(text).map_err(E::custom)
                    }
                }
                from.deserialize_str(Checked)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.as_str().to_owned()
            }
        }

        impl TryFrom<&str> for $name {
            type Error = NameError;

            fn try_from(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                Self::new(text)
            }
        }
    };
}

name!(
    /// A separate world of records in one store: a tenant, an environment.
    Namespace, "a namespace", 64, LOWER, "a-z, 0-9, `_`, `.` and `-`"
);
name!(
    /// The name of an operation.
    OperationName, "an operation's name", 128, LOWER, "a-z, 0-9, `_`, `.` and `-`"
);
name!(
    /// The version of an operation's code.
    Version, "a version", 32, MIXED, "letters, digits, `_`, `.`, `+` and `-`"
);
name!(
    /// Where records wait: a worker takes them from the queues that it serves. No part of their identity.
    Queue, "a queue's name", 64, LOWER, "a-z, 0-9, `_`, `.` and `-`"
);
name!(
    /// The name of a step inside a handler.
    StepName, "a step's name", 64, LOWER, "a-z, 0-9, `_`, `.` and `-`"
);
name!(
    /// The name under which the workers of a store share the limits of a destination.
    DestinationName, "a destination's name", 64, LOWER, "a-z, 0-9, `_`, `.` and `-`"
);
name!(
    /// Which worker holds a lease; for people who read the record, never part of a decision.
    WorkerId, "a worker's name", 64, MIXED, "letters, digits, `_`, `.`, `+` and `-`"
);

name!(
    /// Which secret a wire key was made with; never the secret itself.
    SecretId, "the name of a secret", 32, LOWER, "a-z, 0-9, `_`, `.` and `-`"
);

name!(
    /// Which records belong together: a run of a workflow, a batch. No part of their identity.
    GroupId, "a group's name", 64, MIXED, "letters, digits, `_`, `.`, `+` and `-`"
);

name!(
    /// What a document is, in the words of the surface that keeps it.
    DocumentKind, "a document's kind", 64, LOWER, "a-z, 0-9, `_`, `.` and `-`"
);

/// Which document of its kind: 1 to 255 bytes of any text without control characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DocumentName(String);

impl DocumentName {
    const LONGEST: usize = 255;

    /// Checks the name of a document.
    ///
    /// # Errors
    /// If it is empty, longer than 255 bytes or has a control character.
    pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
        let text = text.into();
        if text.is_empty() || text.len() > Self::LONGEST || text.contains(char::is_control) {
            let (what, alphabet) = ("a document's name", "any text without control characters");
            return Err(NameError { what, longest: Self::LONGEST, alphabet });
        }
        Ok(Self(text))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<DocumentName> for String {
    fn from(name: DocumentName) -> Self {
        name.0
    }
}

impl TryFrom<String> for DocumentName {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        Self::new(text)
    }
}

impl Namespace {
    /// The namespace of everything that names no other.
    pub const DEFAULT: Self = Self::from_static("default");
}

impl Default for Namespace {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Queue {
    /// The queue of everything that names no other.
    pub const DEFAULT: Self = Self::from_static("default");
}

impl Default for Queue {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Which bytes a name may have, beside `a-z`, `0-9`, `_`, `.` and `-`.
const LOWER: &[u8] = b"";
const MIXED: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ+";

const fn accepts(text: &[u8], longest: usize, beside: &[u8]) -> bool {
    if text.is_empty() || text.len() > longest {
        return false;
    }
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        let common = matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-');
        if !common && !contains(beside, byte) {
            return false;
        }
        at += 1;
    }
    true
}

const fn contains(set: &[u8], byte: u8) -> bool {
    let mut at = 0;
    while at < set.len() {
        if set[at] == byte {
            return true;
        }
        at += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_could_be_mistaken_for_a_mark_or_a_separator() {
        for text in ["", "a b", "a:b", "a/b", "a#2", "a!b", "a@b", "Ä", "A", &"x".repeat(129)] {
            assert!(OperationName::new(text).is_err(), "{text}");
        }
        assert_eq!(OperationName::new("collect_invoice.v2-eu").unwrap().as_str(), "collect_invoice.v2-eu");
        assert_eq!(Version::new("1.0.0+Build").unwrap().as_str(), "1.0.0+Build");
    }

    #[test]
    fn the_error_says_what_is_accepted_and_not_what_was_given() {
        let text = OperationName::new("Secret Name").unwrap_err().to_string();
        assert_eq!(
            text,
            "an operation's name is refused: it must have 1 to 128 characters of a-z, 0-9, `_`, `.` and `-`"
        );
    }
}
