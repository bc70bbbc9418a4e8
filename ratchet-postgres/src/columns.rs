//! The columns of one row, by name or in their order, each as what it means.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use ratchet_core::{
    After, Fingerprint, Generation, Key, Lease, Namespace, RecordId, State, Step, StepName, Timestamp, Token,
    serde_json,
};
use serde::de::{DeserializeOwned, IntoDeserializer as _, value::Error as NameError};
use sqlx::postgres::PgRow;
use sqlx::{Decode, Postgres, Row as _};

use crate::error::{Fault, While as _};
use crate::row::StepRow;
use crate::seen::Seen;

/// A row whose columns are asked for by name.
pub(crate) struct Columns<'a>(pub(crate) &'a PgRow);

impl<'a> Columns<'a> {
    pub(crate) fn text(&self, column: &str) -> Result<&'a str, Fault> {
        self.0.try_get(column).while_trying("read a row")
    }

    pub(crate) fn text_if_any(&self, column: &str) -> Result<Option<&str>, Fault> {
        self.0.try_get(column).while_trying("read a row")
    }

    pub(crate) fn number(&self, column: &str) -> Result<i64, Fault> {
        self.0.try_get(column).while_trying("read a row")
    }

    pub(crate) fn number_if_any(&self, column: &str) -> Result<Option<i64>, Fault> {
        self.0.try_get(column).while_trying("read a row")
    }

    pub(crate) fn priority(&self, column: &str) -> Result<i16, Fault> {
        self.0.try_get(column).while_trying("read a row")
    }

    pub(crate) fn small<T: TryFrom<i64>>(&self, column: &str) -> Result<T, Fault> {
        T::try_from(self.number(column)?).map_err(|_| Fault::Damaged("a number is out of its range"))
    }

    /// How many of something there may be; NULL if there is no limit.
    pub(crate) fn limit(&self, column: &str) -> Result<Option<NonZeroU32>, Fault> {
        let read = |limit| u32::try_from(limit).ok().and_then(NonZeroU32::new);
        let limit = self.number_if_any(column)?.map(read);
        limit.map(|limit| limit.ok_or(Fault::Damaged("a number is out of its range"))).transpose()
    }

    pub(crate) fn flag(&self, column: &str) -> Result<bool, Fault> {
        self.0.try_get(column).while_trying("read a row")
    }

    pub(crate) fn time(&self, column: &str) -> Result<Timestamp, Fault> {
        Ok(Timestamp::from_millis(self.number(column)?))
    }

    pub(crate) fn time_if_any(&self, column: &str) -> Result<Option<Timestamp>, Fault> {
        Ok(self.number_if_any(column)?.map(Timestamp::from_millis))
    }

    pub(crate) fn token(&self, column: &str) -> Result<Token, Fault> {
        Ok(Token::new(self.small(column)?))
    }

    pub(crate) fn state(&self, column: &str) -> Result<State, Fault> {
        state(self.text(column)?)
    }

    /// A checked name, or an enumeration that is written by name.
    pub(crate) fn name<T: DeserializeOwned>(&self, column: &str) -> Result<T, Fault> {
        by_name(self.text(column)?)
    }

    pub(crate) fn name_if_any<T: DeserializeOwned>(&self, column: &str) -> Result<Option<T>, Fault> {
        self.text_if_any(column)?.map(by_name).transpose()
    }

    pub(crate) fn json_if_any<T: DeserializeOwned>(&self, column: &str) -> Result<Option<T>, Fault> {
        self.text_if_any(column)?.map(by_json).transpose()
    }

    pub(crate) fn fingerprint(&self, column: &str) -> Result<Fingerprint, Fault> {
        fingerprint(self.0.try_get(column).while_trying("read a row")?)
    }

    pub(crate) fn identity(&self) -> Result<RecordId, Fault> {
        Ok(RecordId {
            namespace: self.name("namespace")?,
            operation: self.name("operation")?,
            key: key(self.text("key")?)?,
            generation: generation(self.small("generation")?)?,
        })
    }

    /// NULL where the record has none.
    pub(crate) fn steps(&self) -> Result<BTreeMap<StepName, Step>, Fault> {
        let Some(steps) = self.json_if_any::<Vec<StepRow>>("steps")? else {
            return Ok(BTreeMap::new());
        };
        steps.into_iter().map(StepRow::into_step).collect()
    }
}

/// The columns of one row in their order, for rows that are many: to look a name up takes longer than to read a number.
pub(crate) struct InOrder<'a> {
    row: &'a PgRow,
    at: usize,
}

impl<'a> InOrder<'a> {
    pub(crate) fn new(row: &'a PgRow) -> Self {
        Self { row, at: 0 }
    }

    pub(crate) fn next<T: Decode<'a, Postgres>>(&mut self) -> Result<T, Fault> {
        let at = self.at;
        self.at += 1;
        self.row.try_get_unchecked(at).while_trying("read a row")
    }

    /// Passes columns by.
    pub(crate) fn skip(&mut self, columns: usize) {
        self.at += columns;
    }

    pub(crate) fn seen(&mut self) -> Result<Seen, Fault> {
        Ok(Seen { by: self.next()?, place: self.next()? })
    }

    pub(crate) fn small<T: TryFrom<i64>>(&mut self) -> Result<T, Fault> {
        T::try_from(self.next()?).map_err(|_| Fault::Damaged("a number is out of its range"))
    }

    pub(crate) fn time(&mut self) -> Result<Timestamp, Fault> {
        Ok(Timestamp::from_millis(self.next()?))
    }

    pub(crate) fn time_if_any(&mut self) -> Result<Option<Timestamp>, Fault> {
        Ok(self.next::<Option<i64>>()?.map(Timestamp::from_millis))
    }

    pub(crate) fn state(&mut self) -> Result<State, Fault> {
        state(self.next()?)
    }

    pub(crate) fn json_if_any<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Fault> {
        self.next::<Option<&str>>()?.map(by_json).transpose()
    }

    pub(crate) fn fingerprint(&mut self) -> Result<Fingerprint, Fault> {
        fingerprint(self.next()?)
    }

    pub(crate) fn key(&mut self) -> Result<Key, Fault> {
        key(self.next()?)
    }

    pub(crate) fn generation(&mut self) -> Result<Generation, Fault> {
        generation(self.small()?)
    }

    pub(crate) fn after(&mut self, namespace: &Namespace) -> Result<Option<After>, Fault> {
        let read = |text| {
            After::from_stored(namespace, text)
                .ok_or(Fault::Damaged("what a record comes after is malformed"))
        };
        self.next::<Option<&str>>()?.map(read).transpose()
    }

    /// Until when, by whom, and when it was started.
    pub(crate) fn lease(&mut self) -> Result<Option<Lease>, Fault> {
        let (until, worker, started_at) =
            (self.time_if_any()?, self.next::<Option<&str>>()?, self.time_if_any()?);
        let Some(until) = until else { return Ok(None) };
        let worker = by_name(worker.ok_or(Fault::Damaged("a lease has no worker"))?)?;
        Ok(Some(Lease { worker, until, started_at }))
    }
}

fn state(text: &str) -> Result<State, Fault> {
    State::from_name(text).ok_or(Fault::Damaged("a state has no known name"))
}

fn fingerprint(bytes: &[u8]) -> Result<Fingerprint, Fault> {
    let bytes = bytes.try_into().map_err(|_| Fault::Damaged("a fingerprint has no 32 bytes"))?;
    Ok(Fingerprint::from_bytes(bytes))
}

fn key(text: &str) -> Result<Key, Fault> {
    Key::parse(text).map_err(|_| Fault::Damaged("a key is malformed"))
}

fn generation(number: u32) -> Result<Generation, Fault> {
    Generation::new(number).ok_or(Fault::Damaged("a generation is zero"))
}

pub(crate) fn by_name<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    let text: serde::de::value::StrDeserializer<'_, NameError> = text.into_deserializer();
    T::deserialize(text).map_err(|_| Fault::Damaged("a name is not what a release writes"))
}

pub(crate) fn by_json<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|_| Fault::Damaged("a JSON column does not fit its type"))
}
