//! From what SQLite says to what a caller can do about it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ratchet_core::LedgerError;
use ratchet_core::ledger::moving::StoreStanding;

/// Why a piece of work failed, in a form that every caller of one batch can be told.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    Busy,
    /// Its snapshot is older than what another writer committed.
    ReadBeforeWrite,
    ReadOnly,
    Full,
    NoSchema,
    NewerSchema {
        found: i64,
        known: i64,
    },
    Damaged(&'static str),
    Moved,
    /// A guard of the store refuses what it does not do as it stands.
    Closed(Closed),
    Store {
        doing: &'static str,
        source: SharedError,
    },
}

/// Which end of a move the store is, and where the other one is.
#[derive(Debug, Clone)]
pub(crate) enum Closed {
    MovedTo(String),
    FilledFrom(String),
}

impl Closed {
    /// What the guards say: SQLite lets a trigger tell a text and nothing else.
    const MOVED_TO: &'static str = "ratchet: moved to ";
    const FILLED_FROM: &'static str = "ratchet: filled from ";

    /// `None` if the store is open.
    pub(crate) fn of(standing: &StoreStanding) -> Option<Self> {
        let is_target = matches!(standing, StoreStanding::Filling { .. });
        let closed = if is_target { Self::FilledFrom } else { Self::MovedTo };
        standing.other_store().map(|other| closed(other.to_owned()))
    }

    /// What the guards of such a store say.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::MovedTo(to) => format!("{}{to}", Self::MOVED_TO),
            Self::FilledFrom(from) => format!("{}{from}", Self::FILLED_FROM),
        }
    }

    fn said_by(error: &sqlx::Error) -> Option<Self> {
        let message = error.as_database_error()?.message();
        let moved = message.strip_prefix(Self::MOVED_TO).map(|to| Self::MovedTo(to.to_owned()));
        moved
            .or_else(|| message.strip_prefix(Self::FILLED_FROM).map(|from| Self::FilledFrom(from.to_owned())))
    }
}

/// The driver's error, shared by the callers of one batch.
#[derive(Debug, Clone)]
pub(crate) struct SharedError(Arc<sqlx::Error>);

impl fmt::Display for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for SharedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

// SQLite's primary result codes.
const ERROR: i32 = 1;
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const READONLY: i32 = 8;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const CONSTRAINT: i32 = 19;
const NOTADB: i32 = 26;
/// An extended one.
const BUSY_SNAPSHOT: i32 = 517;

impl Fault {
    /// What `error` means, which came up while the ledger tried to do something.
    pub(crate) fn of(doing: &'static str, error: sqlx::Error) -> Self {
        let code = extended_code(&error);
        // The primary code is what is left without the extension.
        match code.map(|code| code & 0xff) {
            _ if code == Some(BUSY_SNAPSHOT) => Self::ReadBeforeWrite,
            Some(BUSY | LOCKED) => Self::Busy,
            Some(READONLY) => Self::ReadOnly,
            Some(FULL) => Self::Full,
            Some(CORRUPT) => Self::Damaged("its pages contradict each other"),
            Some(NOTADB) => Self::Damaged("the file is not an SQLite database"),
            Some(CONSTRAINT) => match Closed::said_by(&error) {
                Some(closed) => Self::Closed(closed),
                None => Self::Store { doing, source: SharedError(Arc::new(error)) },
            },
            Some(ERROR) if lacks_our_table(&error) => Self::NoSchema,
            _ if matches!(error, sqlx::Error::ColumnDecode { .. }) => {
                Self::Damaged("a column holds another type than its own")
            }
            _ => Self::Store { doing, source: SharedError(Arc::new(error)) },
        }
    }

    /// What a caller is told; `waited` is how long a connection waits for a lock.
    pub(crate) fn told(&self, waited: Duration) -> LedgerError {
        match self {
            Self::Busy | Self::ReadBeforeWrite => LedgerError::Busy { waited },
            Self::ReadOnly => LedgerError::ReadOnly,
            Self::Full => LedgerError::Full,
            Self::NoSchema => LedgerError::NoSchema,
            Self::NewerSchema { found, known } => LedgerError::NewerSchema { found: *found, known: *known },
            Self::Damaged(what) => LedgerError::Damaged { what: (*what).to_owned() },
            Self::Moved => LedgerError::Damaged {
                what: "the database file was moved or deleted while it was open".to_owned(),
            },
            Self::Closed(Closed::MovedTo(to)) => LedgerError::Moved { to: to.clone() },
            Self::Closed(Closed::FilledFrom(from)) => LedgerError::Filling { from: from.clone() },
            Self::Store { doing, source } => LedgerError::Store { doing, source: Box::new(source.clone()) },
        }
    }

    /// Whether it may concern one record or call alone, so that the other calls of a batch deserve a try of their own.
    pub(crate) fn concerns_one_record(&self) -> bool {
        matches!(self, Self::Damaged(_) | Self::Closed(_))
    }
}

/// Names what was tried when a statement failed.
pub(crate) trait While<T> {
    fn while_trying(self, doing: &'static str) -> Result<T, Fault>;
}

impl<T> While<T> for Result<T, sqlx::Error> {
    fn while_trying(self, doing: &'static str) -> Result<T, Fault> {
        self.map_err(|error| Fault::of(doing, error))
    }
}

/// SQLite's result code with its extension: `SQLITE_BUSY_SNAPSHOT` is a kind of `SQLITE_BUSY`.
fn extended_code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
}

/// SQLite has no code of its own for it.
fn lacks_our_table(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.message().starts_with("no such table: ratchet_"))
}
