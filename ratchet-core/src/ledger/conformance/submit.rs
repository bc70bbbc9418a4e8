//! Submissions: one record per key, answered alike in batches and alone.

use std::collections::BTreeMap;

use super::build::{COLLECT, HOUR, MAIL, POLICY, V1, V2, at, done, id, json, submission, with_input};
use super::{Fixture, STARTED_AT};
use crate::contract::Contract;
use crate::ledger::Filter;
use crate::model::{
    Conflict, Effect, Fingerprint, Generation, Namespace, OperationName, Payload, Priority, Queue, Record,
    RecordId, State, Submission, Submitted, Token, TraceParent, Version,
};

fn existing(key: &str, state: State) -> Submitted {
    Submitted::Existing { id: id(key), state, result: None, version: V1 }
}

/// A new key makes a pending record with everything that was submitted and nothing else.
pub async fn a_new_key_makes_a_pending_record(fixture: Fixture) {
    let answer = fixture.submit(submission("invoice:1")).await;
    assert_eq!(answer, Submitted::New { id: id("invoice:1") });
    let expected = Record {
        id: id("invoice:1"),
        version: V1,
        fingerprint: Fingerprint::of(br#"{"amount":1200}"#),
        input: json(r#"{"amount":1200}"#),
        policy: POLICY,
        queue: Queue::DEFAULT,
        priority: Priority(0),
        group: None,
        after: None,
        trace: None,
        created_at: STARTED_AT,
        state: State::Pending,
        ready_at: STARTED_AT,
        token: Token::NONE,
        lease: None,
        attempts: 0,
        spent: 0,
        effect: Effect::new(Contract::header("Idempotency-Key").terms()),
        steps: BTreeMap::new(),
        cancel_requested: false,
        risk_accepted: false,
        result: None,
        cause: None,
        uncertainty: None,
        reconcile_at: None,
        settled_at: None,
    };
    assert_eq!(fixture.record(&id("invoice:1")).await, expected);
    assert_eq!(fixture.attempts(&id("invoice:1")).await, []);
    assert_eq!(fixture.audit(&id("invoice:1")).await, []);
}

/// Where in a trace it was asked for is kept, and one that is asked for elsewhere is the same action.
pub async fn a_trace_is_kept_and_is_no_part_of_the_action(fixture: Fixture) {
    let places = [1, 2].map(|span| TraceParent::new(7, span, 1));
    let asked = |key: &str, trace| Submission { trace, ..submission(key) };
    let _ = fixture.submit(asked("invoice:1", places[0])).await;
    assert_eq!(fixture.submit(asked("invoice:1", places[1])).await, existing("invoice:1", State::Pending));
    assert_eq!(fixture.record(&id("invoice:1")).await.trace, places[0]);
    assert_eq!(fixture.claimed(&id("invoice:1")).await.trace, places[0]);
    let _ = fixture.submit(asked("invoice:2", None)).await;
    assert_eq!(fixture.record(&id("invoice:2")).await.trace, None);
}

/// The same submission again is told the state, and leaves the record as it was.
pub async fn a_repetition_is_told_what_is_on_record(fixture: Fixture) {
    let _ = fixture.submit(submission("invoice:1")).await;
    fixture.advance(HOUR);
    let answer = fixture.submit(submission("invoice:1")).await;
    assert_eq!(answer, existing("invoice:1", State::Pending));
    assert_eq!(fixture.record(&id("invoice:1")).await.created_at, STARTED_AT);
    let _ = fixture.claimed(&id("invoice:1")).await;
    let answer = fixture.submit(submission("invoice:1")).await;
    assert_eq!(answer, existing("invoice:1", State::Running));
}

/// A late duplicate of a success receives the stored result.
pub async fn a_repetition_of_a_success_receives_its_result(fixture: Fixture) {
    fixture.settled(submission("invoice:1"), done(r#"{"charge":"ch_1"}"#)).await;
    let answer = fixture.submit(submission("invoice:1")).await;
    assert_eq!(
        answer,
        Submitted::Existing {
            id: id("invoice:1"),
            state: State::Succeeded,
            result: Some(json(r#"{"charge":"ch_1"}"#)),
            version: V1,
        }
    );
}

/// Another input under the same key is refused without changing anything.
pub async fn another_input_conflicts_and_changes_nothing(fixture: Fixture) {
    let _ = fixture.submit(submission("invoice:1")).await;
    let before = fixture.record(&id("invoice:1")).await;
    let answer = fixture.submit(with_input("invoice:1", r#"{"amount":1300}"#)).await;
    assert_eq!(answer, Submitted::Conflict(Conflict::OtherInput));
    assert_eq!(fixture.record(&id("invoice:1")).await, before);
}

/// Another version of the code is the same action, even with an input that it writes differently.
pub async fn another_version_is_the_same_action(fixture: Fixture) {
    let _ = fixture.submit(submission("invoice:1")).await;
    let newer = Submission { version: V2, ..with_input("invoice:1", r#"{"amount":1200,"currency":"EUR"}"#) };
    assert_eq!(fixture.submit(newer).await, existing("invoice:1", State::Pending));
    let all = Filter { limit: 10, ..Filter::default() };
    let page = fixture.ledger.list(all).await.expect("list");
    assert_eq!(page.records.len(), 1);
    assert_eq!(page.records[0].version, V1);
    assert_eq!(page.records[0].input, json(r#"{"amount":1200}"#));
}

/// One key in another namespace, or of another operation, is another action.
pub async fn namespaces_and_operations_are_separate(fixture: Fixture) {
    let tenant = RecordId { namespace: Namespace::from_static("tenant-a"), ..id("invoice:1") };
    let mail = RecordId { operation: MAIL, ..id("invoice:1") };
    for id in [id("invoice:1"), tenant.clone(), mail.clone()] {
        let submission = Submission {
            id: id.clone(),
            ..with_input("invoice:1", &format!(r#"{{"for":"{}"}}"#, id.namespace))
        };
        assert_eq!(fixture.submit(submission).await, Submitted::New { id });
    }
    assert_eq!(fixture.record(&tenant).await.input, json(r#"{"for":"tenant-a"}"#));
    assert_eq!(fixture.record(&mail).await.id.operation, MAIL);
    assert_eq!(fixture.record(&id("invoice:1")).await.id.operation, COLLECT);
}

/// Duplicates and conflicts inside one batch are answered in their order, as if each had come alone.
pub async fn one_batch_is_answered_in_order(fixture: Fixture) {
    let batch = vec![
        submission("invoice:1"),
        submission("invoice:1"),
        with_input("invoice:1", r#"{"amount":5}"#),
        submission("invoice:2"),
        submission("invoice:1"),
        submission("invoice:2"),
    ];
    let answers = fixture.ledger.submit(batch).await.expect("submit");
    assert_eq!(
        answers,
        [
            Submitted::New { id: id("invoice:1") },
            existing("invoice:1", State::Pending),
            Submitted::Conflict(Conflict::OtherInput),
            Submitted::New { id: id("invoice:2") },
            existing("invoice:1", State::Pending),
            existing("invoice:2", State::Pending),
        ]
    );
}

/// One sequence, sent alone and as a batch into two namespaces, has the same answers and leaves the same records.
pub async fn a_batch_answers_like_single_calls(fixture: Fixture) {
    let (alone, together) = (Namespace::from_static("alone"), Namespace::from_static("together"));
    let mut single = Vec::new();
    for submission in mixture(&alone) {
        single.push(fixture.submit(submission).await);
    }
    let batch = fixture.ledger.submit(mixture(&together)).await.expect("submit");
    let moved: Vec<Submitted> = single.into_iter().map(|answer| into(&together, answer)).collect();
    assert_eq!(batch, moved);
    assert_eq!(batch.iter().filter(|a| matches!(a, Submitted::New { .. })).count(), 5);

    let everything =
        |namespace: &Namespace| Filter { namespace: namespace.clone(), limit: 100, ..Filter::default() };
    let one = fixture.ledger.list(everything(&alone)).await.expect("list");
    let other = fixture.ledger.list(everything(&together)).await.expect("list");
    let moved: Vec<Record> = one
        .records
        .into_iter()
        .map(|record| Record { id: in_namespace(&together, record.id), ..record })
        .collect();
    assert_eq!(other.records, moved);
}

fn mixture(namespace: &Namespace) -> Vec<Submission> {
    let numbers = [1, 2, 1, 3, 3, 2, 4, 1, 5, 5, 4, 2];
    let submissions = numbers.iter().enumerate().map(|(place, number)| {
        let amount = if place % 4 == 3 { 7 } else { 12 };
        let mut one = with_input(&format!("invoice:{number}"), &format!(r#"{{"amount":{amount}}}"#));
        one.id = in_namespace(namespace, one.id);
        one.priority = Priority(number % 2);
        one
    });
    submissions.collect()
}

fn into(namespace: &Namespace, answer: Submitted) -> Submitted {
    match answer {
        Submitted::New { id } => Submitted::New { id: in_namespace(namespace, id) },
        Submitted::Existing { id, state, result, version } => {
            Submitted::Existing { id: in_namespace(namespace, id), state, result, version }
        }
        other => other,
    }
}

fn in_namespace(namespace: &Namespace, id: RecordId) -> RecordId {
    RecordId { namespace: namespace.clone(), ..id }
}

/// Nothing asked, nothing answered.
pub async fn an_empty_batch_has_no_answers(fixture: Fixture) {
    assert_eq!(fixture.ledger.submit(Vec::new()).await.expect("submit"), []);
    assert_eq!(fixture.ledger.apply(Vec::new()).await.expect("apply"), []);
}

/// A record is ready at the point that was asked for, and at once if that point has passed.
pub async fn not_before_is_never_in_the_past(fixture: Fixture) {
    for (key, not_before, ready_at) in
        [("invoice:1", at(3 * HOUR), at(3 * HOUR)), ("invoice:2", at(HOUR), at(2 * HOUR))]
    {
        fixture.clock.jump_to(at(2 * HOUR));
        let _ = fixture.submit(Submission { not_before: Some(not_before), ..submission(key) }).await;
        assert_eq!(fixture.record(&id(key)).await.ready_at, ready_at, "{key}");
    }
}

/// Names at their limits and an input of 256 KiB with every kind of character come back as they went in.
pub async fn the_longest_names_and_the_largest_input_are_kept(fixture: Fixture) {
    let text = format!("\"\\u0000\\u001f ' \\\" ; -- % ä 漢 🧾{}\"", "x".repeat(200_000));
    let long = Submission {
        id: RecordId {
            namespace: Namespace::new("n".repeat(64)).expect("a namespace"),
            operation: OperationName::new("o".repeat(128)).expect("a name"),
            key: ratchet_key::Key::parse(&"k".repeat(255)).expect("a key"),
            generation: Generation::FIRST,
        },
        version: Version::new("V".repeat(32)).expect("a version"),
        input: json(&text),
        priority: Priority(i16::MIN),
        ..submission("invoice:1")
    };
    let limit = Submission {
        input: Payload::from_stored(format!("\"{}\"", "y".repeat(Payload::LARGEST_INPUT - 2))),
        priority: Priority(i16::MAX),
        ..submission("invoice:2")
    };
    for submission in [long, limit] {
        let answer = fixture.submit(submission.clone()).await;
        assert_eq!(answer, Submitted::New { id: submission.id.clone() });
        let record = fixture.record(&submission.id).await;
        assert_eq!(record.input, submission.input);
        assert_eq!(record.version, submission.version);
        assert_eq!(record.priority, submission.priority);
        assert_eq!(record.id, submission.id);
    }
}
