//! The columns of one row by name, each as what it means.

use std::collections::BTreeMap;

use ratchet_core::{
    After, Fingerprint, Generation, Key, Lease, Namespace, RecordId, State, Step, StepName, Timestamp, Token,
    serde_json,
};
use serde::de::{DeserializeOwned, IntoDeserializer as _, value::Error as NameError};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::error::{Fault, While as _};
use crate::row::StepRow;

/// A row whose columns are asked for by name.
pub(crate) struct Columns<'a>(pub(crate) &'a SqliteRow);

impl Columns<'_> {
    pub(crate) fn text(&self, column: &str) -> Result<&str, Fault> {
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

    pub(crate) fn small<T: TryFrom<i64>>(&self, column: &str) -> Result<T, Fault> {
        T::try_from(self.number(column)?).map_err(|_| Fault::Damaged("a number is out of its range"))
    }

    pub(crate) fn flag(&self, column: &str) -> Result<bool, Fault> {
        Ok(self.number(column)? != 0)
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
        State::from_name(self.text(column)?).ok_or(Fault::Damaged("a state has no known name"))
    }

    /// A checked name, or an enumeration that is written by name.
    pub(crate) fn name<T: DeserializeOwned>(&self, column: &str) -> Result<T, Fault> {
        by_name(self.text(column)?)
    }

    pub(crate) fn name_if_any<T: DeserializeOwned>(&self, column: &str) -> Result<Option<T>, Fault> {
        self.text_if_any(column)?.map(by_name).transpose()
    }

    pub(crate) fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T, Fault> {
        by_json(self.text(column)?)
    }

    pub(crate) fn json_if_any<T: DeserializeOwned>(&self, column: &str) -> Result<Option<T>, Fault> {
        self.text_if_any(column)?.map(by_json).transpose()
    }

    pub(crate) fn fingerprint(&self, column: &str) -> Result<Fingerprint, Fault> {
        let bytes: &[u8] = self.0.try_get(column).while_trying("read a row")?;
        let bytes = bytes.try_into().map_err(|_| Fault::Damaged("a fingerprint has no 32 bytes"))?;
        Ok(Fingerprint::from_bytes(bytes))
    }

    pub(crate) fn identity(&self) -> Result<RecordId, Fault> {
        Ok(RecordId {
            namespace: self.name("namespace")?,
            operation: self.name("operation")?,
            key: Key::parse(self.text("key")?).map_err(|_| Fault::Damaged("a key is malformed"))?,
            generation: Generation::new(self.small("generation")?)
                .ok_or(Fault::Damaged("a generation is zero"))?,
        })
    }

    pub(crate) fn after(&self, namespace: &Namespace) -> Result<Option<After>, Fault> {
        let stored = self.text_if_any("comes_after")?;
        let read = |text| {
            After::from_stored(namespace, text)
                .ok_or(Fault::Damaged("what a record comes after is malformed"))
        };
        stored.map(read).transpose()
    }

    pub(crate) fn lease(&self) -> Result<Option<Lease>, Fault> {
        let Some(worker) = self.name_if_any("lease_worker")? else {
            return Ok(None);
        };
        Ok(Some(Lease {
            worker,
            until: self.time("lease_until")?,
            started_at: self.time_if_any("lease_started_at")?,
        }))
    }

    pub(crate) fn steps(&self) -> Result<BTreeMap<StepName, Step>, Fault> {
        match self.text("steps")? {
            "[]" => Ok(BTreeMap::new()),
            steps => Ok(by_json::<Vec<StepRow>>(steps)?.into_iter().map(StepRow::into_step).collect()),
        }
    }
}

fn by_name<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    let text: serde::de::value::StrDeserializer<'_, NameError> = text.into_deserializer();
    T::deserialize(text).map_err(|_| Fault::Damaged("a name is not what a release writes"))
}

fn by_json<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|_| Fault::Damaged("a JSON column does not fit its type"))
}
