//! What a destination documents about repeated requests.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// What one endpoint of a destination promises about a request that arrives twice.
///
/// A contract is data, so it can stand in a constant next to the operation that uses it:
///
/// ```
/// use std::time::Duration;
/// use ratchet_core::Contract;
///
/// const PAYMENTS: Contract = Contract::header("Idempotency-Key").remembers_for(Duration::from_hours(24));
/// assert!(PAYMENTS.deduplicates());
/// assert!(!Contract::NONE.deduplicates());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Contract {
    mechanism: Mechanism,
    retention: Retention,
}

/// Where a destination looks for the identity of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mechanism {
    /// Nowhere: every request is a new action.
    None,
    /// In an HTTP header of this name.
    Header(Cow<'static, str>),
    /// In a table beside the effect, in one transaction with it: the effect is in a database of the operation's own.
    Database,
    /// Every effect of the handler stands inside a named step, and each step has a contract of its own.
    Steps,
}

/// How long a destination remembers an identity, counted from its first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retention {
    /// For at least this long.
    For(Duration),
    /// For as long as the destination exists.
    Forever,
}

impl Contract {
    /// No deduplication: what is assumed of a destination that nobody declared.
    pub const NONE: Self = Self { mechanism: Mechanism::None, retention: Retention::Forever };

    /// The handler has no effect outside its named steps.
    pub const STEPS: Self = Self { mechanism: Mechanism::Steps, retention: Retention::Forever };

    /// The effect is in a database of the operation's own, guarded by `once`, which keeps what it did beside it.
    ///
    /// It is remembered for as long as its row is there: a program that removes old rows says so with
    /// [`remembers_for`](Self::remembers_for).
    pub const DATABASE: Self = Self { mechanism: Mechanism::Database, retention: Retention::Forever };

    /// The destination recognises a repeated request by the HTTP header `name`, for 24 hours unless
    /// [`remembers_for`](Self::remembers_for) or [`remembers_forever`](Self::remembers_forever) says otherwise.
    ///
    /// # Panics
    /// If `name` is not the name of a header; in a constant, the compiler says so.
    #[must_use]
    pub const fn header(name: &'static str) -> Self {
        assert!(
            is_header_name(name),
            "this is no name of an HTTP header; it is made of letters, digits and `-`, such as `Idempotency-Key`"
        );
        Self {
            mechanism: Mechanism::Header(Cow::Borrowed(name)),
            retention: Retention::For(Duration::from_hours(24)),
        }
    }

    /// How long the destination promises to remember an identity.
    #[must_use]
    pub const fn remembers_for(mut self, span: Duration) -> Self {
        self.retention = Retention::For(span);
        self
    }

    /// The destination never forgets an identity.
    #[must_use]
    pub const fn remembers_forever(mut self) -> Self {
        self.retention = Retention::Forever;
        self
    }

    /// Where the destination looks for the identity.
    #[must_use]
    pub const fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// How long the destination remembers; without a meaning where it does not deduplicate.
    #[must_use]
    pub const fn retention(&self) -> Retention {
        self.retention
    }

    /// Whether the destination refuses a second effect under one identity.
    #[must_use]
    pub const fn deduplicates(&self) -> bool {
        matches!(self.mechanism, Mechanism::Header(_) | Mechanism::Database)
    }

    /// For how long after the first request a repeated one is safe; `None` where it always is, or never.
    pub(crate) const fn window(&self) -> Option<Duration> {
        match (self.deduplicates(), self.retention) {
            (true, Retention::For(span)) => Some(safe(span)),
            _ => None,
        }
    }

    /// The end of the time in which a repeated request is safe, for a first request at `first_sent`.
    ///
    /// `None` where the destination does not deduplicate. A tenth of the retention, at most one hour, is kept as a
    /// margin: the clocks differ, and a request can be under way for a while.
    #[must_use]
    pub fn window_end(&self, first_sent: Timestamp) -> Option<Timestamp> {
        if !self.deduplicates() {
            return None;
        }
        Some(match self.retention {
            Retention::Forever => Timestamp::from_millis(i64::MAX),
            Retention::For(span) => first_sent.after(safe(span)),
        })
    }
}

/// Whether the text is a token of RFC 9110.
const fn is_header_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let sound = bytes[at].is_ascii_alphanumeric()
            || matches!(
                bytes[at],
                b'!' | b'#'
                    | b'$'
                    | b'%'
                    | b'&'
                    | b'\''
                    | b'*'
                    | b'+'
                    | b'-'
                    | b'.'
                    | b'^'
                    | b'_'
                    | b'`'
                    | b'|'
                    | b'~'
            );
        if !sound {
            return false;
        }
        at += 1;
    }
    !bytes.is_empty()
}

/// For how long a repeated request is safe: a tenth of the retention, at most one hour, is kept as a margin.
const fn safe(retention: Duration) -> Duration {
    let tenth = match retention.checked_div(10) {
        Some(tenth) => tenth,
        None => Duration::ZERO,
    };
    let hour = Duration::from_hours(1);
    retention.saturating_sub(if tenth.as_nanos() < hour.as_nanos() { tenth } else { hour })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    #[test]
    fn the_window_ends_a_margin_before_the_destination_forgets() {
        let sent = Timestamp::from_millis(0);
        let day = Contract::header("Idempotency-Key").remembers_for(24 * HOUR);
        assert_eq!(day.window_end(sent), Some(sent.after(23 * HOUR)));
        let hour = Contract::header("Idempotency-Key").remembers_for(HOUR);
        assert_eq!(hour.window_end(sent), Some(sent.after(Duration::from_mins(54))));
    }

    #[test]
    fn a_header_has_a_name() {
        assert!(is_header_name("Idempotency-Key") && is_header_name("x_request.id"));
        for refused in ["", "bad header", "bad\n", "key:", "schlüssel"] {
            assert!(!is_header_name(refused), "{refused:?}");
        }
    }

    #[test]
    fn no_window_without_deduplication() {
        assert_eq!(Contract::NONE.window_end(Timestamp::EPOCH), None);
        assert_eq!(Contract::STEPS.window_end(Timestamp::EPOCH), None);
    }
}
