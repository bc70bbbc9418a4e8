//! What every measured program has to be able to do, and the list of them.

use std::error::Error;
use std::ops::Range;
use std::pin::Pin;

use clap::ValueEnum;

use crate::measure::{self, Task};
use crate::work::{Measure, Tuning, Work};
use crate::{limits, ours, peers};

pub(crate) type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A bare program that does the same durable work and nothing else.
    Limit,
    Ours,
    Peer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    Postgres,
    Sqlite,
}

/// A queue, or the statements that bound what a queue can do.
pub(crate) trait Subject: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    /// The package whose version is reported.
    const PACKAGE: &'static str;
    const ROLE: Role;
    const STORE: Store = Store::Postgres;
    /// How many times smaller the backlog of a drain is, for subjects that would take minutes.
    const BACKLOG_DIVISOR: u64 = 1;
    /// Counts the jobs that are on record and not completed.
    const OPEN: &'static str;
    /// Counts all jobs on record, while none is completed.
    const RECORDS: &'static str;

    /// Whether there is a call for this kind of work.
    fn offers(work: Work) -> bool {
        work != Work::Effect
    }

    /// Connects, and makes the tables.
    fn open(url: &str) -> impl Future<Output = Result<Self>> + Send;

    /// Puts one job on record under its key, and returns when that is durable. A duplicate is no error.
    fn enqueue(&self, id: u64) -> impl Future<Output = Result<()>> + Send;

    /// Puts many jobs on record in one call.
    fn enqueue_batch(&self, _ids: Range<u64>) -> impl Future<Output = Result<()>> + Send {
        async { Err("there is no call for many jobs".into()) }
    }

    /// Starts a worker whose handler does nothing but report to the board. It runs until the process ends.
    fn start_worker(&self, _tuning: Tuning) -> impl Future<Output = Result<()>> + Send {
        async { Err("there is no worker".into()) }
    }

    /// Adds the row `id` to the table `effects`, once, however often it is called.
    fn effect(&self, _id: u64) -> impl Future<Output = Result<()>> + Send {
        async { Err("there is no guard for effects".into()) }
    }
}

type Measuring = Pin<Box<dyn Future<Output = Result<Measure>>>>;

/// A subject in the list.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    pub(crate) role: Role,
    pub(crate) store: Store,
    pub(crate) offers: fn(Work) -> bool,
    pub(crate) measure: fn(Task) -> Measuring,
}

fn entry<S: Subject>() -> Entry {
    Entry {
        name: S::NAME,
        package: S::PACKAGE,
        role: S::ROLE,
        store: S::STORE,
        offers: S::offers,
        measure: |task| Box::pin(measure::measure::<S>(task)),
    }
}

/// All subjects, in the order of the table's columns.
pub(crate) fn all() -> Vec<Entry> {
    vec![
        entry::<limits::Statements>(),
        entry::<limits::Coalesced>(),
        entry::<limits::Transaction>(),
        entry::<ours::OnPostgres>(),
        entry::<peers::Apalis>(),
        entry::<peers::Graphile>(),
        entry::<peers::River>(),
        entry::<peers::Underway>(),
        entry::<peers::Sqlxmq>(),
        entry::<peers::Fang>(),
        entry::<limits::Sqlite>(),
        entry::<ours::OnSqlite>(),
        entry::<peers::ApalisSqlite>(),
        entry::<peers::RiverSqlite>(),
    ]
}
