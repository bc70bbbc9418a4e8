//! `ratchet list`: records in the order of their creation.

use clap::Args;
use ratchet::{Filter, OperationName, Ratchet, Record, RecordState};

use super::shown::ShownRecord;
use super::{output, table};
use crate::error::Error;
use crate::said::Declarations;

/// How many records are read at once.
const PAGE: usize = 500;

#[derive(Args)]
pub(crate) struct ListArguments {
    /// Only of this operation.
    #[arg(long)]
    operation: Option<String>,
    /// Only in this state, such as `uncertain`.
    #[arg(long, value_parser = state)]
    state: Option<RecordState>,
    /// How many at the most.
    #[arg(long, default_value_t = 100)]
    limit: usize,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

fn state(name: &str) -> Result<RecordState, String> {
    RecordState::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = RecordState::ALL.iter().map(|state| state.as_str()).collect();
        format!("states are {}", known.join(", "))
    })
}

pub(crate) async fn run(arguments: &ListArguments, ratchet: &Ratchet) -> Result<(), Error> {
    let records = records(arguments, ratchet).await?;
    if arguments.json {
        return for_programs(&records, ratchet).await;
    }
    output::write(|out| {
        let rows: Vec<Vec<String>> = records.iter().map(row).collect();
        table::write(out, &["STATE", "OPERATION", "ATTEMPTS", "CREATED", "KEY"], &rows)?;
        if records.is_empty() {
            writeln!(out, "nothing found")?;
        }
        Ok(())
    })
}

async fn for_programs(records: &[Record], ratchet: &Ratchet) -> Result<(), Error> {
    let mut declared = Declarations::of(ratchet.ledger());
    let mut shown = Vec::with_capacity(records.len());
    for record in records {
        shown.push(ShownRecord::of(record, &declared.said(record).await?));
    }
    output::write(|out| shown.iter().try_for_each(|record| output::json_line(out, record)))
}

async fn records(arguments: &ListArguments, ratchet: &Ratchet) -> Result<Vec<Record>, Error> {
    let operation = arguments.operation.as_deref().map(OperationName::new).transpose()?;
    let mut filter = Filter { operation, state: arguments.state, ..Filter::default() };
    let mut records = Vec::new();
    while records.len() < arguments.limit {
        filter.limit = PAGE.min(arguments.limit - records.len());
        let page = ratchet.list(filter.clone()).await?;
        records.extend(page.records);
        match page.next {
            Some(next) => filter.after = Some(next),
            None => break,
        }
    }
    Ok(records)
}

fn row(record: &Record) -> Vec<String> {
    vec![
        record.state.to_string(),
        record.id.operation.to_string(),
        record.attempts.to_string(),
        record.created_at.to_string(),
        super::key_with_generation(&record.id),
    ]
}
