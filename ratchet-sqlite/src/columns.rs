//! The columns of one row by name, each as what it means.

use std::num::NonZeroU32;

use ratchet_core::{State, Timestamp, Token, serde_json};
use serde::de::{DeserializeOwned, IntoDeserializer as _, value::Error as NameError};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::error::{Fault, While as _};

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

    /// How many of something there may be; NULL if there is no limit.
    pub(crate) fn limit(&self, column: &str) -> Result<Option<NonZeroU32>, Fault> {
        let read = |limit| u32::try_from(limit).ok().and_then(NonZeroU32::new);
        let limit = self.number_if_any(column)?.map(read);
        limit.map(|limit| limit.ok_or(Fault::Damaged("a number is out of its range"))).transpose()
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
}

fn by_name<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    let text: serde::de::value::StrDeserializer<'_, NameError> = text.into_deserializer();
    T::deserialize(text).map_err(|_| Fault::Damaged("a name is not what a release writes"))
}

fn by_json<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|_| Fault::Damaged("a JSON column does not fit its type"))
}
