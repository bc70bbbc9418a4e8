//! What is measured, and what comes out of it.

use std::fmt;
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::usage::Spent;

/// The callers of `enqueue`, `duplicate` and `effect`.
pub(crate) const CALLERS: u64 = 16;
/// The jobs of one call of `batch`.
pub(crate) const BATCH: u64 = 1_000;
/// The jobs per second of `pickup`.
pub(crate) const PICKUP_RATE: u64 = 50;

/// One kind of work, done the same way by every subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Work {
    /// One job in a call, each with a key of its own, from 16 callers.
    Enqueue,
    /// The same jobs once more.
    Duplicate,
    /// 1,000 jobs in a call, from one caller.
    Batch,
    /// No-op jobs from a backlog, set up for throughput.
    Drain,
    /// No-op jobs from a backlog, as installed.
    DrainInstalled,
    /// From the call of enqueue to the start of the handler at 50 jobs a second, set up for latency.
    Pickup,
    /// The same as installed.
    PickupInstalled,
    /// A row in the database that must not appear twice: 16 callers, a transaction each.
    Effect,
}

impl Work {
    pub(crate) const ALL: [Self; 8] = [
        Self::Enqueue,
        Self::Duplicate,
        Self::Batch,
        Self::Drain,
        Self::DrainInstalled,
        Self::Pickup,
        Self::PickupInstalled,
        Self::Effect,
    ];

    /// How many operations are done for `jobs` single enqueues: fast kinds of work need more to last as long.
    pub(crate) fn size(self, jobs: u64) -> u64 {
        match self {
            Self::Enqueue | Self::Duplicate | Self::Effect => jobs,
            Self::Batch => jobs * 5 / BATCH * BATCH,
            Self::Drain | Self::DrainInstalled => jobs * 5 / 2,
            Self::Pickup | Self::PickupInstalled => 0,
        }
    }

    /// Whether the times of single operations count, not how many there are in a second.
    pub(crate) fn is_latency(self) -> bool {
        matches!(self, Self::Pickup | Self::PickupInstalled)
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Enqueue => "enqueue, 16 callers",
            Self::Duplicate => "the same again, all duplicates",
            Self::Batch => "enqueue, 1,000 in a call",
            Self::Drain => "drain, set up for throughput",
            Self::DrainInstalled => "drain, as installed",
            Self::Pickup => "pick-up at 50 jobs/s, set up for latency",
            Self::PickupInstalled => "pick-up at 50 jobs/s, as installed",
            Self::Effect => "effect in a transaction, 16 callers",
        })
    }
}

/// How a worker is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tuning {
    /// What the first example of the documentation does.
    Installed,
    /// What the documentation, or a sweep over its settings, says is best for many short jobs.
    Throughput,
    /// The same for few jobs that should start at once.
    Latency,
}

/// One measurement of one kind of work by one subject.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Measure {
    pub(crate) operations: u64,
    pub(crate) seconds: f64,
    /// Milliseconds of a single operation, where those were taken.
    pub(crate) p50: Option<f64>,
    pub(crate) p99: Option<f64>,
    /// CPU microseconds per operation.
    pub(crate) program: f64,
    pub(crate) server: f64,
    /// What a reader must know beside the figures.
    pub(crate) note: Option<String>,
}

impl Measure {
    pub(crate) fn new(operations: u64, elapsed: Duration, spent: Spent, latencies: Vec<Duration>) -> Self {
        let (p50, p99) = (percentile(latencies.clone(), 50), percentile(latencies, 99));
        let each = |time: Duration| time.as_secs_f64() * 1e6 / as_f64(operations.max(1));
        Self {
            operations,
            seconds: elapsed.as_secs_f64(),
            p50,
            p99,
            program: each(spent.program),
            server: each(spent.server),
            note: None,
        }
    }

    pub(crate) fn noted(self, note: Option<String>) -> Self {
        Self { note, ..self }
    }

    pub(crate) fn per_second(&self) -> f64 {
        as_f64(self.operations) / self.seconds
    }
}

/// Milliseconds.
fn percentile(mut latencies: Vec<Duration>, percent: usize) -> Option<f64> {
    latencies.sort_unstable();
    let last = latencies.len().checked_sub(1)?;
    latencies.get(last * percent / 100).map(|latency| latency.as_secs_f64() * 1e3)
}

#[allow(clippy::cast_precision_loss, reason = "counts of operations stay far below 2^52")]
fn as_f64(count: u64) -> f64 {
    count as f64
}
