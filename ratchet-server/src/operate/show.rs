//! `ratchet show`: one record with its attempts and the decisions about it.

use std::io::{self, Write};

use clap::Args;
use ratchet::{Attempt, AuditEntry, Ratchet, Record, Stored, Timestamp};
use serde_json::Value;

use super::pick::RecordArguments;
use super::shown::{ShownAttempt, ShownDecision, ShownInFull, ShownRecord, ShownTombstone};
use super::{output, table};
use crate::error::Error;
use crate::said::{Declarations, Said};
use crate::terminal::harmless;

#[derive(Args)]
pub(crate) struct ShowArguments {
    #[command(flatten)]
    record: RecordArguments,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: &ShowArguments, ratchet: &Ratchet) -> Result<(), Error> {
    let stored = arguments.record.find(ratchet).await?;
    match &stored {
        Stored::Record(record) => whole(record, arguments.json, ratchet).await,
        Stored::Tombstone(rest) => output::write(|out| match ShownTombstone::of(&stored) {
            Some(shown) if arguments.json => output::json_line(out, &shown),
            _ => writeln!(
                out,
                "{}  {}\npurged; it was {} on {}",
                rest.id.operation,
                super::key_with_generation(&rest.id),
                rest.state,
                rest.ended_at
            ),
        }),
    }
}

async fn whole(record: &Record, json: bool, ratchet: &Ratchet) -> Result<(), Error> {
    let input = ratchet.redacted_input(record).await?;
    let said = Declarations::of(ratchet.ledger()).said(record).await?;
    let attempts = ratchet.attempts(record.id.clone()).await?;
    let audit = ratchet.audit(record.id.clone()).await?;
    output::write(|out| {
        if !json {
            return for_people(out, record, &Shown { input: &input, said: &said }, &attempts, &audit);
        }
        let shown = ShownInFull {
            record: ShownRecord::of(record, &said),
            input,
            timeline: attempts.iter().map(|attempt| ShownAttempt::of(attempt, &said)).collect(),
            decisions: audit.iter().map(ShownDecision::of).collect(),
        };
        output::json_line(out, &shown)
    })
}

/// What may be shown of what came from others.
struct Shown<'a> {
    input: &'a Value,
    said: &'a Said,
}

fn for_people(
    out: &mut dyn Write,
    record: &Record,
    shown: &Shown<'_>,
    attempts: &[Attempt],
    audit: &[AuditEntry],
) -> io::Result<()> {
    facts(out, record, shown)?;
    let mut events: Vec<(Timestamp, String, String)> =
        attempts.iter().flat_map(|attempt| events_of(attempt, shown.said)).collect();
    events.extend(audit.iter().map(|entry| {
        let what = format!("{}: {} -> {}", entry.action, entry.from, entry.to);
        (entry.at, what, format!("by {}: {}", entry.by, entry.reason))
    }));
    events.push((record.created_at, "enqueued".to_owned(), format!("for version {}", record.version)));
    events.sort_by_key(|(at, ..)| *at);
    let rows: Vec<Vec<String>> =
        events.into_iter().map(|(at, what, more)| vec![at.to_string(), what, more]).collect();
    writeln!(out)?;
    table::write(out, &["WHEN", "WHAT", "MORE"], &rows)
}

fn facts(out: &mut dyn Write, record: &Record, shown: &Shown<'_>) -> io::Result<()> {
    let key = super::key_with_generation(&record.id);
    let mut lines = vec![format!("{}  {key}", record.id.operation), format!("state    {}", record.state)];
    if let Some(why) = record.uncertainty {
        lines.push(format!("why      {}", why.explain()));
    }
    if let Some(cause) = &record.cause {
        lines.push(format!("cause    {} ({})", shown.said.told_or_hidden(cause), cause.kind().as_str()));
    }
    if let Some(group) = &record.group {
        lines.push(format!("group    {group}"));
    }
    if let Some(after) = &record.after {
        let key = super::key_with_generation(&after.id);
        lines.push(format!("after    {} of {}  {key}", after.on.as_str(), after.id.operation));
    }
    if record.may_be_applied() {
        lines.push("effect   may have happened; nobody confirmed it".to_owned());
    }
    lines.push(format!("input    {}", shown.input));
    lines.iter().try_for_each(|line| writeln!(out, "{}", harmless(line)))
}

fn events_of(attempt: &Attempt, said: &Said) -> Vec<(Timestamp, String, String)> {
    let name = |what: &str| format!("attempt {} {what}", attempt.token);
    let mut events = vec![(attempt.leased_at, name("leased"), format!("by {}", attempt.worker))];
    events.extend(attempt.started_at.map(|at| (at, name("started"), String::new())));
    if let Some(end) = &attempt.end {
        let late = if end.late { ", late" } else { "" };
        let what = name(&format!("ended {}{late}", end.outcome.as_str()));
        let cause = end.cause.as_ref().map(|cause| said.told_or_hidden(cause));
        events.push((end.at, what, cause.unwrap_or_default()));
    }
    events
}
