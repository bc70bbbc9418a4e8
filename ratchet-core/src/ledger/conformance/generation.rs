//! New generations: a new legitimate action under the same key, after a definite end.

use super::Fixture;
use super::build::{
    HOUR, SECOND, V1, at, cancel, claim, done, generation, id, json, not_applied, rejected, renewal_of,
    settle, start, submission, unprotected, with_input,
};
use crate::decide::Answer;
use crate::model::{AuditEntry, Conflict, Renewal, State, Submission, Submitted};
use crate::policy::{Policy, RetryPolicy};

/// Success, refusal, exhaustion and cancellation are ends; the new record starts clean, and its audit trail says why.
pub async fn a_new_generation_follows_each_definite_end(fixture: Fixture) {
    fixture.settled(submission("invoice:done"), done("1")).await;
    fixture.settled(submission("invoice:refused"), rejected()).await;
    fixture.settled(one_try("invoice:spent"), not_applied(None)).await;
    let _ = fixture.submit(submission("invoice:cancelled")).await;
    fixture.apply(&id("invoice:cancelled"), cancel()).await.expect("cancel");
    fixture.advance(HOUR);
    for (key, ended) in [
        ("invoice:done", State::Succeeded),
        ("invoice:refused", State::Failed),
        ("invoice:spent", State::Exhausted),
        ("invoice:cancelled", State::Cancelled),
    ] {
        let answer = fixture.submit(renewal_of(key, 1)).await;
        assert_eq!(answer, Submitted::New { id: generation(key, 2) }, "{key}");
        let record = fixture.record(&generation(key, 2)).await;
        assert_eq!((record.state, record.token.get(), record.attempts), (State::Pending, 0, 0));
        assert_eq!(record.created_at, at(HOUR));
        let expected = AuditEntry {
            at: at(HOUR),
            by: "ada".to_owned(),
            action: "new_generation".to_owned(),
            reason: "the customer pays again".to_owned(),
            from: ended,
            to: State::Pending,
        };
        assert_eq!(fixture.audit(&generation(key, 2)).await, [expected], "{key}");
        assert_eq!(fixture.state(&id(key)).await, ended, "the earlier record stays as it was");
    }
}

fn one_try(key: &str) -> Submission {
    let base = submission(key);
    let retry = RetryPolicy { max_attempts: 1, ..base.policy.retry };
    Submission { policy: Policy { retry, ..base.policy }, ..base }
}

/// While it is open or uncertain what happened, no new action may follow.
pub async fn no_generation_follows_an_open_end(fixture: Fixture) {
    fixture.uncertain("invoice:3").await;
    fixture.running(submission("invoice:2")).await;
    let _ = fixture.submit(submission("invoice:1")).await;
    for key in ["invoice:1", "invoice:2", "invoice:3"] {
        let answer = fixture.submit(renewal_of(key, 1)).await;
        assert_eq!(answer, Submitted::Conflict(Conflict::NotEnded), "{key}");
        assert_eq!(fixture.stored(&generation(key, 2)).await, None, "{key}");
    }
}

/// A renewal names the generation that it follows; without one, or with a newer one on record, it is refused.
pub async fn only_the_newest_generation_has_a_successor(fixture: Fixture) {
    let answer = fixture.submit(renewal_of("invoice:1", 1)).await;
    assert_eq!(answer, Submitted::Conflict(Conflict::NotNewest), "there is none to follow");
    fixture.settled(submission("invoice:1"), done("1")).await;
    let answer = fixture.submit(renewal_of("invoice:1", 2)).await;
    assert_eq!(answer, Submitted::Conflict(Conflict::NotNewest), "there is no second one");
    for number in 1..=2 {
        let next = generation("invoice:1", number + 1);
        let answer = fixture.submit(renewal_of("invoice:1", number)).await;
        assert_eq!(answer, Submitted::New { id: next.clone() });
        fixture.apply(&next, cancel()).await.expect("cancel");
    }
    let answer = fixture.submit(renewal_of("invoice:1", 1)).await;
    assert_eq!(answer, Submitted::Conflict(Conflict::NotNewest), "the third is the newest");
}

/// The caller's own repetition of a renewal, whose answer was lost, makes no further record.
pub async fn a_repeated_renewal_makes_no_second_one(fixture: Fixture) {
    fixture.settled(submission("invoice:1"), done("1")).await;
    let renewals = vec![renewal_of("invoice:1", 1), renewal_of("invoice:1", 1)];
    let answers = fixture.ledger.submit(renewals).await.expect("submit");
    let second = generation("invoice:1", 2);
    let existing =
        Submitted::Existing { id: second.clone(), state: State::Pending, result: None, version: V1 };
    assert_eq!(answers, [Submitted::New { id: second.clone() }, existing]);
    let other = Submission {
        renewal: Some(Renewal { by: "bo".to_owned(), reason: "another".to_owned() }),
        id: id("invoice:1"),
        ..with_input("invoice:1", r#"{"amount":9}"#)
    };
    let answer = fixture.submit(other).await;
    assert_eq!(answer, Submitted::Conflict(Conflict::OtherInput));
    assert_eq!(fixture.stored(&generation("invoice:1", 3)).await, None);
    assert_eq!(fixture.audit(&second).await.len(), 1);
}

/// A plain submission is answered by the newest record under its key, and never makes a generation of its own.
pub async fn the_newest_generation_answers_for_the_key(fixture: Fixture) {
    let _ = fixture.submit(Submission { id: generation("invoice:1", 7), ..submission("invoice:1") }).await;
    assert_eq!(fixture.state(&id("invoice:1")).await, State::Pending, "the first is number 1");
    assert_eq!(fixture.stored(&generation("invoice:1", 7)).await, None);
    let first = fixture.claimed(&id("invoice:1")).await;
    fixture.started(first).await;
    let settled = fixture.apply(&id("invoice:1"), settle(1, done("1"))).await;
    assert_eq!(settled, Ok(Answer::Settled(State::Succeeded)));
    let _ = fixture.submit(renewal_of("invoice:1", 1)).await;
    let answer = fixture.submit(submission("invoice:1")).await;
    assert_eq!(
        answer,
        Submitted::Existing {
            id: generation("invoice:1", 2),
            state: State::Pending,
            result: None,
            version: V1,
        }
    );
}

/// Each generation has a record, tokens, attempts and a result of its own.
pub async fn generations_run_side_by_side_with_their_own_tokens(fixture: Fixture) {
    fixture.settled(unprotected("invoice:1"), done("1")).await;
    fixture.advance(SECOND);
    let _ = fixture.submit(renewal_of("invoice:1", 1)).await;
    let second = generation("invoice:1", 2);
    let leased = fixture.claim(claim(10)).await;
    assert_eq!(leased.iter().map(|r| (&r.id, r.token.get())).collect::<Vec<_>>(), [(&second, 1)]);
    assert_eq!(fixture.apply(&second, start(1)).await, Ok(Answer::Started));
    let settled = fixture.apply(&second, settle(1, done("2"))).await;
    assert_eq!(settled, Ok(Answer::Settled(State::Succeeded)));
    assert_eq!(fixture.record(&id("invoice:1")).await.result, Some(json("1")));
    assert_eq!(fixture.record(&second).await.result, Some(json("2")));
    assert_eq!(fixture.attempts(&id("invoice:1")).await.len(), 1);
    assert_eq!(fixture.attempts(&second).await[0].leased_at, at(SECOND));
}
