//! The ledger makes durable what the decision function says, and nothing else.

use super::Fixture;
use super::build::{
    CHARGE, COLLECT, DAY, HOUR, MINUTE, NOTIFY, SECOND, WORKER, at, begin, begin_asking, cancel, done,
    finish, id, json, not_applied, pin, replay, resolve, settle, start, submission, unknown,
};
use crate::contract::Contract;
use crate::decide::{
    Answer, AttemptNote, Command, Jitter, Moment, Refusal, Stored, SubmitDecision, Verdict, decide,
    decide_submission,
};
use crate::ledger::{Filter, Order};
use crate::model::{Attempt, AuditEntry, GroupId, Record, State, Submission, Token};
use crate::policy::{OnUnknown, Policy, RetryPolicy};

/// What the ledger should hold, kept by the decision function alone.
struct Shadow {
    record: Record,
    attempts: Vec<Attempt>,
    audit: Vec<AuditEntry>,
}

impl Shadow {
    async fn of(fixture: &Fixture, submission: Submission) -> Self {
        let decision = decide_submission(None, &submission, fixture.now());
        let SubmitDecision::Insert { record, audit } = decision else {
            panic!("a new key is inserted");
        };
        let _ = fixture.submit(submission).await;
        Self { record: *record, attempts: Vec::new(), audit: audit.into_iter().collect() }
    }

    /// Gives the command to both, and compares everything.
    async fn follow(&mut self, fixture: &Fixture, command: Command) {
        let moment = Moment { now: fixture.now(), jitter: Jitter::MIDDLE };
        let decided = decide(&self.record, &command, moment);
        let answer = fixture.apply(&self.record.id, command.clone()).await;
        match decided {
            Ok(decision) => {
                assert_eq!(answer, Ok(decision.answer), "{command:?}");
                self.record = decision.record;
                self.audit.extend(decision.audit);
                if let Some(note) = decision.attempt {
                    self.note(note);
                }
            }
            Err(refusal) => assert_eq!(answer, Err(refusal), "{command:?}"),
        }
        assert_eq!(fixture.record(&self.record.id).await, self.record, "{command:?}");
        assert_eq!(fixture.attempts(&self.record.id).await, self.attempts, "{command:?}");
        assert_eq!(fixture.audit(&self.record.id).await, self.audit, "{command:?}");
    }

    fn note(&mut self, note: AttemptNote) {
        let of = |token: Token| move |attempt: &&mut Attempt| attempt.token == token;
        match note {
            AttemptNote::Opened(attempt) => self.attempts.push(attempt),
            AttemptNote::Started { token, at } => {
                let attempt = self.attempts.iter_mut().find(of(token)).expect("an attempt");
                attempt.started_at = Some(at);
            }
            AttemptNote::Ended { token, end } => {
                let attempt = self.attempts.iter_mut().find(of(token)).expect("an attempt");
                attempt.end_with(end);
            }
        }
    }
}

fn lease(start_if_safe: bool) -> Command {
    Command::Lease { worker: WORKER, duration: MINUTE, start_if_safe }
}

/// Every command, with every kind of answer: the record, its attempts and its trail are those of the decision.
pub async fn every_change_is_what_the_decision_says(fixture: Fixture) {
    let mut shadow = Shadow::of(&fixture, submission("invoice:1")).await;
    let renew = Command::Renew { token: Token::new(2), duration: HOUR };
    let release = Command::Release { token: Token::new(1) };
    let still = Verdict::StillUnknown { ask_again_at: Some(at(9 * DAY)) };
    let script = [
        (SECOND, start(1)),
        (SECOND, lease(false)),
        (SECOND, lease(false)),
        (SECOND, release),
        (SECOND, lease(false)),
        (SECOND, Command::Expire),
        (SECOND, renew),
        (SECOND, start(2)),
        (SECOND, pin(2, None, "body")),
        (SECOND, begin(2, CHARGE, Contract::header("Key").remembers_forever())),
        (SECOND, pin(2, Some(CHARGE), "charge")),
        (SECOND, finish(2, CHARGE, done("7"))),
        (SECOND, begin(2, NOTIFY, Contract::NONE)),
        (SECOND, finish(2, NOTIFY, not_applied(None))),
        (SECOND, settle(2, unknown())),
        (HOUR, lease(true)),
        (SECOND, cancel()),
        (HOUR, Command::Expire),
        (SECOND, settle(2, not_applied(None))),
        (SECOND, resolve(3, still)),
        (SECOND, replay(true)),
        (SECOND, lease(false)),
        (SECOND, start(4)),
        (SECOND, settle(3, unknown())),
        (SECOND, settle(4, not_applied(Some(HOUR)))),
        (3 * DAY, lease(false)),
        (SECOND, settle(4, done(r#"{"charge":"ch_1"}"#))),
        (SECOND, replay(true)),
    ];
    for (span, command) in script {
        fixture.advance(span);
        shadow.follow(&fixture, command).await;
    }
    assert_eq!(shadow.record.state, State::Succeeded);
    assert_eq!(shadow.attempts.len(), 4);
    assert_eq!(shadow.audit.len(), 3);
}

/// A refused order leaves the record, the attempts and the trail as they were.
pub async fn refusals_change_nothing(fixture: Fixture) {
    let before = fixture.running(submission("invoice:1")).await;
    let attempts = fixture.attempts(&before.id).await;
    fixture.advance(SECOND);
    for (command, refusal) in [
        (lease(false), Refusal::State(State::Running)),
        (replay(true), Refusal::State(State::Running)),
        (resolve(1, Verdict::Applied { result: None }), Refusal::State(State::Running)),
        (Command::Expire, Refusal::NotExpired),
        (Command::Release { token: before.token }, Refusal::AlreadyStarted),
        (finish(1, CHARGE, done("1")), Refusal::NoStep),
        (pin(1, Some(CHARGE), "body"), Refusal::NoStep),
        (settle(9, done("1")), Refusal::Superseded),
    ] {
        let answer = fixture.apply(&before.id, command.clone()).await;
        assert_eq!(answer, Err(refusal), "{command:?}");
    }
    assert_eq!(fixture.record(&before.id).await, before);
    assert_eq!(fixture.attempts(&before.id).await, attempts);
    assert_eq!(fixture.audit(&before.id).await, []);
}

/// One batch with several orders for one record, and a refusal between them, does what single calls would do.
pub async fn orders_of_one_batch_see_each_other(fixture: Fixture) {
    fixture.leased(submission("invoice:1")).await;
    let _ = fixture.submit(submission("invoice:2")).await;
    let order = |key, command| Order { id: id(key), command };
    let answers = fixture
        .ledger
        .apply(vec![
            order("invoice:1", settle(1, done("1"))),
            order("invoice:1", start(1)),
            order("invoice:2", cancel()),
            order("invoice:3", cancel()),
            order("invoice:1", settle(1, done("2"))),
            order("invoice:1", settle(1, done("3"))),
            order("invoice:2", replay(false)),
        ])
        .await
        .expect("apply");
    assert_eq!(
        answers,
        [
            Err(Refusal::NotStarted),
            Ok(Answer::Started),
            Ok(Answer::Now(State::Cancelled)),
            Err(Refusal::NoRecord),
            Ok(Answer::Settled(State::Succeeded)),
            Ok(Answer::Settled(State::Succeeded)),
            Ok(Answer::Now(State::Pending)),
        ]
    );
    assert_eq!(fixture.record(&id("invoice:1")).await.result, Some(json("2")));
    assert_eq!(fixture.audit(&id("invoice:2")).await.len(), 2);
}

/// A record with a value in every field that can hold one at the same time is the same by every way of reading it.
pub async fn a_full_record_survives_a_round_trip(fixture: Fixture) {
    let full = Submission {
        policy: Policy {
            retry: RetryPolicy {
                max_attempts: 7,
                first_delay: SECOND,
                growth_percent: 150,
                max_delay: 9 * MINUTE,
                jitter_percent: 0,
                horizon: 2 * DAY,
            },
            timeout: 11 * SECOND,
            on_unknown: OnUnknown::MayLose,
            reconciles: true,
            reconcile_after: 13 * SECOND,
            retention: 400 * DAY,
            replay_within: Some(3 * DAY),
        },
        contract: Contract::header("X-Request-Id").remembers_for(30 * DAY).terms(),
        priority: crate::model::Priority(-7),
        group: Some(GroupId::from_static("run-1")),
        ..submission("invoice:1")
    };
    let mut shadow = Shadow::of(&fixture, full).await;
    for command in [
        lease(false),
        start(1),
        begin(1, CHARGE, Contract::NONE),
        pin(1, Some(CHARGE), "charge"),
        pin(1, None, "body"),
        finish(1, CHARGE, done(r#"{"charge":"ch_1"}"#)),
        begin_asking(1, NOTIFY, Contract::header("Key").remembers_forever()),
        cancel(),
        settle(1, unknown()),
        replay(true),
        lease(false),
        start(2),
        cancel(),
    ] {
        fixture.advance(SECOND);
        shadow.follow(&fixture, command).await;
    }
    let running = &shadow.record;
    assert!(running.cancel_requested && running.risk_accepted && running.cause.is_some());
    assert!(running.lease.is_some() && running.effect.pin.is_some() && running.steps.len() == 2);
    assert!(running.steps[&NOTIFY].reconciles && !running.steps[&CHARGE].reconciles);
    same_everywhere(&fixture, running).await;

    fixture.advance(SECOND);
    shadow.follow(&fixture, settle(2, unknown())).await;
    let parked = &shadow.record;
    assert!(parked.uncertainty.is_some() && parked.reconcile_at.is_some() && parked.settled_at.is_some());
    same_everywhere(&fixture, parked).await;

    fixture.advance(SECOND);
    shadow.follow(&fixture, settle(2, done(r#"{"ok":"ä"}"#))).await;
    assert!(shadow.record.result.is_some());
    same_everywhere(&fixture, &shadow.record).await;
}

async fn same_everywhere(fixture: &Fixture, record: &Record) {
    let by_state =
        Filter { operation: Some(COLLECT), state: Some(record.state), limit: 10, ..Filter::default() };
    let page = fixture.ledger.list(by_state).await.expect("list");
    assert_eq!(page.records, std::slice::from_ref(record));
    let stored = fixture.stored(&record.id).await;
    assert_eq!(stored, Some(Stored::Record(Box::new(record.clone()))));
}
