//! What people and reconcilers decide: cancel, replay, resolve. Each decision stands in the audit trail.

use super::build::{
    DAY, HOUR, MINUTE, SECOND, at, cancel, claim, done, id, json, pin, rejected, replay, resolve, settle,
    start, submission, unknown, unprotected,
};
use super::{Fixture, STARTED_AT};
use crate::decide::{Answer, Command, Refusal, Verdict};
use crate::ledger::{Cursor, Decided, Filter};
use crate::model::{AuditEntry, CauseKind, Namespace, RecordId, State, Submission, Token, Uncertainty};
use crate::policy::Policy;

/// A waiting record without any effect is simply stopped.
pub async fn cancel_stops_a_waiting_record(fixture: Fixture) {
    let _ = fixture.submit(submission("invoice:1")).await;
    fixture.advance(SECOND);
    for _ in 0..2 {
        let answer = fixture.apply(&id("invoice:1"), cancel()).await;
        assert_eq!(answer, Ok(Answer::Now(State::Cancelled)));
    }
    let stopped = fixture.record(&id("invoice:1")).await;
    assert_eq!((stopped.state, stopped.settled_at), (State::Cancelled, Some(at(SECOND))));
    assert!(stopped.cancel_requested);
    assert_eq!(fixture.claim(claim(10)).await, []);
    let expected = AuditEntry {
        at: at(SECOND),
        by: "ada".to_owned(),
        action: "cancel".to_owned(),
        reason: "ordered twice".to_owned(),
        from: State::Pending,
        to: State::Cancelled,
    };
    assert_eq!(fixture.audit(&id("invoice:1")).await, [expected], "a repetition decides nothing");
}

/// A lease is not a start: the record is stopped, and whoever holds the lease can not start it any more.
pub async fn cancel_supersedes_an_unstarted_lease(fixture: Fixture) {
    fixture.leased(unprotected("invoice:1")).await;
    let answer = fixture.apply(&id("invoice:1"), cancel()).await;
    assert_eq!(answer, Ok(Answer::Now(State::Cancelled)));
    assert_eq!(fixture.apply(&id("invoice:1"), start(1)).await, Err(Refusal::Superseded));
    let stopped = fixture.record(&id("invoice:1")).await;
    assert_eq!((stopped.state, stopped.lease), (State::Cancelled, None));
    assert_eq!((stopped.token, stopped.attempts), (Token::new(2), 0));
}

/// A running handler is told with its next renewal; if its outcome is unknown, the record ends uncertain.
pub async fn cancel_tells_a_running_worker(fixture: Fixture) {
    fixture.running(submission("invoice:1")).await;
    let answer = fixture.apply(&id("invoice:1"), cancel()).await;
    assert_eq!(answer, Ok(Answer::CancelRequested));
    let renew = Command::Renew { token: Token::new(1), duration: MINUTE };
    let told = Answer::Renewed { until: at(MINUTE), cancel_requested: true };
    assert_eq!(fixture.apply(&id("invoice:1"), renew).await, Ok(told));
    let settled = fixture.apply(&id("invoice:1"), settle(1, unknown())).await;
    assert_eq!(settled, Ok(Answer::Settled(State::Uncertain)));
    let uncertainty = fixture.record(&id("invoice:1")).await.uncertainty;
    assert_eq!(uncertainty, Some(Uncertainty::Cancelled));
    assert_eq!(fixture.apply(&id("invoice:1"), cancel()).await, Err(Refusal::State(State::Uncertain)));
}

/// The same record runs again: the same identity and pin, fresh attempts, a token that only grows.
pub async fn replay_keeps_the_identity_and_grows_the_token(fixture: Fixture) {
    fixture.running(submission("invoice:1")).await;
    let pinned = fixture.apply(&id("invoice:1"), pin(1, None, "body")).await;
    let Ok(Answer::Pinned(first)) = pinned else {
        panic!("pinned");
    };
    let settled = fixture.apply(&id("invoice:1"), settle(1, rejected())).await;
    assert_eq!(settled, Ok(Answer::Settled(State::Failed)));
    fixture.advance(HOUR);
    let answer = fixture.apply(&id("invoice:1"), replay(false)).await;
    assert_eq!(answer, Ok(Answer::Now(State::Pending)));
    let open = fixture.record(&id("invoice:1")).await;
    assert_eq!((open.state, open.ready_at, open.settled_at), (State::Pending, at(HOUR), None));
    assert_eq!((open.spent, open.attempts), (0, 1));
    let again = fixture.claimed(&id("invoice:1")).await;
    assert_eq!(again.token, Token::new(2));
    fixture.started(again).await;
    let Ok(Answer::Pinned(kept)) = fixture.apply(&id("invoice:1"), pin(2, None, "body")).await else {
        panic!("the same request is pinned again");
    };
    assert_eq!((kept.wire_key, kept.first_at), (first.wire_key, at(HOUR)));
    let settled = fixture.apply(&id("invoice:1"), settle(2, done("2"))).await;
    assert_eq!(settled, Ok(Answer::Settled(State::Succeeded)));
    let answer = fixture.apply(&id("invoice:1"), replay(true)).await;
    assert_eq!(answer, Err(Refusal::State(State::Succeeded)));
}

/// Where sending again may act twice, somebody has to say so, and it holds for one attempt.
pub async fn replay_of_an_uncertain_record_needs_the_risk_accepted(fixture: Fixture) {
    let before = fixture.uncertain("invoice:1").await;
    let refused = Err(Refusal::RiskNotAccepted(Uncertainty::NoDeduplication));
    assert_eq!(fixture.apply(&id("invoice:1"), replay(false)).await, refused);
    assert_eq!(fixture.record(&id("invoice:1")).await, before);
    let answer = fixture.apply(&id("invoice:1"), replay(true)).await;
    assert_eq!(answer, Ok(Answer::Now(State::Pending)));
    assert!(fixture.record(&id("invoice:1")).await.risk_accepted);
    let again = fixture.claimed(&id("invoice:1")).await;
    fixture.started(again).await;
    let settled = fixture.apply(&id("invoice:1"), settle(2, unknown())).await;
    assert_eq!(settled, Ok(Answer::Settled(State::Uncertain)));
    assert!(!fixture.record(&id("invoice:1")).await.risk_accepted);
}

/// Somebody found the effect.
pub async fn applied_settles_as_succeeded(fixture: Fixture) {
    fixture.uncertain("invoice:1").await;
    fixture.advance(HOUR);
    let verdict = Verdict::Applied { result: Some(json(r#"{"charge":"ch_9"}"#)) };
    let answer = fixture.apply(&id("invoice:1"), resolve(1, verdict)).await;
    assert_eq!(answer, Ok(Answer::Now(State::Succeeded)));
    let settled = fixture.record(&id("invoice:1")).await;
    assert_eq!(settled.result, Some(json(r#"{"charge":"ch_9"}"#)));
    assert_eq!((settled.settled_at, settled.uncertainty), (Some(at(HOUR)), None));
    assert!(!settled.may_be_applied());
}

/// The destination closed the key while it was asked: nothing happened, and nothing can happen any more.
pub async fn not_applied_and_closed_settles_as_failed(fixture: Fixture) {
    fixture.uncertain("invoice:1").await;
    let answer = fixture.apply(&id("invoice:1"), resolve(1, Verdict::NotAppliedAndClosed)).await;
    assert_eq!(answer, Ok(Answer::Now(State::Failed)));
    let settled = fixture.record(&id("invoice:1")).await;
    assert!(!settled.may_be_applied());
    assert_eq!(settled.cause.map(|cause| cause.kind()), Some(CauseKind::Resolved));
    let answer = fixture.apply(&id("invoice:1"), resolve(1, Verdict::NotAppliedAndClosed)).await;
    assert_eq!(answer, Err(Refusal::State(State::Failed)));
}

/// Nothing happened and the destination refuses old calls, so the same identity may be used again, with a new window.
pub async fn not_applied_with_old_calls_refused_runs_again(fixture: Fixture) {
    fixture.uncertain("invoice:1").await;
    fixture.advance(3 * DAY);
    let verdict = Verdict::NotAppliedOldCallsRefused;
    let answer = fixture.apply(&id("invoice:1"), resolve(1, verdict)).await;
    assert_eq!(answer, Ok(Answer::Now(State::Pending)));
    let open = fixture.record(&id("invoice:1")).await;
    assert_eq!((open.spent, open.ready_at), (0, at(3 * DAY)));
    assert_eq!((open.effect.first_started_at, open.uncertainty), (None, None));
    assert!(!open.may_be_applied());
    assert_eq!(fixture.claimed(&id("invoice:1")).await.token, Token::new(2));
}

/// Nothing was found out: the record stays as it is and is asked about again later.
pub async fn still_unknown_only_moves_the_next_question(fixture: Fixture) {
    let asked = Submission {
        policy: Policy { reconciles: true, ..unprotected("invoice:1").policy },
        ..unprotected("invoice:1")
    };
    let before = fixture.settled(asked, unknown()).await;
    assert_eq!((before.state, before.reconcile_at), (State::Uncertain, Some(STARTED_AT)));
    let verdict = Verdict::StillUnknown { ask_again_at: Some(at(HOUR)) };
    let answer = fixture.apply(&id("invoice:1"), resolve(1, verdict)).await;
    assert_eq!(answer, Ok(Answer::Now(State::Uncertain)));
    let expected = crate::model::Record { reconcile_at: Some(at(HOUR)), ..before };
    assert_eq!(fixture.record(&id("invoice:1")).await, expected);
}

/// Every decision stands in the trail with who, why, when and what it changed; refused ones do not.
pub async fn decisions_of_people_are_listed_in_order(fixture: Fixture) {
    fixture.uncertain("invoice:1").await;
    let verdict = Verdict::StillUnknown { ask_again_at: None };
    for (command, accepted) in [
        (resolve(1, verdict), true),
        (replay(false), false),
        (replay(true), true),
        (cancel(), true),
        (resolve(1, Verdict::Applied { result: None }), true),
    ] {
        fixture.advance(SECOND);
        assert_eq!(fixture.apply(&id("invoice:1"), command).await.is_ok(), accepted);
    }
    let audit = fixture.audit(&id("invoice:1")).await;
    let seen: Vec<_> = audit
        .iter()
        .map(|entry| (entry.at, entry.by.as_str(), entry.action.as_str(), entry.from, entry.to))
        .collect();
    assert_eq!(
        seen,
        [
            (at(SECOND), "cy", "resolve", State::Uncertain, State::Uncertain),
            (at(3 * SECOND), "bo", "replay", State::Uncertain, State::Pending),
            (at(4 * SECOND), "ada", "cancel", State::Pending, State::Uncertain),
            (at(5 * SECOND), "cy", "resolve", State::Uncertain, State::Succeeded),
        ]
    );
    assert_eq!(audit[0].reason, "looked at the provider's page");
}

/// Page by page, the decisions about all records of one namespace, and of no other, come once; those about purged records are
/// gone.
pub async fn decisions_about_all_records_are_listed_the_latest_first(fixture: Fixture) {
    let tenant = Namespace::from_static("tenant-a");
    for key in ["invoice:1", "invoice:2", "invoice:3"] {
        let elsewhere =
            Submission { id: RecordId { namespace: tenant.clone(), ..id(key) }, ..submission(key) };
        for one in [submission(key), elsewhere] {
            let of = one.id.clone();
            let _ = fixture.submit(one).await;
            fixture.apply(&of, cancel()).await.expect("cancel");
        }
    }
    fixture.advance(SECOND);
    fixture.apply(&id("invoice:1"), replay(false)).await.expect("replay");
    let log = async |before, limit| {
        let page = fixture.ledger.audit_log(Namespace::DEFAULT, before, limit).await.expect("audit log");
        let seen = |one: &Decided| (one.id.key.to_string(), one.entry.action.clone(), one.entry.at);
        (page.decisions.iter().map(seen).collect::<Vec<_>>(), page.next)
    };
    let one = |key: &str, action: &str, at| (format!("invoice:{key}"), action.to_owned(), at);
    let (newest, next) = log(None, 2).await;
    assert_eq!(newest, [one("1", "replay", at(SECOND)), one("3", "cancel", STARTED_AT)]);
    let (older, end) = log(next, 3).await;
    assert_eq!(older, [one("2", "cancel", STARTED_AT), one("1", "cancel", STARTED_AT)]);
    assert_eq!(end, None);
    assert_eq!(log(None, 0).await.0.len(), 1, "a page holds at least one");

    let page = fixture.ledger.audit_log(tenant, None, 10).await.expect("audit log");
    assert_eq!(page.decisions.len(), 3);
    let place = page.decisions[0].place;
    let there = Filter { namespace: page.decisions[0].id.namespace.clone(), ..Filter::default() };
    let there = Filter { after: Some(Cursor(place.0 - 1)), limit: 1, ..there };
    let found = fixture.ledger.list(there).await.expect("list");
    assert_eq!(found.records[0].id, page.decisions[0].id, "the place is that of the listing");

    fixture.advance(100 * DAY);
    assert_eq!(fixture.ledger.purge(100).await.expect("purge"), 5);
    let (left, _) = log(None, 10).await;
    assert_eq!(left, [one("1", "replay", at(SECOND)), one("1", "cancel", STARTED_AT)]);
}
