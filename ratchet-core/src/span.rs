//! Durations as JSON, for what every record carries: a number of whole milliseconds, or, if there is more to it, what
//! serde makes of them.

use std::fmt;
use std::time::Duration;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

pub(crate) fn serialize<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
    match u64::try_from(span.as_millis()) {
        Ok(millis) if Duration::from_millis(millis) == *span => to.serialize_u64(millis),
        _ => span.serialize(to),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    struct Span;

    impl<'de> Visitor<'de> for Span {
        type Value = Duration;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number of milliseconds, or seconds and nanoseconds")
        }

        fn visit_u64<E: de::Error>(self, millis: u64) -> Result<Duration, E> {
            Ok(Duration::from_millis(millis))
        }

        fn visit_map<A: MapAccess<'de>>(self, parts: A) -> Result<Duration, A::Error> {
            Duration::deserialize(MapAccessDeserializer::new(parts))
        }
    }
    from.deserialize_any(Span)
}
