//! Bare programs that do the same durable work: rows of the shape of our record, a unique key, a fence, and nothing else.

mod coalesced;
mod drain;
mod listen;
mod sqlite;
mod statements;
mod transaction;

pub(crate) use coalesced::Coalesced;
pub(crate) use sqlite::{Sqlite, options as sqlite_options};
pub(crate) use statements::Statements;
pub(crate) use transaction::Transaction;

use crate::subject::Result;

/// The table on PostgreSQL. What changes is not indexed, but for the state in the predicate of the index to claim by, and
/// pages keep room for the second version of a row.
const TABLE: &str = "
    CREATE TABLE jobs (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, operation text NOT NULL, key text NOT NULL,
        version text NOT NULL, fingerprint bytea NOT NULL, state smallint NOT NULL DEFAULT 0,
        ready_at timestamptz NOT NULL DEFAULT now(), token bigint NOT NULL DEFAULT 0, lease_until timestamptz,
        input text NOT NULL, result text
    ) WITH (fillfactor = 60);
    CREATE UNIQUE INDEX jobs_key ON jobs (operation, key);
    CREATE INDEX jobs_pending ON jobs (operation, version, ready_at, id) WHERE state = 0;
    CREATE TABLE guards (key text PRIMARY KEY, result text);";

/// Counts what is neither completed nor failed.
const OPEN: &str = "SELECT count(*) FROM jobs WHERE state <> 2";
const RECORDS: &str = "SELECT count(*) FROM jobs";

/// Lets something work until the process ends, and tells what stops it.
fn spawn(work: impl Future<Output = Result<()>> + Send + 'static) {
    tokio::spawn(async move {
        if let Err(error) = work.await {
            eprintln!("{error}");
        }
    });
}

/// What stands for the hash of an input.
fn fingerprint(id: u64) -> Vec<u8> {
    id.to_be_bytes().repeat(4)
}
