use ratchet_core::OutcomeKind;
use ratchet_core::contracts::{adyen, aws, gocardless, increase, resend, square, stripe, telnyx};
use reqwest::header::{HeaderName, HeaderValue};

use super::*;

type Read = Result<Confirmed, (OutcomeKind, CauseKind)>;

fn read(
    contract: &Contract,
    status: u16,
    headers: &[(&'static str, &'static str)],
    body: Option<&str>,
) -> Read {
    let pair = |(name, value): &(&'static str, &'static str)| {
        (HeaderName::from_static(name), HeaderValue::from_static(value))
    };
    let headers: HeaderMap = headers.iter().map(pair).collect();
    let status = StatusCode::from_u16(status).unwrap();
    classify(status, &headers, body.map(str::as_bytes), contract).map_err(|failure| {
        let outcome = failure.into_outcome();
        (outcome.kind(), outcome.cause().unwrap().kind())
    })
}

const REPLAYED: &[(&str, &str)] = &[("idempotent-replayed", "TRUE")];
const BUSY: Contract = Contract::header("K").signals(&[Signal::in_flight(409)]);
const UNKNOWN: OutcomeKind = OutcomeKind::Unknown;

#[test]
fn in_flight_is_neither_done_nor_failed() {
    let stripe_body = r#"{"error": {"type": "idempotency_error", "code": "idempotency_key_in_use"}}"#;
    let adyen_body = r#"{"status": 422, "errorCode": "704"}"#;
    let resend_body = r#"{"statusCode": 409, "name": "concurrent_idempotent_requests"}"#;
    for (contract, status, headers, body) in [
        (&stripe::V1, 409, &[][..], stripe_body),
        (&adyen::PAYMENTS, 422, &[], adyen_body),
        (&adyen::PAYMENTS, 409, &[("transient-error", "true")], "{}"),
        (&resend::EMAILS, 409, &[], resend_body),
    ] {
        let found = read(contract, status, headers, Some(body));
        assert_eq!(found, Err((UNKNOWN, CauseKind::InFlight)), "{}", contract.name());
    }
}

#[test]
fn a_key_with_other_contents_proves_that_a_request_arrived() {
    for (contract, status, body) in [
        (&stripe::V1, 400, r#"{"error": {"type": "idempotency_error"}}"#),
        (&resend::EMAILS, 409, r#"{"name": "invalid_idempotent_request"}"#),
        (&increase::CREATE, 409, r#"{"type": "idempotency_key_already_used_error", "resource_id": "x"}"#),
        (&square::PAYMENTS, 400, r#"{"errors": [{"code": "OTHER"}, {"code": "IDEMPOTENCY_KEY_REUSED"}]}"#),
        (&telnyx::V2, 422, "{}"),
    ] {
        let found = read(contract, status, &[], Some(body));
        assert_eq!(found, Err((UNKNOWN, CauseKind::Mismatch)), "{}", contract.name());
    }
    let invalid = r#"{"error": {"type": "invalid_request_error"}}"#;
    let rejected = Err((OutcomeKind::Rejected, CauseKind::Status(400)));
    assert_eq!(read(&stripe::V1, 400, &[], Some(invalid)), rejected);
    // Words in a message, or in what a customer wrote, are no signal.
    let quoted = r#"{"error": {"message": "idempotency_error", "metadata": {"type": "idempotency_error"}}}"#;
    assert_eq!(read(&stripe::V1, 400, &[], Some(quoted)), rejected);
}

#[test]
fn a_conflict_that_names_what_exists_is_done() {
    let body = r#"{"error": {"type": "invalid_state", "errors": [{"reason": "other"},
        {"reason": "idempotent_creation_conflict", "links": {"conflicting_resource_id": "PM123"}}]}}"#;
    let done = |resource: Option<&str>| {
        Ok(Confirmed { replayed: false, duplicate: true, resource: resource.map(str::to_owned) })
    };
    assert_eq!(read(&gocardless::CREATE, 409, &[], Some(body)), done(Some("PM123")));
    let nameless = r#"{"error": {"errors": [{"reason": "idempotent_creation_conflict"}]}}"#;
    assert_eq!(read(&gocardless::CREATE, 409, &[], Some(nameless)), done(None));
    let other = r#"{"error": {"errors": [{"reason": "bank_account_exists"}]}}"#;
    assert_eq!(read(&gocardless::CREATE, 409, &[], Some(other)), Err((UNKNOWN, CauseKind::Status(409))));
}

#[test]
fn an_error_for_what_was_removed_since_is_done() {
    let xml = |code| {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>{code}</Code><Message>The client token \
             is associated with a terminated instance.</Message></Error></Errors><RequestID>r-1</RequestID></Response>"
        )
    };
    let answered = |code| read(&aws::EC2_RUN_INSTANCES, 400, &[], Some(&xml(code)));
    let done = Confirmed { replayed: false, duplicate: true, resource: None };
    assert_eq!(answered("IdempotentInstanceTerminated"), Ok(done));
    assert_eq!(answered("IdempotentParameterMismatch"), Err((UNKNOWN, CauseKind::Mismatch)));
    let rejected = Err((OutcomeKind::Rejected, CauseKind::Status(400)));
    assert_eq!(answered("InvalidParameterValue"), rejected);
    // A message that speaks of the code is no code.
    let quoted = "<Response><Errors><Error><Code>X</Code><Message>IdempotentInstanceTerminated</Message></Error></Errors></Response>";
    assert_eq!(read(&aws::EC2_RUN_INSTANCES, 400, &[], Some(quoted)), rejected);
    let unreadable = Err((UNKNOWN, CauseKind::UnreadableAnswer));
    assert_eq!(read(&aws::EC2_RUN_INSTANCES, 400, &[], None), unreadable);
}

#[test]
fn a_body_that_would_tell_and_cannot_be_read_leaves_it_unknown() {
    let unreadable = Err((UNKNOWN, CauseKind::UnreadableAnswer));
    assert_eq!(read(&gocardless::CREATE, 409, &[], None), unreadable);
    assert_eq!(read(&stripe::V1, 400, &[], None), unreadable);
    for status in [200, 201, 204] {
        assert_eq!(read(&Contract::NONE, status, &[], None), unreadable);
    }
    // Nothing depends on it here.
    let rejected = Err((OutcomeKind::Rejected, CauseKind::Status(402)));
    assert_eq!(read(&gocardless::CREATE, 402, &[], None), rejected);
    for body in ["", "not json", "[]", "7", r#"{"error": "text"}"#] {
        let found = read(&stripe::V1, 400, &[], Some(body));
        assert_eq!(found, Err((OutcomeKind::Rejected, CauseKind::Status(400))), "{body}");
    }
}

#[test]
fn a_document_that_is_cut_off_or_damaged_leaves_it_unknown() {
    let unreadable = Err((UNKNOWN, CauseKind::UnreadableAnswer));
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for (contract, body) in [
        (&stripe::V1, r#"{"error": {"type": "idempotency_err"#),
        (&stripe::V1, r#" [{"error""#),
        (&stripe::V1, r#"{"error": {"type": "invalid"}}}"#),
        (&stripe::V1, &deep),
        (&aws::EC2_RUN_INSTANCES, "<?xml version=\"1.0\"?>\n<Response><Errors><Error><Code>Idempotent"),
        (
            &aws::EC2_RUN_INSTANCES,
            "<Response><Errors><Error><Code>IdempotentInstanceTerminated</Code></Error>",
        ),
    ] {
        assert_eq!(read(contract, 400, &[], Some(body)), unreadable, "{body}");
    }
    // A gateway's page is whole.
    for page in
        ["<html><body><br>Bad Request", "<!DOCTYPE html><title>Bad Request</title>", "<h1>Bad Request</h1>"]
    {
        let found = read(&stripe::V1, 400, &[], Some(page));
        assert_eq!(found, Err((OutcomeKind::Rejected, CauseKind::Status(400))), "{page}");
    }
    let marked = "\u{feff}{\"error\": {\"type\": \"idempotency_error\"}}";
    assert_eq!(read(&stripe::V1, 400, &[], Some(marked)), Err((UNKNOWN, CauseKind::Mismatch)));
}

#[test]
fn a_stored_refusal_is_certain_and_a_fresh_one_speaks_of_itself() {
    let refused = |headers| {
        classify(StatusCode::PAYMENT_REQUIRED, &headers, Some(b"{}"), &stripe::V1).unwrap_err().into_outcome()
    };
    let stored =
        HeaderMap::from_iter([("idempotent-replayed".parse().unwrap(), HeaderValue::from_static("true"))]);
    assert!(matches!(refused(stored), Outcome::Rejected { after_lookup: true, .. }));
    assert!(matches!(refused(HeaderMap::new()), Outcome::Rejected { after_lookup: false, .. }));
    // A stored failure says nothing about the effect.
    assert_eq!(read(&stripe::V1, 500, REPLAYED, Some("{}")), Err((UNKNOWN, CauseKind::Status(500))));
    let replayed = Confirmed { replayed: true, duplicate: false, resource: None };
    assert_eq!(read(&stripe::V1, 200, REPLAYED, Some("{}")), Ok(replayed.clone()));
    assert_eq!(
        read(&Contract::header("K"), 200, REPLAYED, Some("{}")),
        Ok(Confirmed { replayed: false, ..replayed })
    );
}

#[test]
fn the_wish_to_wait_is_the_least_and_one_second_is_assumed_of_a_request_under_way() {
    let wait = |contract: &Contract, status, headers: HeaderMap| {
        let status = StatusCode::from_u16(status).unwrap();
        match classify(status, &headers, Some(b""), contract).unwrap_err().into_outcome() {
            Outcome::Unknown { retry_after, .. } | Outcome::NotApplied { retry_after, .. } => retry_after,
            other => panic!("{other:?}"),
        }
    };
    let after = |text: &'static str| {
        HeaderMap::from_iter([("retry-after".parse().unwrap(), HeaderValue::from_static(text))])
    };
    assert_eq!(wait(&BUSY, 409, HeaderMap::new()), Some(Duration::from_secs(1)));
    assert_eq!(wait(&BUSY, 409, after("30")), Some(Duration::from_secs(30)));
    assert_eq!(wait(&stripe::V1, 429, after("2")), Some(Duration::from_secs(2)));
    assert_eq!(wait(&BUSY, 503, after("2")), Some(Duration::from_secs(2)));
    assert_eq!(wait(&BUSY, 503, HeaderMap::new()), None);
    assert_eq!(read(&stripe::V1, 429, &[], Some("")), Err((OutcomeKind::NotApplied, CauseKind::Status(429))));
}
