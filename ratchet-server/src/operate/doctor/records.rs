//! Records that wait for a person or a worker, and operations whose windows do not fit.

use std::time::Duration;

use ratchet::ledger::{Count, Declared, Unserved};
use ratchet::{Filter, Ratchet, RecordState, Timestamp};

use super::Finding;
use crate::error::Error;

/// A worker that runs decides about a lease that is over within a lease's time.
const LEASE_OVER_FOR: Duration = Duration::from_mins(2);

/// A worker that runs and has room takes what is due within its poll interval.
const DUE_FOR: Duration = Duration::from_mins(5);

/// How many records are read at once.
const PAGE: usize = 500;

pub(super) async fn check(ratchet: &Ratchet, now: Timestamp) -> Result<Vec<Finding>, Error> {
    let mut findings = vec![uncertain(&ratchet.census().await?), leases(ratchet, now).await?];
    let namespace = ratchet.namespace().clone();
    findings.extend(waiting(&ratchet.ledger().unserved(namespace, Vec::new()).await?, now));
    findings.extend(windows(&ratchet.ledger().declarations().await?));
    Ok(findings)
}

fn uncertain(counts: &[Count]) -> Finding {
    const CHECK: &str = "uncertain records";
    let counts = counts.iter().filter(|count| count.state == RecordState::Uncertain);
    let records: u64 = counts.clone().map(|count| count.records).sum();
    let Some(oldest) = counts.map(|count| count.oldest).min() else {
        return Finding::ok(CHECK, "none");
    };
    Finding::attention(
        CHECK,
        format!("{records}, the oldest enqueued at {oldest}"),
        "nobody knows whether they had their effect, and nothing happens to them by itself",
        "`ratchet list --state uncertain`, ask the destinations, and `ratchet reconcile`",
    )
}

async fn leases(ratchet: &Ratchet, now: Timestamp) -> Result<Finding, Error> {
    const CHECK: &str = "leases that are over";
    let mut filter = Filter { state: Some(RecordState::Running), limit: PAGE, ..Filter::default() };
    let mut over = Vec::new();
    loop {
        let page = ratchet.list(filter.clone()).await?;
        let ends = page.records.iter().filter_map(|record| record.lease.as_ref()).map(|lease| lease.until);
        over.extend(ends.filter(|until| now.since(*until) > LEASE_OVER_FOR));
        match page.next {
            Some(next) => filter.after = Some(next),
            None => break,
        }
    }
    Ok(match over.iter().min() {
        None => Finding::ok(CHECK, "none"),
        Some(oldest) => Finding::attention(
            CHECK,
            format!("{}, the oldest since {oldest}", over.len()),
            "their workers are gone, and no other one decides what follows: none seems to run",
            "start a worker on this store and namespace",
        ),
    })
}

fn waiting(due: &[Unserved], now: Timestamp) -> Vec<Finding> {
    let late = due.iter().filter(|due| now.since(due.since) > DUE_FOR);
    let late: Vec<Finding> = late
        .map(|due| {
            Finding::attention(
                format!(
                    "due: {} version {} in queue {}",
                    due.wanted.operation, due.wanted.version, due.queue
                ),
                format!("{}, the longest waiting since {}", due.records, due.since),
                "no worker serves this operation, version and queue, or those that do have no room",
                "start a worker with this version and queue, or raise its concurrency",
            )
        })
        .collect();
    if late.is_empty() {
        let records: u64 = due.iter().map(|due| due.records).sum();
        return vec![Finding::ok("due records", format!("{records}, none for long"))];
    }
    late
}

fn windows(declared: &[Declared]) -> Vec<Finding> {
    let narrow: Vec<Finding> = declared.iter().filter_map(narrow).collect();
    if narrow.is_empty() {
        return vec![Finding::ok("windows", format!("{} declared, all fit", declared.len()))];
    }
    narrow
}

/// Retries that go on for longer than the destination remembers the first one.
fn narrow(declared: &Declared) -> Option<Finding> {
    let window = declared.contract.window_end(Timestamp::EPOCH)?.since(Timestamp::EPOCH);
    let last = declared.policy.retry.longest_span(declared.policy.timeout);
    (last > window).then(|| {
        Finding::attention(
            format!("window: {} version {}", declared.of.operation, declared.of.version),
            format!("retries for up to {} s, recognised for {} s", last.as_secs(), window.as_secs()),
            "after that time a repeated request may have a second effect, so later retries become uncertain instead",
            "shorten the retries so that they end while the destination still remembers",
        )
    })
}
