//! From what PostgreSQL says to what a caller can do about it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ratchet_core::LedgerError;
use sqlx::postgres::PgDatabaseError;

/// Why a piece of work failed, in a form that every caller of one batch can be told.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// Somebody else's lock, or a transaction that came in between; nothing was changed.
    Busy,
    /// Another transaction came in between, which the snapshot of this one is too old to see; nothing was changed.
    OldSnapshot,
    /// A statement failed before in the transaction, which does nothing more.
    Aborted {
        doing: &'static str,
        source: SharedError,
    },
    ReadOnly,
    Full,
    NoSchema,
    NewerSchema {
        found: i64,
        known: i64,
    },
    /// A guard of the store refuses it: the records are, or will be, in the store at this address.
    MovedTo(String),
    /// A guard of the store refuses it, which is filled from the store at this address.
    FilledFrom(String),
    Damaged(&'static str),
    /// The connection is gone, and what it was asked may have been done or not.
    Disconnected {
        doing: &'static str,
        source: SharedError,
    },
    Store {
        doing: &'static str,
        source: SharedError,
    },
}

/// The driver's error, shared by the callers of one batch.
#[derive(Clone)]
pub(crate) struct SharedError(Arc<sqlx::Error>);

impl fmt::Debug for SharedError {
    /// No more than for people: PostgreSQL's details quote rows, and with them keys and inputs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = code(&self.0).unwrap_or_default();
        write!(f, "{code} {self}")
    }
}

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

impl Fault {
    /// What `error` means, which came up while the ledger tried to do something.
    pub(crate) fn of(doing: &'static str, error: sqlx::Error) -> Self {
        match code(&error).as_deref() {
            // Waited too long for a lock, a deadlock.
            Some("55P03" | "40P01") => Self::Busy,
            Some("40001") => Self::OldSnapshot,
            Some("25P02") => Self::Aborted { doing, source: SharedError(Arc::new(error)) },
            Some("25006") => Self::ReadOnly,
            Some("53100") => Self::Full,
            // No such table, no such schema.
            Some("42P01" | "3F000") if concerns_our_schema(&error) => Self::NoSchema,
            Some("RT006") => Self::MovedTo(detail(&error)),
            Some("RT007") => Self::FilledFrom(detail(&error)),
            Some("XX001" | "XX002") => Self::Damaged("its pages contradict each other"),
            // A connection that ends: shutdown, crash, refusal while it starts, failures of the protocol, a transaction
            // that rested for too long.
            Some(code) if code.starts_with("57P") || code.starts_with("08") || code == "25P03" => {
                Self::Disconnected { doing, source: SharedError(Arc::new(error)) }
            }
            Some(_) => Self::Store { doing, source: SharedError(Arc::new(error)) },
            None => Self::of_the_driver(doing, error),
        }
    }

    fn of_the_driver(doing: &'static str, error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::ColumnDecode { .. } => Self::Damaged("a column holds another type than its own"),
            sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::Tls(_) => {
                Self::Disconnected { doing, source: SharedError(Arc::new(error)) }
            }
            other => Self::Store { doing, source: SharedError(Arc::new(other)) },
        }
    }

    /// A connection that does not answer is as good as none.
    pub(crate) fn no_answer(doing: &'static str) -> Self {
        Self::of(doing, sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()))
    }

    /// What a caller is told; `waited` is how long a connection waits for a lock.
    pub(crate) fn told(&self, waited: Duration) -> LedgerError {
        match self {
            Self::Busy | Self::OldSnapshot => LedgerError::Busy { waited },
            Self::ReadOnly => LedgerError::ReadOnly,
            Self::Full => LedgerError::Full,
            Self::NoSchema => LedgerError::NoSchema,
            Self::NewerSchema { found, known } => LedgerError::NewerSchema { found: *found, known: *known },
            Self::MovedTo(to) => LedgerError::Moved { to: to.clone() },
            Self::FilledFrom(from) => LedgerError::Filling { from: from.clone() },
            Self::Damaged(what) => LedgerError::Damaged { what: (*what).to_owned() },
            Self::Aborted { doing, source }
            | Self::Disconnected { doing, source }
            | Self::Store { doing, source } => LedgerError::Store { doing, source: Box::new(source.clone()) },
        }
    }

    /// Whether it may concern one call alone, so that the others of its batch deserve a try of their own.
    pub(crate) fn concerns_one_call(&self) -> bool {
        matches!(
            self,
            Self::Damaged(_) | Self::Busy | Self::OldSnapshot | Self::MovedTo(_) | Self::FilledFrom(_)
        )
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

/// PostgreSQL's code for an error that it reported.
pub(crate) fn code(error: &sqlx::Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}

/// What a guard says beside its message: the address of the other store.
fn detail(error: &sqlx::Error) -> String {
    let error = error.as_database_error().and_then(|error| error.try_downcast_ref::<PgDatabaseError>());
    error.and_then(PgDatabaseError::detail).unwrap_or_default().to_owned()
}

/// PostgreSQL names the schema in its message, whatever the language of that is.
fn concerns_our_schema(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.message().contains("ratchet"))
}
