//! Free text comes back as it went in, whatever is in it.

use super::Fixture;
use super::build::{
    CHARGE, COLLECT, SECOND, V1, begin, claim, done, finish, generation, id, settle, start, submission,
};
use crate::contract::Contract;
use crate::decide::{Answer, Command, PinRequest};
use crate::ledger::{Declaration, LedgerError};
use crate::model::{
    Cause, CauseKind, KeptRequest, Outcome, Payload, Recipe, Renewal, RequestFingerprint, Scope, SecretId,
    State, Submission, Submitted, Token,
};

/// A zero byte at both ends and between, both quotes, line ends, escapes, a comment and characters beyond ASCII.
const AWKWARD: &str = "\0a\0b 'single' ''twice'' \"double\" \\ \\0 \\u0000 \r\n\t\u{b}\u{1b} -- ; /* ?1 :a $1 %s \u{e4}\u{2028}\u{1f9fe}\0";

fn document() -> Payload {
    let value = serde_json::json!({ AWKWARD: [AWKWARD, { "text": AWKWARD }] });
    Payload::from_value(&value, Payload::LARGEST_RESULT).expect("a payload of the suite")
}

/// A cause as it may be stored; one that is made anew has its detail cut to one line.
fn cause() -> Cause {
    let stored = serde_json::json!({ "kind": "handler", "detail": AWKWARD });
    serde_json::from_value(stored).expect("a cause of the suite")
}

/// Who decided and why, in every kind of decision and in the request for a new generation.
pub async fn the_words_of_people_are_kept(fixture: Fixture) {
    fixture.settled(submission("invoice:1"), done("1")).await;
    let renewal = Renewal { by: AWKWARD.to_owned(), reason: format!("{AWKWARD}{AWKWARD}") };
    let next = Submission { renewal: Some(renewal), ..submission("invoice:1") };
    let second = generation("invoice:1", 2);
    assert_eq!(fixture.submit(next).await, Submitted::New { id: second.clone() });
    let (by, reason) = (AWKWARD.to_owned(), format!("\n{AWKWARD}"));
    let cancel = Command::Cancel { by: by.clone(), reason: reason.clone(), seen: None };
    assert_eq!(fixture.apply(&second, cancel).await, Ok(Answer::Now(State::Cancelled)));
    let replay = Command::Replay {
        by: by.clone(),
        reason: reason.clone(),
        accept_risk: false,
        at_most: None,
        seen: None,
    };
    assert_eq!(fixture.apply(&second, replay).await, Ok(Answer::Now(State::Pending)));
    let audit = fixture.audit(&second).await;
    assert_eq!(audit.len(), 3);
    assert_eq!((&audit[0].by, &audit[0].reason), (&by, &format!("{AWKWARD}{AWKWARD}")));
    for entry in &audit[1..] {
        assert_eq!((&entry.by, &entry.reason), (&by, &reason));
    }
}

/// Why an attempt ended as it did, on the record and on the attempt.
pub async fn the_detail_of_a_cause_is_kept(fixture: Fixture) {
    let outcome = Outcome::Rejected { cause: cause(), after_lookup: false };
    let failed = fixture.settled(submission("invoice:1"), outcome).await;
    assert_eq!(failed.cause.as_ref().map(Cause::detail), Some(AWKWARD));
    assert_eq!(failed.cause, Some(cause()));
    let end = fixture.attempts(&id("invoice:1")).await.remove(0).end.expect("an end");
    assert_eq!(end.cause, Some(cause()));
    let one_line = Outcome::unknown(Cause::new(CauseKind::Error, "it's \"over\" \\ \u{1f9fe}"));
    let waits = fixture.settled(submission("invoice:2"), one_line).await;
    assert_eq!(waits.cause.as_ref().map(Cause::detail), Some("it's \"over\" \\ \u{1f9fe}"));
}

/// Inputs, and the results of records and of steps.
pub async fn inputs_and_results_are_kept(fixture: Fixture) {
    let submitted =
        Submission { input: document(), contract: Contract::STEPS.terms(), ..submission("invoice:1") };
    let _ = fixture.submit(submitted).await;
    let leased = fixture.claim(claim(1)).await.remove(0);
    assert_eq!(leased.input, document());
    for (command, answer) in [
        (start(1), Answer::Started),
        (begin(1, CHARGE, Contract::NONE), Answer::StepBegun),
        (finish(1, CHARGE, Outcome::done(document())), Answer::StepFinished),
        (begin(1, CHARGE, Contract::NONE), Answer::StepDone(Some(document()))),
        (settle(1, Outcome::done(document())), Answer::Settled(State::Succeeded)),
    ] {
        fixture.advance(SECOND);
        assert_eq!(fixture.apply(&id("invoice:1"), command).await, Ok(answer));
    }
    let record = fixture.record(&id("invoice:1")).await;
    assert_eq!(record.result, Some(document()));
    assert_eq!(record.steps[&CHARGE].result, Some(document()));
    let again = Submission { input: document(), ..submission("invoice:1") };
    let Submitted::Existing { result, .. } = fixture.submit(again).await else {
        panic!("the same action");
    };
    assert_eq!(result, Some(document()));
}

/// What is written down before a send, for the record and for a step.
pub async fn pins_are_kept(fixture: Fixture) {
    fixture.running(submission("invoice:1")).await;
    let begun = fixture.apply(&id("invoice:1"), begin(1, CHARGE, Contract::header("Idempotency-Key"))).await;
    assert_eq!(begun, Ok(Answer::StepBegun));
    for step in [None, Some(CHARGE)] {
        let kept = KeptRequest {
            method: "POST".to_owned(),
            url: format!("https://{AWKWARD}"),
            content_type: Some(AWKWARD.to_owned()),
            body: AWKWARD.to_owned(),
        };
        let request = PinRequest {
            wire_key: AWKWARD.to_owned(),
            recipe: Recipe(u16::MAX),
            secret: Some(SecretId::from_static("2026")),
            place: AWKWARD.to_owned(),
            deduplicates: true,
            sent_before: false,
            scope: Scope::of(format!("{AWKWARD}/scope")).account(AWKWARD).region("eu").route(AWKWARD),
            request: RequestFingerprint::new("POST", AWKWARD, AWKWARD.as_bytes()),
            kept: Some(kept),
        };
        let pin = Command::Pin { token: Token::new(1), step: step.clone(), request: Box::new(request) };
        let Ok(Answer::Pinned(told)) = fixture.apply(&id("invoice:1"), pin).await else {
            panic!("pinned");
        };
        let record = fixture.record(&id("invoice:1")).await;
        let kept = record.effect_of(step.as_ref()).and_then(|effect| effect.pin.as_deref());
        assert_eq!(kept, Some(&*told));
        assert_eq!((told.wire_key.as_str(), told.recipe), (AWKWARD, Recipe(u16::MAX)));
        assert_eq!(told.scope.destination, format!("{AWKWARD}/scope"));
        assert_eq!(told.kept.map(|kept| kept.body), Some(AWKWARD.to_owned()));
    }
}

/// Templates are compared as they are, and none is cut at a zero byte.
pub async fn templates_are_compared_to_the_end(fixture: Fixture) {
    let template = |text: &str, reason: Option<&str>| Declaration {
        new_identity: reason.map(str::to_owned),
        ..Declaration::new(COLLECT, V1, text)
    };
    let declare = |one| fixture.ledger.declare(vec![one]);
    declare(template(AWKWARD, None)).await.expect("the first");
    declare(template(AWKWARD, None)).await.expect("the same");
    let longer = format!("{AWKWARD}x");
    let error = declare(template(&longer, None)).await.expect_err("another");
    let LedgerError::TemplateChanged { declared, on_record, .. } = error else {
        panic!("{error}");
    };
    assert_eq!((declared.as_str(), on_record.as_str()), (longer.as_str(), AWKWARD));
    declare(template(&longer, Some(AWKWARD))).await.expect("with a reason");
    declare(template(AWKWARD, None)).await.expect("the first stays");
}
