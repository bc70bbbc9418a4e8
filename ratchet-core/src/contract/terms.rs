//! What a record keeps of a contract.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// What a record keeps of a [`Contract`](super::Contract): all that the decision about a repeated request needs.
///
/// The other facts come from the code that sends, so that a record stays small and a corrected signal is of use to
/// records that are older than it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Terms {
    pub(super) mechanism: MechanismKind,
    pub(super) retention: Retention,
    /// Which contract of the catalogue it was, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<Cow<'static, str>>,
}

/// What kind of [`Mechanism`](super::Mechanism) a destination has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MechanismKind {
    /// None: every request is a new action.
    None,
    /// An HTTP header.
    Header,
    /// A field of the body.
    BodyField,
    /// A parameter in the query of the URL.
    QueryParameter,
    /// A table beside the effect.
    Database,
    /// Every named step has its own.
    Steps,
}

/// How long a destination remembers an identity, counted from its first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retention {
    /// For at least this long. A record keeps whole milliseconds.
    #[serde(with = "millis")]
    For(Duration),
    /// For as long as the destination exists.
    Forever,
    /// It recognises a repeated request for some time, and does not say how long: too little to send without asking.
    Unstated,
}

impl Terms {
    /// What kind of mechanism the destination has.
    #[must_use]
    pub const fn mechanism(&self) -> MechanismKind {
        self.mechanism
    }

    /// How long the destination remembers; without a meaning where it does not deduplicate.
    #[must_use]
    pub const fn retention(&self) -> Retention {
        self.retention
    }

    /// The name of the contract in the catalogue, if it is one of those.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Whether the destination is sure to refuse a second effect under one identity, for a time that is known.
    #[must_use]
    pub const fn deduplicates(&self) -> bool {
        recognises(self.mechanism, self.retention)
    }

    /// The end of the time in which a repeated request is safe, for a first request at `first_sent`.
    ///
    /// `None` where the destination does not deduplicate. A tenth of the retention, at most one hour, is kept as a
    /// margin: the clocks differ, and a request can be under way for a while.
    #[must_use]
    pub fn window_end(&self, first_sent: Timestamp) -> Option<Timestamp> {
        match self.retention {
            _ if !self.deduplicates() => None,
            Retention::For(span) => Some(first_sent.after(safe(span))),
            Retention::Forever | Retention::Unstated => Some(Timestamp::from_millis(i64::MAX)),
        }
    }
}

/// Whether a destination is sure to recognise a repeated request, for a time that is known.
pub(super) const fn recognises(mechanism: MechanismKind, retention: Retention) -> bool {
    let ever = !matches!(mechanism, MechanismKind::None | MechanismKind::Steps);
    ever && !matches!(retention, Retention::Unstated)
}

/// For how long a repeated request is safe: a tenth of the retention, at most one hour, is kept as a margin.
pub(super) const fn safe(retention: Duration) -> Duration {
    let tenth = match retention.checked_div(10) {
        Some(tenth) => tenth,
        None => Duration::ZERO,
    };
    let hour = Duration::from_hours(1);
    retention.saturating_sub(if tenth.as_nanos() < hour.as_nanos() { tenth } else { hour })
}

/// The whole milliseconds of a duration, at most 584 million years.
pub(super) const fn whole_millis(span: Duration) -> u64 {
    let millis = span.as_millis();
    #[allow(clippy::cast_possible_truncation, reason = "it was made to fit")]
    if millis > u64::MAX as u128 { u64::MAX } else { millis as u64 }
}

mod millis {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(super::whole_millis(*span))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Contract;

    const HOUR: Duration = Duration::from_hours(1);

    #[test]
    fn the_window_ends_a_margin_before_the_destination_forgets() {
        let sent = Timestamp::from_millis(0);
        let window = |span| Contract::header("Idempotency-Key").remembers_for(span).terms().window_end(sent);
        assert_eq!(window(24 * HOUR), Some(sent.after(23 * HOUR)));
        assert_eq!(window(HOUR), Some(sent.after(Duration::from_mins(54))));
    }

    #[test]
    fn no_window_without_deduplication_for_a_time_that_is_known() {
        let unstated = Contract::body_field("key").remembers_for_unstated_time();
        for contract in [Contract::NONE, Contract::STEPS, unstated] {
            assert_eq!(contract.terms().window_end(Timestamp::EPOCH), None);
        }
        let forever = Contract::DATABASE.terms().window_end(Timestamp::EPOCH);
        assert_eq!(forever, Some(Timestamp::from_millis(i64::MAX)));
    }

    #[test]
    fn a_record_keeps_little_of_a_contract() {
        let day =
            Contract::header("Idempotency-Key").named("bank::PAYMENTS").remembers_for(24 * HOUR).terms();
        let json = serde_json::to_string(&day).unwrap();
        assert_eq!(json, r#"{"mechanism":"header","retention":{"for":86400000},"name":"bank::PAYMENTS"}"#);
        assert_eq!(serde_json::from_str::<Terms>(&json).unwrap(), day);
        let none = serde_json::to_string(&Contract::NONE.terms()).unwrap();
        assert_eq!(none, r#"{"mechanism":"none","retention":"forever"}"#);
        let long = Contract::header("K").remembers_for(Duration::MAX).terms();
        assert_eq!(long.retention(), Retention::For(Duration::from_millis(u64::MAX)));
    }
}
