//! The commands that look after records, on both stores.
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

use std::time::Duration;

use ratchet::admission::{GateAnswer, GateCommand, GateOrder, Health};
use ratchet::decide::Command;
use ratchet::ledger::{Claim, Offer, Order, Served};
use ratchet::{
    Cause, CauseKind, Context, Destination, Enqueued, Failure, Input, Namespace, OperationName, Outcome,
    Ratchet, Version, WorkerId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{Ended, on};

#[derive(Serialize, Deserialize, Input)]
struct Invoice {
    invoice_id: String,
    #[pii]
    email: String,
}

/// A destination that never answers and does not deduplicate, but for invoices that begin with `good`.
#[ratchet::operation(name = "collect", version = "1", key = "invoice:<invoice_id>:collect")]
async fn collect(_ctx: Context, input: Invoice) -> Result<u32, Failure> {
    if input.invoice_id.starts_with("good") {
        return Ok(12);
    }
    Err(std::io::Error::other(format!("no answer about {}", input.email)).into())
}

async fn enqueue(ratchet: &Ratchet, invoice_id: &str) {
    let invoice = Invoice { invoice_id: invoice_id.to_owned(), email: "ada@example.com".to_owned() };
    assert!(matches!(collect::enqueue(ratchet, invoice).await.unwrap(), Enqueued::New { .. }));
}

/// Works until none of these is pending or running.
async fn work(ratchet: &Ratchet) {
    let worker = ratchet.worker(ratchet::registry![collect]).build().unwrap();
    let quiet = async {
        loop {
            let counts = ratchet.census().await.unwrap();
            if counts.iter().all(|count| count.state.is_settled()) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    worker.run(quiet).await.unwrap();
}

fn json_of(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    serde_json::from_str(&ended.out).unwrap()
}

/// What a person does who finds an uncertain payment.
async fn an_uncertain_record_is_found_read_and_settled(store: &str) {
    let migrated = on(store, &["migrate"]);
    assert_eq!((migrated.code, migrated.err.as_str()), (Some(0), ""));
    let opened = Ratchet::open(store).await.unwrap();
    enqueue(&opened, "good_1").await;
    enqueue(&opened, "lost_1").await;
    work(&opened).await;

    let listed = on(store, &["list", "--state", "uncertain"]);
    assert!(listed.out.contains("uncertain  collect    1"), "{}", listed.out);
    assert!(
        listed.out.contains("invoice:lost_1:collect") && !listed.out.contains("good_1"),
        "{}",
        listed.out
    );

    let key = "invoice:lost_1:collect";
    let shown = on(store, &["show", key]);
    for line in [
        "why      the destination does not recognise a repeated request",
        "effect   may have happened; nobody confirmed it",
        r#"input    {"email":"[redacted]","invoice_id":"lost_1"}"#,
        "attempt 1 ended unknown",
    ] {
        assert!(shown.out.contains(line), "{line} is not in {}", shown.out);
    }
    assert!(!shown.out.contains("ada@example.com"));
    assert_eq!(shown.out.matches("no answer about [redacted]").count(), 2, "{}", shown.out);
    let listed = json_of(&on(store, &["list", "--state", "uncertain", "--json"]));
    assert_eq!(listed["cause"]["detail"], "no answer about [redacted]");

    let foretold = on(store, &["replay", key, "--preview"]);
    assert!(foretold.out.contains("decision    refused: running it again may have the effect twice"));
    assert!(foretold.out.contains("recognised by the destination until never"), "{}", foretold.out);
    let refused = on(store, &["replay", key, "--reason", "try", "--yes"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("accept the risk explicitly"), "{}", refused.err);

    let unasked = on(store, &["reconcile", key, "--found", "applied", "--reason", "seen"]);
    assert_eq!((unasked.code, unasked.out.as_str()), (Some(1), ""));
    assert!(unasked.err.contains("--yes"), "{}", unasked.err);
    let settled = [
        "reconcile",
        key,
        "--found",
        "applied",
        "--result",
        "7",
        "--reason",
        "the provider's page shows it",
        "--by",
        "ada",
        "--yes",
    ];
    assert_eq!(on(store, &settled).out, "succeeded\n");

    let shown = json_of(&on(store, &["show", key, "--json"]));
    assert_eq!(shown["state"], "succeeded");
    assert_eq!(shown["may_be_applied"], false);
    assert_eq!(shown["input"], json!({"invoice_id": "lost_1", "email": "[redacted]"}));
    assert_eq!(shown["timeline"][0]["outcome"], "unknown");
    let decision = &shown["decisions"][0];
    assert_eq!(decision["action"], "resolve");
    assert_eq!(decision["by"], "ada");
    assert_eq!(decision["reason"], "the provider's page shows it");
}

/// Cancel, release and counts.
async fn records_are_cancelled_and_done_once_more(store: &str) {
    let opened = Ratchet::open(store).await.unwrap();
    enqueue(&opened, "good_2").await;
    let key = "invoice:good_2:collect";
    let cancelled = on(store, &["cancel", key, "--reason", "ordered twice", "--by", "bo", "--yes"]);
    assert_eq!((cancelled.code, cancelled.out.as_str()), (Some(0), "cancelled\n"));
    let released = on(store, &["release", key, "--reason", "ordered again", "--by", "bo", "--yes"]);
    assert_eq!(released.out, format!("enqueued as {key}#2\n"));
    let again = on(store, &["release", &format!("{key}#2"), "--reason", "twice", "--yes"]);
    assert_eq!(again.code, Some(1));
    assert!(again.err.contains("no certain end"), "{}", again.err);
    assert_eq!(json_of(&on(store, &["show", &format!("{key}#1"), "--json"]))["state"], "cancelled");
    assert_eq!(json_of(&on(store, &["show", key, "--json"]))["generation"], 2);

    let counted = on(store, &["stats", "--json"]);
    let states: Vec<Value> = counted.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let states: Vec<_> =
        states.iter().map(|count| (count["state"].clone(), count["records"].clone())).collect();
    assert_eq!(
        states,
        [("cancelled".into(), 1.into()), ("pending".into(), 1.into()), ("succeeded".into(), 2.into())]
    );
    let asked =
        GateOrder { destination: Destination::new("payments").at_most(8), command: GateCommand::Enter };
    opened.ledger().admit(vec![asked]).await.unwrap();
    let gate = json_of(&on(store, &["destinations", "--json"]));
    assert_eq!((&gate["destination"], &gate["breaker"]), (&"payments".into(), &"closed".into()));
    assert_eq!((&gate["sends"], &gate["at_most"]), (&1.into(), &8.into()));
    a_gate_is_opened_by_hand(store, &opened).await;
    let purged = on(store, &["purge", "--yes"]);
    assert_eq!((purged.code, purged.out.as_str()), (Some(0), "0 purged\n"));
}

async fn a_gate_is_opened_by_hand(store: &str, opened: &Ratchet) {
    let destination = || Destination::new("payments").breaker(1, Duration::from_hours(1));
    let say = async |command| {
        let order = GateOrder { destination: destination(), command };
        opened.ledger().admit(vec![order]).await.unwrap()[0]
    };
    let GateAnswer::Admitted(permit) = say(GateCommand::Enter).await else { panic!("it is open") };
    say(GateCommand::Leave { permit, health: Health::Failed, pause: None }).await;
    assert_eq!(json_of(&on(store, &["destinations", "--json"]))["breaker"], "open");

    let reopen = ["destinations", "reopen", "payments", "--by", "ada"];
    let without = on(store, &[&reopen[..], &["--yes"]].concat());
    assert!(without.err.contains("say why with `--reason`"), "{}", without.err);
    let unasked = on(store, &[&reopen[..], &["--reason", "paid"]].concat());
    assert_eq!((unasked.code, unasked.err.contains("nothing was done")), (Some(1), true), "{}", unasked.err);
    assert_eq!(json_of(&on(store, &["destinations", "--json"]))["breaker"], "open");

    let done = on(store, &[&reopen[..], &["--reason", "they say it works", "--yes"]].concat());
    assert_eq!((done.code, done.out.as_str()), (Some(0), "payments is open\n"), "{}", done.err);
    let gate = json_of(&on(store, &["destinations", "--json"]));
    assert_eq!(gate["breaker"], "closed");
    assert_eq!(
        (&gate["reopened"][0]["by"], &gate["reopened"][0]["reason"]),
        (&"ada".into(), &"they say it works".into())
    );
    let unknown = on(store, &["destinations", "reopen", "nobody", "--reason", "x", "--yes"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.err.contains("nothing was ever sent"), "{}", unknown.err);
    let listed = on(store, &["destinations"]);
    assert!(!listed.out.contains("nobody"), "asking makes no gate: {}", listed.out);
}

#[test]
fn what_is_about_the_whole_store_takes_no_namespace() {
    let reopen = ["destinations", "reopen", "payments"];
    for command in [&["purge"][..], &["migrate"], &["destinations"], &reopen, &["acknowledge-restore"]] {
        let ended = on("sqlite:nowhere.db", &[command, &["--namespace", "tenant"]].concat());
        assert_eq!(ended.code, Some(2), "{command:?}");
        assert!(ended.err.contains("unexpected argument '--namespace'"), "{command:?}: {}", ended.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_a_file_is_looked_after() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sqlite:{}", folder.path().join("shop.db").display());
    an_uncertain_record_is_found_read_and_settled(&store).await;
    records_are_cancelled_and_done_once_more(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_on_a_server_is_looked_after() {
    let database = ratchet_test_postgres::shared().database().await;
    an_uncertain_record_is_found_read_and_settled(&database.url()).await;
    records_are_cancelled_and_done_once_more(&database.url()).await;
}

#[test]
fn a_mistyped_path_becomes_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("typo.db");
    let listed = on(&format!("sqlite:{}", file.display()), &["list"]);
    assert_eq!(listed.code, Some(2));
    assert!(listed.err.contains("the file does not exist"), "{}", listed.err);
    assert!(!file.exists());
}

#[test]
fn what_is_not_there_is_said_and_told_by_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sqlite:{}", folder.path().join("shop.db").display());
    assert_eq!(on(&store, &["migrate"]).code, Some(0));
    let missing = on(&store, &["show", "invoice:none:collect"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains("there is no record under this key"), "{}", missing.err);
    let bad = on(&store, &["show", "no key at all"]);
    assert_eq!(bad.code, Some(2));
    assert!(!bad.err.contains("no key at all"), "keys of others are not repeated: {}", bad.err);
    let unknown = on(&store, &["list", "--state", "lost"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("states are waiting, pending, running, succeeded"), "{}", unknown.err);
}

/// Nobody has declared what may be shown, so what the worker said is not, and what Ratchet says is.
async fn what_is_not_declared_is_not_shown(store: &str) {
    on(store, &["migrate"]);
    let opened = Ratchet::open(store).await.unwrap();
    enqueue(&opened, "lost_1").await;
    let of = |operation| Served { operation, version: Version::from_static("1") };
    let claim = Claim {
        namespace: Namespace::DEFAULT,
        offers: vec![Offer::new(of(OperationName::from_static("collect")))],
        worker: WorkerId::from_static("w"),
        limit: 1,
        lease: Duration::from_secs(30),
        start_if_safe: false,
    };
    let record = opened.ledger().claim(claim).await.unwrap().remove(0);
    let cause = Cause::new(CauseKind::NotRetryable, "no answer about ada@example.com");
    let settle =
        Command::Settle { token: record.token, outcome: Outcome::Unknown { cause, retry_after: None } };
    let orders = [Command::Start { token: record.token }, settle]
        .map(|command| Order { id: record.id.clone(), command });
    assert!(opened.ledger().apply(orders.into()).await.unwrap().iter().all(Result::is_ok));
    let shown = on(store, &["show", "invoice:lost_1:collect"]).out;
    assert!(shown.contains("cause    [redacted] (not_retryable)") && !shown.contains("no answer"), "{shown}");
    for command in [&["show", "invoice:lost_1:collect", "--json"][..], &["list", "--json"]] {
        assert_eq!(json_of(&on(store, command))["cause"]["detail"], "[redacted]");
    }
}

#[tokio::test]
async fn what_is_not_declared_is_not_shown_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    what_is_not_declared_is_not_shown(&format!("sqlite:{}", folder.path().join("ratchet.db").display()))
        .await;
}
