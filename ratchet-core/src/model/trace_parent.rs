//! Where in which trace a record was asked for.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A place in a trace, as the header `traceparent` of the W3C Trace Context names it. For people who look for what happened;
/// never part of an identity or a fingerprint.
///
/// ```
/// use ratchet_core::TraceParent;
///
/// let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let place: TraceParent = text.parse()?;
/// assert_eq!(place.to_string(), text);
/// assert_eq!(format!("{:032x}", place.trace()), "4bf92f3577b34da6a3ce929d0e0e4736");
/// # Ok::<(), ratchet_core::TraceParentError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceParent {
    trace: u128,
    span: u64,
    flags: u8,
}

/// This is no `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "no `traceparent`: it is written `00-TRACE-SPAN-FLAGS`, in hexadecimal and not all zeros (W3C Trace Context)"
)]
pub struct TraceParentError;

/// The length of the only version that there is, which later ones begin with.
const LENGTH: usize = 55;

impl TraceParent {
    /// The place of these numbers; `None` if trace or span is zero, which name none.
    #[must_use]
    pub const fn new(trace: u128, span: u64, flags: u8) -> Option<Self> {
        if trace == 0 || span == 0 { None } else { Some(Self { trace, span, flags }) }
    }

    /// The trace.
    #[must_use]
    pub const fn trace(self) -> u128 {
        self.trace
    }

    /// The span in it.
    #[must_use]
    pub const fn span(self) -> u64 {
        self.span
    }

    /// The flags; the lowest says whether the trace is recorded.
    #[must_use]
    pub const fn flags(self) -> u8 {
        self.flags
    }
}

impl FromStr for TraceParent {
    type Err = TraceParentError;

    fn from_str(text: &str) -> Result<Self, TraceParentError> {
        let (known, further) = text.split_at_checked(LENGTH).ok_or(TraceParentError)?;
        let parts: Vec<&str> = known.split('-').collect();
        let &[version, trace, span, flags] = parts.as_slice() else { return Err(TraceParentError) };
        // What later versions add stands behind a further hyphen.
        let further_fits = further.is_empty() || (version != "00" && further.starts_with('-'));
        if version == "ff" || !further_fits {
            return Err(TraceParentError);
        }
        number(version, 2)?;
        let (trace, span, flags) = (number(trace, 32)?, number(span, 16)?, number(flags, 2)?);
        let narrow = u64::try_from(span).ok().zip(u8::try_from(flags).ok());
        narrow.and_then(|(span, flags)| Self::new(trace, span, flags)).ok_or(TraceParentError)
    }
}

fn number(text: &str, digits: usize) -> Result<u128, TraceParentError> {
    let lower = text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !lower {
        return Err(TraceParentError);
    }
    u128::from_str_radix(text, 16).map_err(|_| TraceParentError)
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, self.flags)
    }
}

impl Serialize for TraceParent {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TraceParent {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_w3c_writes_it() {
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let expected = TraceParent::new(0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736, 0x00f0_67aa_0ba9_02b7, 1);
        assert_eq!(format!("00-{trace}-{span}-01").parse().ok(), expected);
        // A later version is read as far as this one goes.
        assert_eq!(format!("cc-{trace}-{span}-01-more").parse().ok(), expected);
    }

    #[test]
    fn what_names_no_place_is_refused() {
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        for wrong in [
            String::new(),
            "00".to_owned(),
            format!("ff-{trace}-{span}-01"),
            format!("00-{}-{span}-01", "0".repeat(32)),
            format!("00-{trace}-{}-01", "0".repeat(16)),
            format!("00-{}-{span}-01", trace.to_uppercase()),
            format!("00-{trace}-{span}-01-more"),
            format!("cc-{trace}-{span}-01more"),
            format!("00-{trace}-+0f067aa0ba902b7-01"),
            format!("00-{trace}-{span}-0é"),
        ] {
            assert_eq!(wrong.parse::<TraceParent>(), Err(TraceParentError), "{wrong}");
        }
    }
}
