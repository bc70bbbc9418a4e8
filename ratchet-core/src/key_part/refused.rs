//! Types that are often tried as a part of a key and are refused, each with its own words.
//!
//! Each implementation asks for something that does not hold, so that the compiler prints the text of what is missing
//! instead of the general one. It holds for one other type, which the compiler then names as the one that it expected.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant, SystemTime};

use ratchet_key::{KeyError, PartWriter};

use super::KeyPart;

/// A key holds numbers that are whole.
#[diagnostic::on_unimplemented(
    message = "R008: the float `{T}` cannot be part of a key: it prints differently in different languages and after arithmetic",
    label = "a float in a key",
    note = "use an integer, such as an amount in minor units, or the id of the record"
)]
pub trait HoldsNumber<T> {}

impl HoldsNumber<u64> for Key {}

/// A key holds days.
#[diagnostic::on_unimplemented(
    message = "R002: the clock type `{T}` cannot be part of a key: a time read during an attempt differs on the next one, so nothing would be deduplicated",
    label = "a point of time in a key",
    note = "use the id of the record, or a calendar date or period that belongs to the business, such as `jiff::civil::Date`"
)]
pub trait HoldsDay<T> {}

impl HoldsDay<jiff::civil::Date> for Key {}

/// A key holds numbers of a fixed unit.
#[diagnostic::on_unimplemented(
    message = "R008: a duration cannot be part of a key: one length of time has many texts, such as `60s` and `1m`",
    label = "a duration in a key",
    note = "use an integer in a fixed unit, such as `period_days`, or the id of the record"
)]
pub trait HoldsUnits<T> {}

impl HoldsUnits<u64> for Key {}

/// A key holds values that are there.
#[diagnostic::on_unimplemented(
    message = "R008: `Option` cannot be part of a key: what stands in for a missing value is guesswork, and gives one key to many records",
    label = "a value that may be missing in a key",
    note = "make the field required, or declare a second operation for the case without it"
)]
pub trait HoldsValue<T> {}

impl HoldsValue<String> for Key {}

/// A key holds one item.
#[diagnostic::on_unimplemented(
    message = "R008: a collection cannot be part of a key: its order and its separators are not part of the business action",
    label = "a collection in a key",
    note = "use the id of the record that owns the items, or enqueue one operation per item"
)]
pub trait HoldsItem<T: ?Sized> {}

impl HoldsItem<String> for Key {}

/// What the bounds below speak about.
#[derive(Debug)]
pub struct Key;

macro_rules! refused {
    ($why:ident: $([$($generics:tt)*] $type:ty)*) => {$(
        // The quantified lifetime keeps the compiler from judging the bound where it is written.
        impl<$($generics)*> KeyPart for $type
        where
            for<'never> Key: $why<$type>,
        {
            fn write(&self, _: PartWriter<'_>) -> Result<(), KeyError> {
                Err(KeyError::Malformed)
            }
        }
    )*};
}

refused!(HoldsNumber: [] f32 [] f64);
refused!(HoldsDay: [] SystemTime [] Instant [] jiff::Timestamp [] jiff::ZonedDateTime [] jiff::civil::DateTime
    [] crate::Timestamp);
refused!(HoldsUnits: [] Duration);
refused!(HoldsValue: [T] Option<T>);
refused!(HoldsItem: [T] Vec<T> [T] [T] [T, const N: usize] [T; N] [T] VecDeque<T> [T] BTreeSet<T>
    [T, S] HashSet<T, S> [K, V] BTreeMap<K, V> [K, V, S] HashMap<K, V, S>);
