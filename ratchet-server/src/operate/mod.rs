//! Looks after the records of a store.

pub(crate) mod consent;
mod destinations;
mod doctor;
mod list;
mod moving;
pub(crate) mod output;
mod pick;
mod purge;
mod restore;
mod settle;
mod show;
mod shown;
mod stats;
pub(crate) mod store;
pub(crate) mod table;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ratchet::RecordId;

use crate::error::Error;
use store::{StoreAddress, StoreArguments};

#[derive(Subcommand)]
pub(crate) enum Task {
    /// Makes the tables of a store, or brings them up to date.
    Migrate(OfStore<Nothing>),
    /// Lists records, the oldest first.
    List(Of<list::ListArguments>),
    /// Shows one record: what is known, its attempts, and who decided what.
    Show(Of<show::ShowArguments>),
    /// Settles an uncertain record with what was found out at the destination.
    Reconcile(Of<settle::ReconcileArguments>),
    /// Runs a record again, with the same identity.
    Replay(Of<settle::ReplayArguments>),
    /// Starts nothing more under a key. It is not a rollback.
    Cancel(Of<settle::CancelArguments>),
    /// Has the same action done once more after a definite end: a new generation.
    Release(Of<settle::ReleaseArguments>),
    /// Puts tombstones in the place of records that are settled for longer than they are kept.
    Purge(OfStore<purge::PurgeArguments>),
    /// Looks whether the store needs attention, and changes nothing; the exit code is 1 if it does.
    Doctor(Of<doctor::DoctorArguments>),
    /// Has workers go on that hold back since a backup was restored.
    AcknowledgeRestore(OfStore<restore::AcknowledgeArguments>),
    /// Moves a live store to another one, and sends nothing twice. Interrupted, it is run again and goes on.
    Move(moving::MoveArguments),
    /// Counts records by operation, version and state.
    Stats(Of<stats::StatsArguments>),
    /// Shows the limits and circuit breakers of destinations, and how they stand.
    Destinations(OfStore<destinations::DestinationsArguments>),
}

/// A command and the namespace of a store that it is about.
#[derive(Args)]
pub(crate) struct Of<A: Args> {
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    what: A,
}

/// A command that is about a store as a whole.
#[derive(Args)]
pub(crate) struct OfStore<A: Args> {
    #[command(flatten)]
    store: StoreAddress,
    #[command(flatten)]
    what: A,
}

#[derive(Args)]
pub(crate) struct Nothing {}

pub(crate) fn run(task: Task) -> Result<ExitCode, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(carry_out(task))
}

async fn carry_out(task: Task) -> Result<ExitCode, Error> {
    match task {
        Task::Doctor(Of { store, what }) => return doctor::run(&what, &store.open().await?).await,
        Task::AcknowledgeRestore(OfStore { store, what }) => {
            restore::acknowledge(&what, &store.open().await?).await
        }
        Task::Migrate(OfStore { store, .. }) => store.create().await.map(drop),
        Task::List(Of { store, what }) => list::run(&what, &store.open().await?).await,
        Task::Show(Of { store, what }) => show::run(&what, &store.open().await?).await,
        Task::Reconcile(Of { store, what }) => settle::reconcile(&what, &store.open().await?).await,
        Task::Replay(Of { store, what }) => settle::replay(&what, &store.open().await?).await,
        Task::Cancel(Of { store, what }) => settle::cancel(&what, &store.open().await?).await,
        Task::Release(Of { store, what }) => settle::release(&what, &store.open().await?).await,
        Task::Move(what) => moving::run(&what).await,
        Task::Purge(OfStore { store, what }) => purge::run(&what, &store.open().await?).await,
        Task::Stats(Of { store, what }) => stats::run(&what, &store.open().await?).await,
        Task::Destinations(OfStore { store, what }) => destinations::run(&what, &store.open().await?).await,
    }?;
    Ok(ExitCode::SUCCESS)
}

/// The key as people name it: the second and later generations have a number.
fn key_with_generation(id: &RecordId) -> String {
    match id.generation.get() {
        1 => id.key.to_string(),
        number => format!("{}#{number}", id.key),
    }
}
