//! `ratchet stats`: how many records there are in each state.

use clap::Args;
use ratchet::Ratchet;
use ratchet::ledger::Count;
use serde::Serialize;

use super::{output, table};
use crate::error::Error;

#[derive(Args)]
pub(crate) struct StatsArguments {
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ShownCount {
    operation: String,
    version: String,
    state: &'static str,
    records: u64,
    oldest: String,
}

pub(crate) async fn run(arguments: &StatsArguments, ratchet: &Ratchet) -> Result<(), Error> {
    let counts = ratchet.census().await?;
    output::write(|out| {
        if arguments.json {
            return counts.iter().try_for_each(|count| output::json_line(out, &shown(count)));
        }
        let rows: Vec<Vec<String>> = counts.iter().map(row).collect();
        table::write(out, &["OPERATION", "VERSION", "STATE", "RECORDS", "OLDEST"], &rows)
    })
}

fn shown(count: &Count) -> ShownCount {
    ShownCount {
        operation: count.of.operation.to_string(),
        version: count.of.version.to_string(),
        state: count.state.as_str(),
        records: count.records,
        oldest: count.oldest.to_string(),
    }
}

fn row(count: &Count) -> Vec<String> {
    let ShownCount { operation, version, state, records, oldest } = shown(count);
    vec![operation, version, state.to_owned(), records.to_string(), oldest]
}
