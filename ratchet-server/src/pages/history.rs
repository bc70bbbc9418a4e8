//! How many records there were in each state, as far back as this server looked: up to a day.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ratchet::ledger::Count;
use ratchet::{Client, LedgerError, Namespace, RecordState, Timestamp};

/// How often records are counted at the most.
const PERIOD: Duration = Duration::from_secs(15);

/// Counting reads every record, so it is at rest for so many times the time that it took.
const REST: u32 = 50;

/// How old a count may be for the one who looks at the page.
const FRESH: Duration = Duration::from_secs(2);

/// A day, at the shortest period.
const MOST_SAMPLES: usize = 24 * 60 * 4;

/// How many records were in each state at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) at: Timestamp,
    counts: [u64; RecordState::ALL.len()],
}

/// The samples of each namespace that somebody has looked at.
#[derive(Default)]
pub(super) struct History {
    watched: Mutex<BTreeMap<Namespace, Watched>>,
}

#[derive(Default)]
struct Watched {
    samples: VecDeque<Sample>,
    latest: Option<(Instant, Arc<[Count]>)>,
}

impl Sample {
    fn of(counts: &[Count], at: Timestamp) -> Self {
        let of_state =
            |state| counts.iter().filter(|count| count.state == state).map(|count| count.records).sum();
        Self { at, counts: RecordState::ALL.map(of_state) }
    }

    pub(super) fn of_state(&self, state: RecordState) -> u64 {
        let same = RecordState::ALL.iter().zip(&self.counts).find(|(other, _)| **other == state);
        same.map_or(0, |(_, records)| *records)
    }

    #[cfg(test)]
    pub(super) fn with(at: Timestamp, counts: &[(RecordState, u64)]) -> Self {
        let of_state =
            |state| counts.iter().find(|(other, _)| *other == state).map_or(0, |(_, records)| *records);
        Self { at, counts: RecordState::ALL.map(of_state) }
    }
}

impl History {
    /// The records of a client's namespace by operation, version and state, counted a moment ago. From now on this namespace
    /// is watched.
    pub(super) async fn census(&self, client: &Client) -> Result<Arc<[Count]>, LedgerError> {
        if let Some((at, counts)) = self.with(client.namespace(), |watched| watched.latest.clone())
            && at.elapsed() < FRESH
        {
            return Ok(counts);
        }
        self.count(client).await
    }

    pub(super) fn samples(&self, namespace: &Namespace) -> Vec<Sample> {
        self.with(namespace, |watched| watched.samples.iter().copied().collect())
    }

    async fn count(&self, client: &Client) -> Result<Arc<[Count]>, LedgerError> {
        let counts: Arc<[Count]> = client.census().await?.into();
        let at = std::time::SystemTime::now().into();
        self.with(client.namespace(), |watched| watched.keep(counts.clone(), at));
        Ok(counts)
    }

    fn with<T>(&self, namespace: &Namespace, work: impl FnOnce(&mut Watched) -> T) -> T {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        work(watched.entry(namespace.clone()).or_default())
    }

    fn namespaces(&self) -> Vec<Namespace> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Counts the records of what is watched, again and again.
    pub(super) async fn watch(self: Arc<Self>, client: Client) {
        loop {
            let began = Instant::now();
            for namespace in self.namespaces() {
                if let Err(error) = self.count(&client.in_namespace(namespace)).await {
                    tracing::warn!(%error, "records cannot be counted");
                }
            }
            tokio::time::sleep((began.elapsed() * REST).max(PERIOD)).await;
        }
    }
}

impl Watched {
    fn keep(&mut self, counts: Arc<[Count]>, at: Timestamp) {
        let is_due =
            self.samples.back().is_none_or(|last| at.since(last.at) >= PERIOD - Duration::from_secs(1));
        if is_due {
            self.samples.push_back(Sample::of(&counts, at));
        }
        if self.samples.len() > MOST_SAMPLES {
            self.samples.pop_front();
        }
        self.latest = Some((Instant::now(), counts));
    }
}
