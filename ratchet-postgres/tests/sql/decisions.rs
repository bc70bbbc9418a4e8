//! For every state of a record the functions answer and write what the ledger does.

use ratchet_core::decide::{Answer, Command, Refusal, Stored};
use ratchet_core::ledger::{Declaration, Order};
use ratchet_core::{
    Conflict, Form, Generation, Ledger as _, Payload, Queue, Renewal, Submission, Submitted, Version,
};
use ratchet_postgres::PostgresLedger;
use ratchet_postgres::sqlx::{self, PgConnection, Row as _};

use crate::stages::{Stage, make};
use crate::support::{OPERATION, POLICY, TEMPLATE, database, declared, id, input, refusal, submission, text};

/// What both sides leave of the records of a namespace, but for row numbers and moments.
async fn rows(connection: &mut PgConnection, namespace: &str) -> String {
    const ROWS: &str = "SELECT coalesce(jsonb_agg(to_jsonb(r) || coalesce(to_jsonb(p), '{}') || jsonb_build_object( \
            'id', 0, 'record_id', 0, 'after_id', 0, 'namespace', '', 'created_at', 0, 'not_before', 0, 'ready_at', 0, 'lease_until', 0, \
            'attempt_leased_at', 0, 'attempt_started_at', 0, 'attempt_ended_at', 0, 'first_started_at', 0, 'ended_at', 0, 'fingerprint', encode(r.fingerprint, 'hex'), \
            'reconcile_at', p.reconcile_at - p.settled_at, 'purge_at', p.purge_at - p.settled_at, \
            'settled_at', p.settled_at IS NOT NULL, 'audit', (SELECT jsonb_agg(to_jsonb(a) - 'id' - 'record_id' - 'at') \
                FROM ratchet.audit AS a WHERE a.record_id = r.id)) ORDER BY r.generation), '[]')::text \
        FROM ratchet.records AS r LEFT JOIN ratchet.progress AS p ON p.record_id = r.id WHERE r.namespace = $1";
    sqlx::query_scalar(ROWS).bind(namespace).fetch_one(connection).await.unwrap()
}

#[derive(Debug, Clone, Copy)]
struct Question {
    version: &'static str,
    cents: i64,
    /// The generation that a new one should follow.
    after: Option<u32>,
}

const fn ask(version: &'static str, cents: i64, after: Option<u32>) -> Question {
    Question { version, cents, after }
}

async fn ledger_says(ledger: &PostgresLedger, namespace: &str, question: Question) -> String {
    let mut asked = Submission {
        version: Version::from_static(question.version),
        ..submission(namespace, "a", question.cents)
    };
    if let Some(after) = question.after {
        asked.id.generation = Generation::new(after).unwrap();
        asked.renewal = Some(Renewal { by: "ad\\a".to_owned(), reason: "it's paid again".to_owned() });
    }
    match ledger.submit(vec![asked]).await.unwrap().remove(0) {
        Submitted::New { id } => format!("new pending 1? {} -", id.generation),
        Submitted::Existing { id, state, result, version } => {
            let result = result.as_ref().map_or("-", Payload::as_str);
            format!("existing {state} {version} {} {result}", id.generation)
        }
        Submitted::Conflict(Conflict::OtherInput) => "conflict other_input".to_owned(),
        Submitted::Conflict(Conflict::NotEnded) => "conflict not_ended".to_owned(),
        Submitted::Conflict(Conflict::NotNewest) => "conflict not_newest".to_owned(),
        Submitted::Conflict(other) => panic!("{other}"),
        Submitted::Expired { state, ended_on } => format!("expired {state} {}", ended_on.as_millis() > 0),
    }
}

async fn function_says(connection: &mut PgConnection, namespace: &str, question: Question) -> String {
    const CALL: &str = "SELECT e.answer, CASE e.answer \
            WHEN 'new' THEN format('new %s 1? %s %s', e.state, e.generation, coalesce(e.result::text, '-')) \
            WHEN 'existing' THEN format('existing %s %s %s %s', e.state, e.version, e.generation, coalesce(e.result::text, '-')) \
            WHEN 'conflict' THEN 'conflict ' || e.reason \
            WHEN 'expired' THEN format('expired %s %s', e.state, CASE WHEN e.ended_on > '2020-01-01' THEN 'true' END) END AS told \
        FROM ratchet.enqueue('collect_invoice', $1, $2::json, namespace => $3, new_generation_after => $4, \
            by => 'ad\\a', reason => 'it''s paid again') AS e";
    sqlx::query(CALL)
        .bind(question.version)
        .bind(input("a", question.cents).to_string())
        .bind(namespace)
        .bind(question.after.map(i64::from))
        .fetch_one(connection)
        .await
        .unwrap()
        .get("told")
}

#[tokio::test]
async fn submissions_are_answered_as_by_the_ledger() {
    let database = database().await;
    let ledger = declared(&database, POLICY).await;
    let mut connection = database.connect().await;
    let questions = [
        ask("1", 1, None),
        ask("1", 2, None),
        ask("2", 2, None),
        ask("1", 2, Some(1)),
        ask("2", 1, Some(1)),
        ask("1", 1, Some(2)),
        ask("1", 1, Some(7)),
    ];
    let mut told = Vec::new();
    for (number, (stage, question)) in
        Stage::ALL.into_iter().flat_map(|stage| questions.map(|question| (stage, question))).enumerate()
    {
        let (one, other) = (format!("ledger{number}"), format!("function{number}"));
        make(&ledger, &mut connection, stage, &one).await;
        make(&ledger, &mut connection, stage, &other).await;
        // Once more: what was made answers for itself.
        for _ in 0..2 {
            let expected = ledger_says(&ledger, &one, question).await;
            let answer = function_says(&mut connection, &other, question).await;
            assert_eq!(answer, expected, "{stage:?} {question:?}");
            told.push(answer);
            let expected = rows(&mut connection, &one).await;
            assert_eq!(rows(&mut connection, &other).await, expected, "{stage:?} {question:?}");
        }
    }
    for answer in ["new pending 1? 2 -", "conflict not_ended", "expired succeeded true"] {
        assert!(told.iter().any(|told| told == answer), "{answer}");
    }
}

async fn ledger_cancels(ledger: &PostgresLedger, namespace: &str) -> String {
    let command = Command::Cancel { by: "ad\\a".to_owned(), reason: "ordered twice".to_owned(), seen: None };
    match ledger.apply(vec![Order { id: id(namespace, "a"), command }]).await.unwrap().remove(0) {
        Ok(Answer::Now(state)) => format!("stopped {state}"),
        Ok(Answer::CancelRequested) => "requested running".to_owned(),
        Err(Refusal::State(state)) => format!("refused {state}"),
        Err(Refusal::NoRecord) => "no_record".to_owned(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn cancelling_does_what_the_ledger_does() {
    let database = database().await;
    let ledger = declared(&database, POLICY).await;
    let mut connection = database.connect().await;
    let mut told = Vec::new();
    for (number, stage) in Stage::ALL.into_iter().enumerate() {
        let (one, other) = (format!("ledger{number}"), format!("function{number}"));
        make(&ledger, &mut connection, stage, &one).await;
        make(&ledger, &mut connection, stage, &other).await;
        for _ in 0..2 {
            let call = format!(
                "SELECT concat_ws(' ', c.answer, c.state) FROM ratchet.cancel('collect_invoice', \
                    'invoice:a:collect:v1', by => 'ad\\a', reason => 'ordered twice', namespace => '{other}') AS c"
            );
            let answer = text(&mut connection, &call).await.unwrap().unwrap();
            assert_eq!(answer, ledger_cancels(&ledger, &one).await, "{stage:?}");
            let expected = rows(&mut connection, &one).await;
            assert_eq!(rows(&mut connection, &other).await, expected, "{stage:?}");
            told.push(answer);
        }
    }
    for answer in
        ["stopped cancelled", "stopped uncertain", "requested running", "refused failed", "no_record"]
    {
        assert!(told.iter().any(|told| told == answer), "{answer}");
    }
}

#[tokio::test]
async fn a_state_is_looked_up_by_key() {
    const CALL: &str = "SELECT concat_ws(' ', s.answer, s.state, s.version, s.generation, s.result) \
        FROM ratchet.state('collect_invoice', 'invoice:a:collect:v1', namespace => $1) AS s";
    let database = database().await;
    let ledger = declared(&database, POLICY).await;
    let mut connection = database.connect().await;
    for (stage, expected) in [
        (Stage::Missing, None),
        (Stage::Leased, Some("existing running 1 1")),
        (Stage::Succeeded, Some("existing succeeded 1 1 \"paid\"")),
        (Stage::Purged, Some("expired succeeded 1 1")),
    ] {
        let namespace = format!("{stage:?}").to_lowercase();
        make(&ledger, &mut connection, stage, &namespace).await;
        let told: Option<String> =
            sqlx::query_scalar(CALL).bind(&namespace).fetch_optional(&mut connection).await.unwrap();
        assert_eq!(told.as_deref(), expected, "{stage:?}");
    }
}

#[tokio::test]
async fn arguments_that_make_no_sense_are_refused() {
    let database = database().await;
    drop(declared(&database, POLICY).await);
    let mut connection = database.connect().await;
    for (arguments, code) in [
        ("'collect_invoice', '3', '{\"id\": 1}'", "RT004"),
        ("'no_operation', '1', '{\"id\": 1}'", "RT004"),
        ("NULL, '1', '{\"id\": 1}'", "RT004"),
        ("'collect_invoice', '1', NULL", "RT005"),
        ("'collect_invoice', '1', '{\"id\": \"1\"}', namespace => 'Über'", "RT005"),
        ("'collect_invoice', '1', '{\"id\": \"1\"}', namespace => NULL", "RT005"),
        ("'collect_invoice', '1', '{\"id\": \"1\"}', priority => 40000", "RT005"),
        ("'collect_invoice', '1', '{\"id\": \"1\"}', queue => 'Über'", "RT005"),
        (
            "'collect_invoice', '1', '{\"id\": \"1\"}', new_generation_after => 0, by => 'a', reason => 'b'",
            "RT005",
        ),
        ("'collect_invoice', '1', '{\"id\": \"1\"}', new_generation_after => 1, by => 'a'", "RT005"),
        ("'collect_invoice', '1', '{}'", "RT001"),
        ("'collect_invoice', '1', '{\"id\": null}'", "RT001"),
        ("'collect_invoice', '1', '{\"id\": 1.5}'", "RT001"),
        ("'collect_invoice', '1', '{\"id\": \"1\", \"id\": \"1\"}'", "RT003"),
        // The marks of a next generation and of the namespace count.
        (&format!("'collect_invoice', '1', '{{\"id\": \"{}\"}}'", "x".repeat(235)), "RT001"),
    ] {
        let call = format!("SELECT answer FROM ratchet.enqueue({arguments})");
        let error = text(&mut connection, &call).await.expect_err(arguments);
        assert_eq!(refusal(&error).0, code, "{arguments}");
    }
    let longest = format!("'collect_invoice', '1', '{{\"id\": \"{}\"}}'", "x".repeat(234));
    let call = format!("SELECT answer FROM ratchet.enqueue({longest})");
    assert_eq!(text(&mut connection, &call).await.unwrap().as_deref(), Some("new"));
}

#[tokio::test]
async fn what_is_declared_and_what_is_asked_for_stand_in_the_record() {
    let database = database().await;
    let ledger = declared(&database, POLICY).await;
    let mut connection = database.connect().await;
    let calls = "SELECT answer FROM ratchet.enqueue('collect_invoice', '1', '{\"id\": \"a\"}'); \
        SELECT answer FROM ratchet.enqueue('collect_invoice', '1', '{\"id\": \"b\"}', priority => -7, \
            not_before => '2100-01-01 00:00:00.5+00')";
    sqlx::raw_sql(calls).execute(&mut connection).await.unwrap();
    let records = ledger.list(ratchet_core::ledger::Filter::default()).await.unwrap().records;
    let asked = submission("default", "a", 1);
    for record in &records {
        assert_eq!((&record.policy, &record.effect.contract), (&asked.policy, &asked.contract));
    }
    assert_eq!(records[0].priority.0, 3);
    assert_eq!(records[0].ready_at, records[0].created_at);
    assert_eq!(records[1].priority.0, -7);
    assert_eq!(records[1].ready_at.as_millis(), 4_102_444_800_500);
}

#[tokio::test]
async fn a_record_waits_in_the_queue_that_is_named_or_declared() {
    let database = database().await;
    let ledger = PostgresLedger::open(&database.url()).await.unwrap();
    let queue = |name: &str| Queue::new(name).unwrap();
    let declaration = Declaration {
        forms: vec![Form::Text],
        queue: queue("mail"),
        ..Declaration::new(OPERATION, Version::from_static("1"), TEMPLATE)
    };
    ledger.declare(vec![declaration]).await.unwrap();
    let mut connection = database.connect().await;
    let calls = "SELECT answer FROM ratchet.enqueue('collect_invoice', '1', '{\"id\": \"a\"}'); \
        SELECT answer FROM ratchet.enqueue('collect_invoice', '1', '{\"id\": \"b\"}', queue => 'bulk')";
    sqlx::raw_sql(calls).execute(&mut connection).await.unwrap();
    let records = ledger.list(ratchet_core::ledger::Filter::default()).await.unwrap().records;
    let queues: Vec<&Queue> = records.iter().map(|record| &record.queue).collect();
    assert_eq!(queues, [&queue("mail"), &queue("bulk")]);
    // A worker of one queue is offered its records alone.
    let rows = "SELECT string_agg(queue, ' ' ORDER BY record_id) FROM ratchet.progress";
    assert_eq!(text(&mut connection, rows).await.unwrap().as_deref(), Some("mail bulk"));
}

/// What a producer says of its trace is read as the code reads it, and what names no place loses no order.
#[tokio::test]
async fn a_place_in_a_trace_is_kept_as_the_code_reads_it() {
    let database = database().await;
    let ledger = declared(&database, POLICY).await;
    let mut connection = database.connect().await;
    let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    let told = [
        format!("00-{trace}-{span}-01"),
        format!("cc-{trace}-{span}-01"),
        format!("cc-{trace}-{span}-01-more"),
        format!("00-{trace}-{span}-01-more"),
        format!("cc-{trace}-{span}-01more"),
        format!("ff-{trace}-{span}-01"),
        format!("00-{}-{span}-01", "0".repeat(32)),
        format!("00-{trace}-{}-01", "0".repeat(16)),
        format!("00-{}-{span}-01", trace.to_uppercase()),
        format!("00-{trace}-{span}-0é"),
        format!(" 00-{trace}-{span}-01"),
        "00".to_owned(),
        String::new(),
    ];
    let mut kept = 0;
    for (number, told) in told.iter().enumerate() {
        let invoice = format!("traced_{number}");
        sqlx::query("SELECT ratchet.enqueue('collect_invoice', '1', $1::json, traceparent => $2)")
            .bind(input(&invoice, 1).to_string())
            .bind(told)
            .execute(&mut connection)
            .await
            .unwrap();
        let Some(Stored::Record(record)) = ledger.find(id("default", &invoice)).await.unwrap() else {
            panic!("{told} is on record")
        };
        assert_eq!(record.trace, told.parse().ok(), "{told}");
        kept += usize::from(record.trace.is_some());
    }
    assert_eq!(kept, 3);
}
