//! What is about to be sent is written down before the first send.

use super::*;
use crate::model::{KeptRequest, Pin, SecretId};

fn pinned(story: &mut Story, command: Command) -> Pin {
    match story.tell(command) {
        Answer::Pinned(pin) => *pin,
        other => panic!("a pin was expected, found {other:?}"),
    }
}

fn second_attempt(first: Outcome) -> Story {
    let first = Story::running(HEADER).then([pin(1, None, "body")]).end(first);
    first.wait(HOUR).lease_and_start()
}

#[test]
fn the_first_pin_says_what_by_whom_and_when() {
    let mut story = Story::running(HEADER).wait(SECOND);
    let expected = Pin {
        wire_key: "invoice:1".to_owned(),
        recipe: Recipe::VERBATIM,
        secret: None,
        place: "header idempotency-key".to_owned(),
        scope: Scope::of("account-7"),
        request: Fingerprint::of(b"body").into(),
        kept: None,
        by: Token::new(1),
        first_at: at(SECOND),
    };
    assert_eq!(pinned(&mut story, pin(1, None, "body")), expected);
    assert_eq!(story.record.effect.pin.as_deref(), Some(&expected));
}

#[test]
fn the_same_request_keeps_its_pin() {
    for outcome in [unknown(), not_applied()] {
        let mut story = second_attempt(outcome);
        let first = story.record.effect.pin.clone().expect("a pin");
        let again = pinned(&mut story, pin(2, None, "body"));
        assert_eq!(again, Pin { by: Token::new(2), ..*first });
        assert_eq!(again.first_at, START);
    }
}

/// Every change that makes it another request, or another identity.
fn changes() -> Vec<(PinRequest, Difference)> {
    let change = |change: fn(&mut PinRequest), what| {
        let mut request = request("body");
        change(&mut request);
        (request, what)
    };
    vec![
        change(|request| request.place = "field key".to_owned(), Difference::Place),
        change(|request| request.deduplicates = false, Difference::Place),
        change(|request| request.scope = Scope::of("elsewhere"), Difference::Destination),
        change(|request| request.scope.account = Some("other".to_owned()), Difference::Account),
        change(|request| request.scope.region = Some("eu".to_owned()), Difference::Region),
        change(|request| request.scope.route = Some("refund".to_owned()), Difference::Route),
        change(|request| request.wire_key = "invoice:2".to_owned(), Difference::WireKey),
        change(|request| request.request.method = "PUT".to_owned(), Difference::Method),
        change(|request| request.request.url = Fingerprint::of(b"/other"), Difference::Url),
        change(
            |request| request.request.body = Fingerprint::of(b"other"),
            Difference::Body { fields: Vec::new() },
        ),
    ]
}

#[test]
fn every_change_in_the_same_attempt_or_after_an_unknown_one_is_stopped_and_named() {
    let same = Story::running(HEADER).then([pin(1, None, "body")]);
    let later = second_attempt(unknown());
    for (token, story) in [(1, same), (2, later)] {
        for (request, what) in changes() {
            let command = Command::Pin { token: Token::new(token), step: None, request: Box::new(request) };
            assert_eq!(story.refusal(command), Refusal::RequestChanged(what));
        }
    }
}

#[test]
fn a_new_secret_or_recipe_does_not_change_a_key_that_was_pinned() {
    for outcome in [unknown(), not_applied()] {
        let mut story = second_attempt(outcome);
        let pinned_first = story.record.effect.pin.clone().expect("a pin");
        let request = PinRequest {
            wire_key: "a3c1c5c4-0000-8000-8000-000000000000".to_owned(),
            recipe: Recipe::KEYED,
            secret: Some(SecretId::from_static("2026")),
            ..request("body")
        };
        let command = Command::Pin { token: Token::new(2), step: None, request: Box::new(request) };
        assert_eq!(pinned(&mut story, command), Pin { by: Token::new(2), ..*pinned_first });
    }
}

#[test]
fn a_record_made_for_a_destination_that_deduplicates_is_not_sent_to_one_that_does_not() {
    let story = Story::running(HEADER);
    let request = PinRequest { deduplicates: false, ..request("body") };
    let command = Command::Pin { token: Token::new(1), step: None, request: Box::new(request) };
    assert_eq!(story.refusal(command.clone()), Refusal::RequestChanged(Difference::Place));
    assert!(Story::running(Contract::NONE).decide(&command).is_ok());
}

fn kept(token: u64, body: &str) -> Command {
    let kept = KeptRequest {
        method: "POST".to_owned(),
        url: "https://bank.example/transfers".to_owned(),
        content_type: None,
        body: body.to_owned(),
    };
    let request = PinRequest { request: kept.fingerprint(), kept: Some(kept), ..request(body) };
    Command::Pin { token: Token::new(token), step: None, request: Box::new(request) }
}

#[test]
fn a_kept_request_is_what_every_later_attempt_sends() {
    let first = Story::running(HEADER).then([kept(1, "at noon")]).end(unknown());
    let mut story = first.wait(HOUR).lease_and_start();
    for body in ["at one", "at noon"] {
        let again = pinned(&mut story, kept(2, body));
        assert_eq!(again.kept.expect("a request").body, "at noon");
        assert_eq!((again.by.get(), again.first_at), (2, START));
    }
    // Only where the code says so, and within the same scope.
    assert_eq!(story.refusal(pin(2, None, "at one")), Refusal::RequestChanged(Difference::Method));
    let Command::Pin { token, step, mut request } = kept(2, "at one") else { unreachable!() };
    request.scope.account = Some("other".to_owned());
    let elsewhere = Command::Pin { token, step, request };
    assert_eq!(story.refusal(elsewhere), Refusal::RequestChanged(Difference::Account));
}

#[test]
fn another_request_is_pinned_by_a_later_attempt_if_the_first_was_certainly_not_applied() {
    let mut story = second_attempt(not_applied());
    let replaced = pinned(&mut story, pin(2, None, "other"));
    assert_eq!((replaced.request.body, replaced.by.get()), (Fingerprint::of(b"other"), 2));
    assert_eq!(replaced.first_at, START, "the destination may have seen the key since then");
    let unsure = second_attempt(unknown());
    assert_eq!(
        unsure.refusal(pin(2, None, "other")),
        Refusal::RequestChanged(Difference::Body { fields: Vec::new() })
    );
}

#[test]
fn an_attempt_that_confirmed_a_pin_may_not_replace_it() {
    let story = second_attempt(not_applied()).then([pin(2, None, "body")]);
    assert_eq!(
        story.refusal(pin(2, None, "other")),
        Refusal::RequestChanged(Difference::Body { fields: Vec::new() })
    );
}

#[test]
fn another_scope_or_key_is_never_pinned() {
    for outcome in [unknown(), not_applied()] {
        let story = second_attempt(outcome);
        for (change, what) in [("scope", Difference::Destination), ("key", Difference::WireKey)] {
            let mut request = request("body");
            match change {
                "scope" => request.scope = Scope::of("account-8"),
                _ => request.wire_key = "invoice:2".to_owned(),
            }
            let command = Command::Pin { token: Token::new(2), step: None, request: Box::new(request) };
            assert_eq!(story.refusal(command), Refusal::RequestChanged(what));
        }
    }
}

#[test]
fn nothing_is_pinned_for_a_send_that_would_be_blind() {
    let running = |contract: Contract| Story::running(contract).then([pin(1, None, "body")]).end(unknown());
    let mut story = running(HEADER.remembers_for(3 * HOUR)).wait(HOUR).lease_and_start();
    assert_eq!(
        story.refusal(pin(2, None, "other")),
        Refusal::RequestChanged(Difference::Body { fields: Vec::new() })
    );
    // The attempt itself slept until the window was over.
    story = story.wait(2 * HOUR);
    assert_eq!(story.refusal(pin(2, None, "body")), Refusal::NotRepeatable(Uncertainty::WindowOver));
    let risky = running(Contract::NONE).then([replay(true)]).lease_and_start();
    assert!(risky.decide(&pin(2, None, "body")).is_ok());
}

#[test]
fn a_pin_that_comes_after_an_unknown_attempt_does_not_move_the_deadline() {
    let mut story = Story::running(HEADER).end(unknown()).wait(HOUR).lease_and_start();
    assert_eq!(pinned(&mut story, pin(2, None, "body")).first_at, START);
    let mut clean = Story::running(HEADER).end(not_applied()).wait(HOUR).lease_and_start();
    assert_eq!(pinned(&mut clean, pin(2, None, "body")).first_at, at(HOUR));
}

#[test]
fn a_changed_request_that_was_stopped_is_uncertain_and_says_so() {
    let changed = Outcome::unknown(Cause::new(CauseKind::RequestChanged, "the body differs"));
    let after = second_attempt(unknown()).end(changed);
    assert_eq!((after.state(), after.why()), (State::Uncertain, Some(Uncertainty::RequestChanged)));
}

#[test]
fn steps_pin_for_themselves() {
    let mut story =
        Story::running(Contract::STEPS).then([begin(1, CHARGE, HEADER), begin(1, NOTIFY, HEADER)]);
    pinned(&mut story, pin(1, Some(CHARGE), "charge"));
    pinned(&mut story, pin(1, Some(NOTIFY), "mail"));
    assert_eq!(story.record.effect.pin, None);
    let request = |step| {
        story.record.effect_of(Some(&step)).and_then(|effect| effect.pin.clone()).map(|pin| pin.request.body)
    };
    assert_eq!(request(CHARGE), Some(Fingerprint::of(b"charge")));
    assert_eq!(request(NOTIFY), Some(Fingerprint::of(b"mail")));
    assert_eq!(story.refusal(pin(1, Some(StepName::from_static("refund")), "x")), Refusal::NoStep);
}

#[test]
fn a_step_is_pinned_only_while_it_is_entered() {
    for outcome in [done(), not_applied()] {
        let story =
            Story::running(Contract::STEPS).then([begin(1, CHARGE, HEADER), finish(1, CHARGE, outcome)]);
        assert_eq!(story.refusal(pin(1, Some(CHARGE), "charge")), Refusal::NoStep);
        let next = story.end(not_applied()).wait(HOUR).lease_and_start();
        assert_eq!(next.refusal(pin(2, Some(CHARGE), "charge")), Refusal::NoStep);
    }
    let mut again = Story::running(Contract::STEPS).then([
        begin(1, CHARGE, HEADER),
        finish(1, CHARGE, not_applied()),
        begin(1, CHARGE, HEADER),
    ]);
    pinned(&mut again, pin(1, Some(CHARGE), "charge"));
}

#[test]
fn a_second_send_of_one_attempt_is_bounded_as_that_of_a_later_one_is() {
    let again = |contract: Contract, wait, sent_before| {
        let story = Story::running(contract).then([pin(1, None, "body")]).wait(wait);
        let request = PinRequest { sent_before, deduplicates: contract.deduplicates(), ..request("body") };
        story.decide(&Command::Pin { token: Token::new(1), step: None, request: Box::new(request) }).map(drop)
    };
    let for_three_hours = HEADER.remembers_for(3 * HOUR);
    assert_eq!(again(for_three_hours, HOUR, true), Ok(()));
    assert_eq!(again(for_three_hours, 3 * HOUR, true), Err(Refusal::NotRepeatable(Uncertainty::WindowOver)));
    assert_eq!(again(for_three_hours, 3 * HOUR, false), Ok(()), "nothing was sent so far");
    assert_eq!(
        again(Contract::NONE, SECOND, true),
        Err(Refusal::NotRepeatable(Uncertainty::NoDeduplication))
    );
    assert_eq!(again(Contract::NONE, SECOND, false), Ok(()));
}
