//! `ratchet doctor` on stores that are well, and on those that are not.
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ratchet::ledger::{Claim, Declaration, Offer};
use ratchet::postgres::PostgresOptions;
use ratchet::sqlite::SqliteOptions;
use ratchet::{
    Clock, Context, Contract, Enqueued, Failure, Input, Namespace, Policy, Ratchet, RetryPolicy, SharedClock,
    Timestamp, WorkerId,
};
use ratchet_test_postgres::Server;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::support::on;

#[derive(Serialize, Deserialize, Input)]
struct Parcel {
    parcel_id: u64,
}

#[ratchet::operation(name = "ship", version = "1", key = "parcel:<parcel_id>:ship")]
async fn ship(_ctx: Context, input: Parcel) -> Result<u64, Failure> {
    match input.parcel_id {
        0 => Err(std::io::Error::other("connection reset").into()),
        parcel_id => Ok(parcel_id),
    }
}

/// What was said an hour ago.
#[derive(Debug)]
struct AnHourAgo;

impl Clock for AnHourAgo {
    fn now(&self) -> Timestamp {
        (SystemTime::now() - Duration::from_hours(1)).into()
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

fn an_hour_ago() -> SharedClock {
    Arc::new(AnHourAgo)
}

async fn enqueue(ratchet: &Ratchet, parcel_id: u64) {
    let answer = ship::enqueue(ratchet, Parcel { parcel_id }).await.unwrap();
    assert!(matches!(answer, Enqueued::New { .. }));
}

async fn work(ratchet: &Ratchet) {
    let worker = ratchet.worker(ratchet::registry![ship]).build().unwrap();
    let quiet = async {
        while !ratchet.census().await.unwrap().iter().all(|count| count.state.is_settled()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    worker.run(quiet).await.unwrap();
}

struct Seen {
    code: Option<i32>,
    findings: Vec<Value>,
}

impl Seen {
    /// State and what was found.
    fn of(&self, check: &str) -> (&str, &str) {
        let finding = self.findings.iter().find(|finding| finding["check"] == check);
        let finding = finding.unwrap_or_else(|| panic!("no check `{check}` in {:?}", self.findings));
        (finding["state"].as_str().unwrap(), finding["found"].as_str().unwrap())
    }

    /// The checks that need attention.
    fn complaints(&self) -> Vec<&str> {
        let needs = |finding: &&Value| finding["state"] == "attention";
        self.findings.iter().filter(needs).map(|finding| finding["check"].as_str().unwrap()).collect()
    }
}

fn doctor(store: &str) -> Seen {
    let ended = on(store, &["doctor", "--json"]);
    let findings = ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seen = Seen { code: ended.code, findings };
    for finding in &seen.findings {
        let explained = finding["state"] != "ok";
        assert_eq!((finding["why"].is_string(), finding["do"].is_string()), (explained, explained));
    }
    seen
}

async fn a_healthy_store_needs_nothing(store: &str) -> Seen {
    assert_eq!(on(store, &["migrate"]).code, Some(0));
    let opened = Ratchet::open(store).await.unwrap();
    enqueue(&opened, 7).await;
    work(&opened).await;
    let seen = doctor(store);
    assert_eq!((seen.complaints(), seen.code), (vec![], Some(0)));
    assert_eq!(seen.of("uncertain records"), ("ok", "none"));
    assert_eq!(seen.of("leases that are over"), ("ok", "none"));
    assert_eq!(seen.of("due records"), ("ok", "0, none for long"));
    assert_eq!(seen.of("windows"), ("ok", "1 declared, all fit"));
    assert_eq!(seen.of("clocks").0, "ok");
    seen
}

/// `past` is the same store, seen by programs of an hour ago.
async fn what_needs_a_person_is_found(store: &str, past: Ratchet) {
    let opened = Ratchet::open(store).await.unwrap();
    enqueue(&opened, 0).await;
    work(&opened).await;
    let seen = doctor(store);
    assert_eq!((seen.complaints(), seen.code), (vec!["uncertain records"], Some(1)));
    assert!(seen.of("uncertain records").1.starts_with("1, the oldest enqueued at 20"));

    enqueue(&past, 1).await;
    let seen = doctor(store);
    let due = "due: ship version 1 in queue default";
    assert_eq!(seen.complaints(), ["uncertain records", due]);
    assert!(seen.of(due).1.starts_with("1, the longest waiting since 20"));

    let claim = Claim {
        namespace: Namespace::DEFAULT,
        offers: ratchet::registry![ship].offers().collect::<Vec<Offer>>(),
        worker: WorkerId::new("gone").unwrap(),
        limit: 10,
        lease: Duration::from_secs(30),
        start_if_safe: false,
    };
    assert_eq!(past.ledger().claim(claim).await.unwrap().len(), 1);
    let seen = doctor(store);
    assert_eq!(seen.complaints(), ["uncertain records", "leases that are over"]);
    assert!(seen.of("leases that are over").1.starts_with("1, the oldest since 20"));

    let contract = Contract::header("Idempotency-Key").remembers_for(Duration::from_mins(10)).terms();
    let retry = RetryPolicy::doubling(5, Duration::from_mins(5), Duration::from_mins(5));
    let policy = Policy { retry, ..Policy::DEFAULT };
    let refund = Declaration {
        policy,
        contract,
        ..Declaration::new(
            ratchet::OperationName::new("refund").unwrap(),
            ratchet::Version::new("2").unwrap(),
            "refund:<id>",
        )
    };
    opened.ledger().declare(vec![refund]).await.unwrap();
    let seen = doctor(store);
    assert_eq!(seen.complaints(), ["uncertain records", "leases that are over", "window: refund version 2"]);
    // Four waits of five minutes and a fifth, and five attempts of a minute; a tenth of the retention is kept back.
    let expected = ("attention", "retries for up to 1740 s, recognised for 540 s");
    assert_eq!(seen.of("window: refund version 2"), expected);
    let people = on(store, &["doctor"]);
    assert_eq!(people.code, Some(1));
    assert!(people.out.contains("attention  window: refund version 2"), "{}", people.out);
    assert!(people.out.contains("do   shorten the retries"), "{}", people.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_a_file_is_looked_over() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sqlite:{}", folder.path().join("shop.db").display());
    assert_eq!(on(&store, &["doctor"]).code, Some(2), "it makes no store");
    let seen = a_healthy_store_needs_nothing(&store).await;
    assert_eq!(seen.of("journal_mode"), ("ok", "wal"));
    assert_eq!(seen.of("synchronous"), ("ok", "2"));
    assert_eq!(seen.of("schema"), ("ok", "6"));
    let (state, found) = seen.of("restored backup");
    assert_eq!(state, "unknown");
    assert!(found.ends_with("and its high-water mark lies beside it"), "{found}");
    let past = SqliteOptions::new().clock(an_hour_ago()).open(&store).await.unwrap();
    what_needs_a_person_is_found(&store, Ratchet::with_ledger(past)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_on_a_server_is_looked_over() {
    let database = ratchet_test_postgres::shared().database().await;
    let store = database.url();
    let seen = a_healthy_store_needs_nothing(&store).await;
    for setting in ["fsync", "full_page_writes", "synchronous_commit"] {
        assert_eq!(seen.of(setting), ("ok", "on"));
    }
    assert_eq!(seen.of("read-only"), ("ok", "no"));
    assert_eq!(seen.of("autovacuum of ratchet.progress"), ("ok", "yes"));
    let expected = ("unknown", "cannot be detected: no worker keeps a high-water mark of this store");
    assert_eq!(seen.of("restored backup"), expected);
    let past = PostgresOptions::new().clock(an_hour_ago()).open(&store).await.unwrap();
    what_needs_a_person_is_found(&store, Ratchet::with_ledger(past)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_may_lose_or_bloat_is_told() {
    let server = Server::start_with(
        "fsync = off\nfull_page_writes = off\nsynchronous_commit = off\nautovacuum = off\n",
    );
    let store = server.url("postgres");
    assert_eq!(on(&store, &["migrate"]).code, Some(0));
    let seen = doctor(&store);
    let expected = ["fsync", "full_page_writes", "synchronous_commit", "autovacuum of ratchet.progress"];
    assert_eq!((seen.complaints(), seen.code), (expected.to_vec(), Some(1)));
}
