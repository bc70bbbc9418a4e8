//! How many records there were in each state, as far back as servers of this store looked: up to a day.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ratchet::ledger::Count;
use ratchet::{Client, DocumentKind, LedgerError, Namespace, RecordState, Timestamp};
use serde::{Deserialize, Serialize};

use crate::serve::App;
use crate::serve::shelf::{KeepError, Kept};

/// How often records are counted at the most.
const PERIOD: Duration = Duration::from_secs(15);

/// Counting reads every record, so it is at rest for so many times the time that it took.
const REST: u32 = 50;

/// How old a count may be for who looks at a page; more, where counting takes long.
const FRESH: Duration = Duration::from_secs(2);

/// A day, at the shortest period.
const MOST_SAMPLES: usize = 24 * 60 * 4;

/// How far apart samples are that outlive the server: a day of them fits into one document.
const KEPT_PERIOD: Duration = Duration::from_mins(5);
const MOST_KEPT: usize = 24 * 12;

/// The document of a namespace.
const KEPT_AS: &str = "states";

/// How many records were in each state at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sample {
    pub(super) at: Timestamp,
    /// What is missing is none.
    counts: BTreeMap<RecordState, u64>,
}

/// What outlives the server, and what servers of one store share.
#[derive(Default, Serialize, Deserialize)]
struct KeptSamples {
    samples: VecDeque<Sample>,
}

impl Kept for KeptSamples {
    const KIND: DocumentKind = DocumentKind::from_static("state_history");
}

impl KeptSamples {
    /// With one more at the end, if it is due.
    fn with(mut self, sample: &Sample) -> Option<Self> {
        if self.samples.back().is_some_and(|last| sample.at.since(last.at) < KEPT_PERIOD) {
            return None;
        }
        self.samples.push_back(sample.clone());
        while self.samples.len() > MOST_KEPT {
            self.samples.pop_front();
        }
        Some(self)
    }
}

/// The samples of each namespace that somebody has looked at.
#[derive(Default)]
pub(super) struct History {
    watched: Mutex<BTreeMap<Namespace, Watched>>,
}

#[derive(Default)]
struct Watched {
    samples: VecDeque<Sample>,
    latest: Option<Latest>,
    /// What outlived an earlier server is among the samples.
    is_begun: bool,
}

#[derive(Clone)]
struct Latest {
    counts: Arc<[Count]>,
    at: Instant,
    took: Duration,
}

impl Sample {
    fn of(counts: &[Count], at: Timestamp) -> Self {
        let mut sample = Self { at, counts: BTreeMap::new() };
        for count in counts {
            *sample.counts.entry(count.state).or_default() += count.records;
        }
        sample
    }

    pub(super) fn of_state(&self, state: RecordState) -> u64 {
        self.counts.get(&state).copied().unwrap_or(0)
    }

    #[cfg(test)]
    pub(super) fn with(at: Timestamp, counts: &[(RecordState, u64)]) -> Self {
        Self { at, counts: counts.iter().copied().collect() }
    }
}

impl History {
    /// The records of a client's namespace by operation, version and state, counted a moment ago. From now on this namespace
    /// is watched.
    pub(super) async fn census(&self, client: &Client) -> Result<Arc<[Count]>, LedgerError> {
        if let Some(latest) = self.with(client.namespace(), |watched| watched.latest.clone())
            && latest.at.elapsed() < (latest.took * REST).max(FRESH)
        {
            return Ok(latest.counts);
        }
        self.count(client).await
    }

    pub(super) fn watch_from_now_on(&self, namespace: &Namespace) {
        self.with(namespace, |_| ());
    }

    pub(super) fn samples(&self, namespace: &Namespace) -> Vec<Sample> {
        self.with(namespace, |watched| watched.samples.iter().cloned().collect())
    }

    async fn count(&self, client: &Client) -> Result<Arc<[Count]>, LedgerError> {
        let began = Instant::now();
        let counts: Arc<[Count]> = client.census().await?.into();
        let latest = Latest { counts: counts.clone(), at: Instant::now(), took: began.elapsed() };
        let at = std::time::SystemTime::now().into();
        self.with(client.namespace(), |watched| watched.keep(latest, at));
        Ok(counts)
    }

    fn with<T>(&self, namespace: &Namespace, work: impl FnOnce(&mut Watched) -> T) -> T {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        work(watched.entry(namespace.clone()).or_default())
    }

    fn namespaces(&self) -> Vec<Namespace> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Begins with what outlived an earlier server; counts the records of what is watched, again and again.
    pub(super) async fn watch(self: Arc<Self>, app: App) {
        loop {
            let began = Instant::now();
            for namespace in self.namespaces() {
                if let Err(error) = self.look(&app, &namespace).await {
                    tracing::warn!(%error, "records cannot be counted for the pictures of the pages");
                }
            }
            tokio::time::sleep((began.elapsed() * REST).max(PERIOD)).await;
        }
    }

    async fn look(&self, app: &App, namespace: &Namespace) -> Result<(), KeepError> {
        if !self.with(namespace, |watched| watched.is_begun) {
            let kept: KeptSamples = app.shelf().read(namespace, KEPT_AS).await?.unwrap_or_default();
            self.with(namespace, |watched| watched.begin_with(kept.samples));
        }
        self.count(&app.client(namespace)).await?;
        let newest = self.with(namespace, |watched| watched.samples.back().cloned());
        if let Some(newest) = newest {
            let with_it = |kept: Option<KeptSamples>| kept.unwrap_or_default().with(&newest);
            app.shelf().change(namespace, KEPT_AS, with_it).await?;
        }
        Ok(())
    }
}

impl Watched {
    fn begin_with(&mut self, mut kept: VecDeque<Sample>) {
        kept.retain(|one| self.samples.front().is_none_or(|first| one.at < first.at));
        kept.append(&mut self.samples);
        self.samples = kept;
        self.is_begun = true;
    }

    fn keep(&mut self, latest: Latest, at: Timestamp) {
        const SLACK: Duration = Duration::from_secs(1);
        if self.samples.back().is_none_or(|last| at.since(last.at) >= PERIOD.saturating_sub(SLACK)) {
            self.samples.push_back(Sample::of(&latest.counts, at));
        }
        while self.samples.len() > MOST_SAMPLES {
            self.samples.pop_front();
        }
        self.latest = Some(latest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_of_samples_is_kept_at_distances_of_five_minutes() {
        let at = |minutes: u64| Timestamp::EPOCH.after(Duration::from_mins(minutes));
        let mut kept = KeptSamples::default();
        for minute in 0..=(24 * 60 + 10) {
            let sample = Sample::with(at(minute), &[(RecordState::Pending, minute)]);
            let standing = KeptSamples { samples: kept.samples.clone() };
            kept = standing.with(&sample).unwrap_or(kept);
        }
        let ends = (kept.samples.len(), kept.samples.front().unwrap().at, kept.samples.back().unwrap().at);
        assert_eq!(ends, (288, at(15), at(24 * 60 + 10)));
        let json = serde_json::to_string(&kept.samples[0]).unwrap();
        assert_eq!(json, r#"{"at":900000,"counts":{"pending":15}}"#);
    }

    #[test]
    fn what_outlived_a_server_comes_before_what_this_one_has_seen() {
        let at = |seconds: i64| Sample::with(Timestamp::from_millis(seconds * 1000), &[]);
        let mut watched = Watched { samples: VecDeque::from([at(50)]), ..Watched::default() };
        watched.begin_with(VecDeque::from([at(10), at(20), at(60)]));
        assert_eq!(watched.samples, [at(10), at(20), at(50)]);
    }
}
