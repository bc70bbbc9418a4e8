//! The PostgreSQL ledger of Ratchet.
//!
//! [`PostgresLedger`] keeps records in a schema `ratchet` of a PostgreSQL database, which may be your own. Many programs
//! share it. Concurrent callers of one program share round trips and commits, every commit is on the disk before anybody
//! is answered, and the database's clock decides about leases. [`enqueue_in`] and [`submit_in`] work inside a transaction
//! of yours.
//!
//! [`once()`] guards an effect in a database of yours, whatever ledger there is: a row beside the effect keeps it single.
//!
//! Tested with PostgreSQL 15. The database's encoding must be UTF8. Between a program and the database may stand a pooler
//! that keeps a session to its client; one that gives out a connection per transaction breaks prepared statements and
//! notifications.
//!
//! # Roles
//!
//! The role that first opens the ledger, or calls [`migrate`], owns the schema. Programs may run as another that has
//!
//! ```sql
#![doc = include_str!("../grants.sql")]
//! ```
//!
//! The last two lines are for tables of later releases, and are run by the role that owns the schema.
//!
//! A program that only enqueues, looks up and cancels by the functions in the database, in whatever language, needs no more than
//!
//! ```sql
#![doc = include_str!("../producer.sql")]
//! ```
//!
//! # When something fails
//!
//! A call whose answer is lost may have been done or not, and asking again is safe. A database that says nothing for
//! [`answer_timeout`](PostgresOptions::answer_timeout) is taken for gone. The ledger sets the time limits of its own
//! connections, whatever a role has, so that the server ends what the ledger has given up.
//!
//! The address names one host, since the driver knows no lists of hosts: for a failover it must lead to the primary of the
//! moment (a virtual address, a name with a short life, a proxy). A server that can only be read is told as
//! [`ReadOnly`](ratchet_core::LedgerError::ReadOnly) at each call until then, and connections to it are not kept. What was
//! acknowledged is on a standby only if commits wait for it (`synchronous_standby_names`).
//!
//! A later release updates the tables while programs of this one run: it adds columns, tables and indexes, and these
//! programs go on. One that is started after that is refused as too old.
//!
//! # Free text
//!
//! PostgreSQL's `text` holds no zero byte. Names and keys cannot have one, and JSON writes it as `\u0000`; in the words of
//! people (the columns `by` and `reason` of `ratchet.audit`) and in key templates it is written as `\0` and a backslash as
//! two. Inputs and results are `text` and no `jsonb`, since fingerprints are over their exact bytes.

mod apply;
mod audit;
mod bell;
mod claim;
mod columns;
mod declare;
mod desk;
mod document;
mod effects;
mod enqueue;
mod error;
mod export;
mod follow;
mod gates;
mod held;
mod hosts;
mod import;
mod insert;
mod inspect;
mod lane;
mod ledger;
mod maintenance;
mod mark;
mod notes;
mod once;
mod options;
mod overview;
mod read;
mod readers;
mod room;
mod row;
mod schema;
mod seen;
mod session;
mod standing;
mod submit;
mod text;
mod usual;
mod works;
mod write;

pub use enqueue::{enqueue_in, submit_in, submit_in_at};
pub use ledger::PostgresLedger;
pub use once::{once, once_in};
pub use options::PostgresOptions;
pub use schema::{migrate, migrate_effects};

/// The sqlx whose connections [`submit_in`], [`enqueue_in`] and [`migrate`] take: version 0.9. A program that depends
/// on sqlx itself needs the same version, since the types of another are others. It has the features `runtime-tokio` and
/// `postgres`, and those that your own dependency on it adds.
pub use sqlx;
