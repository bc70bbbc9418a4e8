//! Counters and gauges in the format of Prometheus.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use metrics::{counter, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use ratchet::admission::Breaker;
use ratchet::ledger::Count;
use ratchet::{LedgerError, Namespace, RecordState};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::{App, named};
use crate::error::Error;

/// Counting records reads all of them, so a monitor that asks more often gets the counts of before.
const COUNT_EVERY: Duration = Duration::from_secs(15);

/// Seconds, from a read in memory to a slow store.
const LATENCIES: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0];
/// Seconds, from a record that was waited for to one that waited a day.
const WAITS: [f64; 9] = [0.01, 0.1, 1.0, 5.0, 30.0, 300.0, 1800.0, 7200.0, 86400.0];

pub(super) struct Metrics {
    handle: PrometheusHandle,
    counted: Mutex<Counted>,
}

/// What was counted last.
#[derive(Default)]
struct Counted {
    at: Option<Instant>,
    /// Namespace, operation, version and state of everything that was ever counted.
    known: BTreeSet<Labels>,
}

type Labels = [String; 4];

impl Metrics {
    /// Has all metrics of this process, those of the core too, kept for [`text`](Self::text).
    pub(super) fn install() -> Result<Self, Error> {
        let unusable =
            |error: metrics_exporter_prometheus::BuildError| Error::Output(std::io::Error::other(error));
        let handle = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_wait_seconds".to_owned()), &WAITS)
            .and_then(|builder| {
                builder.set_buckets_for_metric(Matcher::Suffix("_request_seconds".to_owned()), &LATENCIES)
            })
            .and_then(PrometheusBuilder::install_recorder)
            .map_err(unusable)?;
        Ok(Self { handle, counted: Mutex::default() })
    }

    /// Keeps nothing: a process has one that does.
    #[cfg(feature = "testing")]
    pub(super) fn unused() -> Self {
        Self { handle: PrometheusBuilder::new().build_recorder().handle(), counted: Mutex::default() }
    }

    /// Everything, as Prometheus reads it.
    pub(super) async fn text(&self, app: &App) -> Result<String, LedgerError> {
        let mut counted = self.counted.lock().await;
        if counted.at.is_none_or(|at| at.elapsed() >= COUNT_EVERY) {
            show_records(&mut counted.known, &count(app).await?);
            counted.at = Some(Instant::now());
        }
        drop(counted);
        self.tidy();
        Ok(self.handle.render())
    }

    /// Adds latencies up, which are kept one by one until then: also where nobody asks for metrics.
    pub(super) fn tidy(&self) {
        self.handle.run_upkeep();
    }
}

/// A request was answered.
pub(super) fn answered(method: &Method, route: &str, status: StatusCode, took: Duration) {
    let (method, route, status) = (known(method), route.to_owned(), status.as_u16().to_string());
    counter!("ratchet_http_requests_total", "method" => method, "route" => route.clone(), "status" => status)
        .increment(1);
    histogram!("ratchet_http_request_seconds", "method" => method, "route" => route)
        .record(took.as_secs_f64());
}

/// Callers can make methods up, and each would be a series that is kept for ever.
fn known(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

/// Counts records; what is no number of records is shown at once.
async fn count(app: &App) -> Result<BTreeMap<Labels, u64>, LedgerError> {
    let mut namespaces: BTreeSet<Namespace> = super::keys::namespaces(app.shelf()).await?;
    namespaces.insert(Namespace::DEFAULT);
    let mut records = BTreeMap::new();
    for namespace in namespaces {
        count_records(app, namespace, &mut records).await?;
    }
    for gate in app.ledger().gates().await? {
        let open = !matches!(gate.gate.breaker, Breaker::Closed { .. });
        gauge!("ratchet_breaker_open", "destination" => gate.destination.to_string())
            .set(f64::from(u8::from(open)));
    }
    Ok(records)
}

async fn count_records(
    app: &App,
    namespace: Namespace,
    records: &mut BTreeMap<Labels, u64>,
) -> Result<(), LedgerError> {
    let mut oldest_uncertain = Duration::ZERO;
    for counted in app.ledger().census(namespace.clone()).await? {
        let Count { of, state, records: number, oldest } = counted;
        let [operation, version] = named::version(of);
        *records.entry([namespace.to_string(), operation, version, state.to_string()]).or_default() += number;
        if state == RecordState::Uncertain {
            oldest_uncertain = oldest_uncertain.max(app.now().since(oldest));
        }
    }
    gauge!("ratchet_oldest_uncertain_seconds", "namespace" => namespace.to_string())
        .set(oldest_uncertain.as_secs_f64());
    Ok(())
}

/// Of what was there once and is not any more, there are none: a gauge that nobody sets would stand still.
#[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
fn show_records(known: &mut BTreeSet<Labels>, counted: &BTreeMap<Labels, u64>) {
    known.extend(counted.keys().cloned());
    for labels in known.iter() {
        let records = counted.get(labels).copied().unwrap_or(0);
        let [namespace, operation, version, state] = labels.clone();
        gauge!("ratchet_records",
            "namespace" => namespace, "operation" => operation, "version" => version, "state" => state)
        .set(records as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_that_callers_make_up_are_one_series() {
        assert_eq!(known(&Method::PATCH), "PATCH");
        for made_up in ["get", "BREW", "X1"] {
            assert_eq!(known(&Method::from_bytes(made_up.as_bytes()).unwrap()), "other");
        }
    }

    #[test]
    fn what_is_not_there_any_more_is_shown_as_none() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        let labels = ["default", "charge", "1", "uncertain"].map(str::to_owned);
        let shown = |number: u32| {
            let labels = r#"namespace="default",operation="charge",version="1",state="uncertain""#;
            format!("ratchet_records{{{labels}}} {number}\n")
        };
        metrics::with_local_recorder(&recorder, || {
            let mut known = BTreeSet::new();
            show_records(&mut known, &BTreeMap::from([(labels, 3)]));
            assert!(handle.render().contains(&shown(3)));
            show_records(&mut known, &BTreeMap::new());
            assert!(handle.render().contains(&shown(0)));
        });
    }
}
