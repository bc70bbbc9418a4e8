//! What is written comes back as it was, whatever a record holds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ratchet_core::ledger::desk::{AttemptNotes, Sheet};
use ratchet_core::{
    Attempt, AttemptEnd, AuditEntry, Cause, CauseKind, Contract, Effect, Fingerprint, Generation, Key, Lease,
    Namespace, OnUnknown, OperationName, OutcomeKind, Payload, Pin, Policy, Priority, Queue, Recipe, Record,
    RecordId, RequestFingerprint, RetryPolicy, Scope, SecretId, State, Step, StepName, StepState, Timestamp,
    Token, Uncertainty, Version, WorkerId, serde_json::json,
};
use sqlx::{Connection as _, SqliteConnection};

use crate::usual::Usual;
use crate::{audit, desk, insert, schema, write};

async fn empty() -> SqliteConnection {
    let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
    schema::bring_up_to_date(&mut connection).await.unwrap();
    connection
}

/// A record that was only submitted.
fn bare() -> Record {
    Record {
        id: RecordId {
            namespace: Namespace::DEFAULT,
            operation: OperationName::from_static("collect_invoice"),
            key: Key::parse("invoice:Zo%C3%AB:collect:v1").unwrap(),
            generation: Generation::FIRST,
        },
        version: Version::from_static("1.0+x"),
        fingerprint: Fingerprint::of(b"input"),
        input: awkward("input"),
        policy: Policy::DEFAULT,
        queue: Queue::from_static("bulk.mail-2"),
        priority: Priority(i16::MIN),
        group: None,
        after: None,
        trace: None,
        created_at: Timestamp::from_millis(-5),
        state: State::Pending,
        ready_at: Timestamp::from_millis(i64::MAX),
        token: Token::NONE,
        lease: None,
        attempts: 0,
        spent: 0,
        effect: Effect::new(Contract::NONE.terms()),
        steps: BTreeMap::new(),
        cancel_requested: false,
        risk_accepted: false,
        result: None,
        cause: None,
        uncertainty: None,
        reconcile_at: None,
        settled_at: None,
    }
}

/// The same record with everything that can be said about it.
fn full() -> Record {
    let step = Step {
        state: StepState::Done,
        effect: started(Contract::header("X-Request-Id").remembers_for(Duration::from_millis(1_500))),
        reconciles: true,
        result: Some(awkward("step")),
    };
    let unfinished = Step {
        state: StepState::Started,
        effect: Effect::new(Contract::STEPS.terms()),
        reconciles: false,
        result: None,
    };
    Record {
        policy: Policy {
            retry: RetryPolicy::RELAXED.within(Duration::new(3, 7)),
            on_unknown: OnUnknown::MayLose,
            reconciles: true,
            ..Policy::DEFAULT
        },
        state: State::Uncertain,
        token: Token::new(9),
        lease: Some(Lease {
            worker: WorkerId::from_static("worker-1"),
            until: Timestamp::from_millis(77),
            started_at: Some(Timestamp::from_millis(66)),
        }),
        attempts: u32::MAX,
        spent: 4,
        effect: started(Contract::header("Idempotency-Key").remembers_forever()),
        steps: BTreeMap::from([
            (StepName::from_static("charge"), step),
            (StepName::from_static("mail"), unfinished),
        ]),
        cancel_requested: true,
        risk_accepted: true,
        result: Some(awkward("result")),
        cause: Some(Cause::new(CauseKind::Status(503), "\"busy\" \\ \u{1F600}")),
        uncertainty: Some(Uncertainty::WindowOver),
        reconcile_at: Some(Timestamp::from_millis(88)),
        settled_at: Some(Timestamp::from_millis(99)),
        ..bare()
    }
}

fn started(contract: Contract) -> Effect {
    Effect {
        may_be_applied: true,
        first_started_at: Some(Timestamp::from_millis(11)),
        pin: Some(Box::new(Pin {
            wire_key: "wire\0key 'quoted' \"twice\" \\ \u{1F600}".to_owned(),
            recipe: Recipe(3),
            secret: Some(SecretId::from_static("2026")),
            place: "field a\"b".to_owned(),
            scope: Scope::of("").account("a").region("r").route("POST /"),
            request: RequestFingerprint::new("POST", "https://x", b"request"),
            kept: None,
            by: Token::new(2),
            first_at: Timestamp::from_millis(22),
        })),
        ..Effect::new(contract.terms())
    }
}

/// A document that whoever quotes it once too often, or once too little, does not give back.
fn awkward(what: &str) -> Payload {
    let value = json!({ "what": what, "null": null, "text": "\0\u{1}\"\\'\u{2028}\u{1F600}\u{FFFD}", "list": [1.5, true, []] });
    Payload::encode(&value, Payload::LARGEST_RESULT).unwrap()
}

async fn stored(connection: &mut SqliteConnection) -> Record {
    let ids = BTreeSet::from([&bare().id]).into_iter().cloned().collect::<Vec<_>>();
    let desk = desk::load_identities(connection, &ids.iter().collect()).await.unwrap();
    let [sheet] = &desk.sheets[..] else { panic!("one record") };
    sheet.record.clone()
}

async fn change(connection: &mut SqliteConnection, from: &Record, to: &Record) {
    let sheet = Sheet {
        row: 1,
        record: to.clone(),
        was: (from.state, from.token),
        changed: true,
        changed_steps: to.steps.keys().cloned().collect(),
        changed_terms: (&from.policy, &from.effect.contract) != (&to.policy, &to.effect.contract),
    };
    write::records(connection, std::slice::from_ref(&sheet), &Usual::default()).await.unwrap();
    write::steps(connection, &[sheet]).await.unwrap();
}

#[tokio::test]
async fn a_record_comes_back_as_it_was_inserted() {
    let mut connection = empty().await;
    let record = Record { policy: full().policy, effect: Effect::new(full().effect.contract), ..bare() };
    insert::records(&mut connection, &[&record], None).await.unwrap();
    assert_eq!(stored(&mut connection).await, record);
}

#[tokio::test]
async fn a_record_comes_back_as_it_was_changed() {
    let mut connection = empty().await;
    let (before, fixed) = (bare(), full());
    insert::records(&mut connection, &[&before], None).await.unwrap();
    change(&mut connection, &before, &fixed).await;
    assert_eq!(stored(&mut connection).await, fixed);
    // Steps stay, and there are none before the first lease.
    let plain = Record { token: fixed.token, steps: fixed.steps.clone(), ..before };
    change(&mut connection, &fixed, &plain).await;
    assert_eq!(stored(&mut connection).await, plain);
}

#[tokio::test]
async fn a_change_insists_on_the_row_that_was_read() {
    let mut connection = empty().await;
    insert::records(&mut connection, &[&bare()], None).await.unwrap();
    for was in [(State::Running, Token::NONE), (State::Pending, Token::new(1))] {
        let sheet = Sheet { was, changed: true, ..Sheet::new(1, full()) };
        assert!(write::records(&mut connection, &[sheet], &Usual::default()).await.is_err(), "{was:?}");
        assert_eq!(stored(&mut connection).await, bare());
    }
}

#[tokio::test]
async fn attempts_come_back_and_a_certain_end_stays() {
    let mut connection = empty().await;
    insert::records(&mut connection, &[&bare()], None).await.unwrap();
    let token = Token::new(1);
    let mut attempt = Attempt {
        token,
        worker: WorkerId::from_static("worker-1"),
        version: Version::from_static("1.0+x"),
        leased_at: Timestamp::from_millis(1),
        started_at: None,
        end: None,
    };
    let mut notes = AttemptNotes::default();
    notes.opened.insert((1, token), attempt.clone());
    write::attempts(&mut connection, &notes, &Usual::default()).await.unwrap();
    assert_eq!(attempts(&mut connection).await, [attempt.clone()]);

    let end = |outcome, late| AttemptEnd {
        at: Timestamp::from_millis(5),
        outcome,
        cause: Some(Cause::new(CauseKind::Panic, "it's \"over\"")),
        late,
    };
    attempt.started_at = Some(Timestamp::from_millis(2));
    for end in [
        end(OutcomeKind::Unknown, false),
        end(OutcomeKind::Unknown, true),
        end(OutcomeKind::Rejected, true),
        end(OutcomeKind::Done, false),
    ] {
        let mut notes = AttemptNotes::default();
        notes.started.insert((1, token), Timestamp::from_millis(2));
        notes.ended.insert((1, token), end.clone());
        write::attempts(&mut connection, &notes, &Usual::default()).await.unwrap();
        attempt.end_with(end);
        assert_eq!(attempts(&mut connection).await, [attempt.clone()]);
    }
}

async fn attempts(connection: &mut SqliteConnection) -> Vec<Attempt> {
    let rows = sqlx::query("SELECT * FROM ratchet_attempts").fetch_all(connection).await.unwrap();
    rows.iter().map(|row| crate::read::read_attempt(row).unwrap()).collect()
}

#[tokio::test]
async fn the_audit_trail_keeps_any_text() {
    let mut connection = empty().await;
    insert::records(&mut connection, &[&bare()], None).await.unwrap();
    let entry = AuditEntry {
        at: Timestamp::from_millis(1),
        by: "O'Neill \0 \"x\"".to_owned(),
        action: "cancel".to_owned(),
        reason: String::new(),
        from: State::Pending,
        to: State::Cancelled,
    };
    audit::write_for(&mut connection, &bare().id, &entry).await.unwrap();
    let row = sqlx::query("SELECT * FROM ratchet_audit").fetch_one(&mut connection).await.unwrap();
    assert_eq!(audit::read(&row).unwrap(), entry);
}

/// A long settled history must not slow claims down: every step of one goes straight to its part of the index.
#[tokio::test]
async fn claims_seek_in_the_index_of_pending_records() {
    let mut connection = empty().await;
    for statement in [crate::claim::SHELVES, crate::claim::DUE] {
        let on_records = steps_on_tables(&mut connection, statement).await;
        assert!(!on_records.is_empty());
        for step in on_records {
            let seeks = step.contains("SEARCH r USING")
                && step.contains(
                    "ratchet_records_pending (namespace=? AND queue=? AND operation=? AND version=?",
                );
            assert!(seeks, "{step}");
        }
    }
}

/// A backlog that was analysed before anybody ran must not turn leases and ends round: the list goes to the rows by their
/// numbers, and not each row to the whole list.
#[tokio::test]
async fn leases_and_ends_go_by_the_number_of_the_row_whatever_the_statistics_say() {
    let mut connection = empty().await;
    let backlog: Vec<Record> = (0..1_000)
        .map(|number| {
            let mut record = bare();
            record.id.key = Key::parse(&format!("invoice:{number}:collect:v1")).unwrap();
            record
        })
        .collect();
    insert::records(&mut connection, &backlog.iter().collect::<Vec<_>>(), None).await.unwrap();
    sqlx::query("ANALYZE").execute(&mut connection).await.unwrap();
    for statement in [crate::usual::LEASE, crate::usual::SUCCEED_AT_ONCE, crate::usual::SUCCEED] {
        let on_records = steps_on_tables(&mut connection, statement).await;
        assert_eq!(on_records.len(), 1, "{on_records:?}");
        assert!(on_records[0].contains("USING INTEGER PRIMARY KEY"), "{on_records:?}");
    }
}

/// How the planner goes about a statement, as far as it is about our tables.
async fn steps_on_tables(connection: &mut SqliteConnection, statement: &str) -> Vec<String> {
    let explain = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
    let plan: Vec<(i64, i64, i64, String)> = sqlx::query_as(explain).fetch_all(connection).await.unwrap();
    plan.into_iter()
        .map(|(.., step)| step)
        .filter(|step| step.contains("ratchet_") || step.starts_with("SEARCH r "))
        .collect()
}
