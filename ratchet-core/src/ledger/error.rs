//! Why a ledger as a whole could not do something.

use std::error::Error;
use std::time::Duration;

use crate::model::OperationName;

/// A ledger could not do what it was asked. Nothing was half done; what was not acknowledged may be asked again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// Another program holds the store.
    #[error("the store stayed locked by another program for {waited:?}; nothing was changed, try again")]
    Busy {
        /// How long it was waited for.
        waited: Duration,
    },
    /// The store cannot be written.
    #[error(
        "the store is read-only: a file and its directory need write access for this user, a database server may be a standby"
    )]
    ReadOnly,
    /// The store has no room.
    #[error("the disk that holds the store is full: nothing was changed; free some room and go on")]
    Full,
    /// The store was written by a newer release.
    #[error("the store has schema {found}, this release knows {known}: upgrade every program that uses it")]
    NewerSchema {
        /// The schema of the store.
        found: i64,
        /// The newest schema that this release knows.
        known: i64,
    },
    /// The database does not hold the ledger's tables, or holds an older form of them.
    #[error(
        "the database does not hold this release's ledger tables: open the ledger on it once, or run the migration"
    )]
    NoSchema,
    /// The store holds something that no release could have written.
    #[error("the store is damaged: {what}; restore it from a backup or ask for help before going on")]
    Damaged {
        /// What is wrong, without any value of a record.
        what: String,
    },
    /// The address of the store is wrong.
    #[error("`{url}` cannot be opened: {why}")]
    Address {
        /// The address without its credentials.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The records of the store were moved to another one, or are about to be.
    #[error(
        "the records of this store were moved to `{to}`, or are about to be: nothing begins here any more, and nothing was \
         changed; connect to that store"
    )]
    Moved {
        /// The address of that store, without credentials.
        to: String,
    },
    /// The store is the target of a move that has not ended.
    #[error(
        "this store is being filled from `{from}` and takes nothing else, so nothing was changed: wait until the move has \
         ended, or run `ratchet move` again if it was interrupted"
    )]
    Filling {
        /// The address of the store that it is filled from, without credentials.
        from: String,
    },
    /// The ledger cannot do it at all.
    #[error("this kind of store cannot {what}")]
    Unsupported {
        /// What.
        what: &'static str,
    },
    /// The operation has a limit, and the ledger does not count over all workers.
    #[error(
        "this kind of store cannot keep the limit of `{operation}`: its workers together would pass it. Leave `concurrency` \
         out of the operation, and bound each program by `WorkerBuilder::concurrency`, or the sends by a destination's `at_most`"
    )]
    LimitNotKept {
        /// The operation.
        operation: OperationName,
    },
    /// An operation's key template changed.
    #[error(
        "the key template of `{operation}` is `{declared}`, but records exist with `{on_record}`: \
         the same action would get a second identity. Restore the template, use another name, \
         or declare `new_identity = \"reason\"`"
    )]
    TemplateChanged {
        /// The operation.
        operation: OperationName,
        /// The template that the program declares.
        declared: String,
        /// The template that the ledger holds.
        on_record: String,
    },
    /// The ledger's worker is gone.
    #[error("the ledger is closed")]
    Closed,
    /// Something else went wrong in the store or on the way to it. Whether a change was made is not known: ask again
    /// with the same key.
    #[error("the store failed while it tried to {doing}")]
    Store {
        /// What was being done.
        doing: &'static str,
        /// The driver's own error.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

impl LedgerError {
    /// Whether the same call may succeed by itself a little later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::Full | Self::Store { .. })
    }
}
