//! What contracts make of requests and answers, from the enqueue to the settled record, against real sockets.

use std::time::Duration;

use ratchet::contract::{Contract, KeyFormat, Signal};
use ratchet::http::Client;
use ratchet::{
    CauseKind, Context, Enqueued, Failure, Input, OutcomeKind, Ratchet, Record, RecordState, RetryPolicy,
    State, Stored, Uncertainty, contracts,
};
use serde::{Deserialize, Serialize};

use crate::scripted::{Destination, answer};

const QUICK: RetryPolicy = RetryPolicy::doubling(5, Duration::from_millis(1), Duration::from_millis(1));

const IN_BODY: Contract = Contract::body_field("meta.key");
const IN_QUERY: Contract = Contract::query_parameter("request_id");
const DATED: Contract = contracts::azure::COMMUNICATION_SERVICES.remembers_for(Duration::from_hours(24));
const PAYMENTS: Contract =
    contracts::gocardless::CREATE.key(KeyFormat::ANY).remembers_for(Duration::from_hours(24));
const BUSY: Contract = Contract::header("Idempotency-Key").signals(&[Signal::in_flight(409)]);

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Pay {
    id: u64,
}

/// The program around the operations: where it sends, and what each attempt puts into the body.
#[derive(Clone)]
struct Bank {
    http: Client,
    url: String,
}

impl Bank {
    fn request(&self, ctx: &Context) -> ratchet::http::Request<ratchet::http::NoIdentity> {
        // Another body on every attempt, as with a clock in it.
        self.http
            .post(&self.url)
            .json(&serde_json::json!({"pay": ctx.id().key.as_str(), "attempt": ctx.attempt()}))
    }
}

macro_rules! operations {
    ($($name:ident, $text:literal, $key:literal, $contract:expr, |$request:ident| $change:expr;)+) => {$(
        #[ratchet::operation(name = $text, version = "1", key = $key, destination = $contract, retry = QUICK)]
        async fn $name(ctx: Context, State(bank): State<Bank>, _input: Pay) -> Result<Option<String>, Failure> {
            let $request = bank.request(&ctx);
            let answer = $change.idempotent(&ctx).deliver().await?;
            Ok(answer.made_before().map(str::to_owned))
        }
    )+};
}

operations! {
    in_body, "in_body", "a:<id>", IN_BODY, |request| request.json(&serde_json::json!({"amount": 1}));
    in_query, "in_query", "b:<id>", IN_QUERY, |request| request.json(&1);
    dated, "dated", "c:<id>", DATED, |request| request.json(&1);
    paid, "paid", "d:<id>", PAYMENTS, |request| request.json(&1);
    busy, "busy", "e:<id>", BUSY, |request| request.json(&1);
    drifting, "drifting", "f:<id>", BUSY, |request| request;
    keeping, "keeping", "g:<id>", BUSY, |request| request.keep_request();
    launched, "launched", "i:<id>", contracts::aws::EC2_RUN_INSTANCES, |request| request.json(&1);
    moving, "moving", "h:<id>", BUSY, |request| request.json(&1).account(ATTEMPT.fetch_add(1, Relaxed).to_string());
}

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
static ATTEMPT: AtomicU32 = AtomicU32::new(1);

/// Executes what was enqueued against a destination that answers like this, until it is settled or uncertain.
async fn run<T: std::fmt::Debug>(
    ratchet: &Ratchet,
    enqueued: Enqueued<T>,
    answers: &[&str],
) -> (Record, Vec<String>) {
    let Enqueued::New { id } = enqueued else { panic!("{enqueued:?}") };
    let destination = Destination::answering(answers).await;
    let bank = Bank { http: Client::new().unwrap(), url: destination.url.clone() };
    let registry =
        ratchet::registry![in_body, in_query, dated, paid, busy, drifting, keeping, launched, moving];
    let worker = ratchet.worker(registry).state(bank).wire_secret("1", [1; 32]).build().unwrap();
    let mut changes = ratchet.ledger().wakeups();
    let done = async {
        loop {
            changes.mark_unchanged();
            match ratchet.find(id.clone()).await.unwrap() {
                Some(Stored::Record(record))
                    if record.state.is_settled() || record.state == RecordState::Uncertain =>
                {
                    break;
                }
                Some(_) => {}
                None => panic!("the record is gone"),
            }
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(30), worker.run(done)).await.expect("it ends").unwrap();
    let Some(Stored::Record(record)) = ratchet.find(id).await.unwrap() else { panic!("a record") };
    (*record, destination.received())
}

const CUT: &str = "";

fn ok() -> String {
    answer("200 OK", "", "{}")
}

fn header<'a>(request: &'a str, name: &str) -> Vec<&'a str> {
    let named = |line: &&str| line.to_ascii_lowercase().starts_with(&format!("{name}: "));
    request.lines().filter(named).map(|line| &line[name.len() + 2..]).collect()
}

#[tokio::test]
async fn a_key_goes_into_the_field_of_the_body() {
    let ratchet = Ratchet::in_memory();
    let enqueued = in_body::enqueue(&ratchet, Pay { id: 1 }).await.unwrap();
    let (record, received) = run(&ratchet, enqueued, &[CUT, &ok()]).await;
    assert_eq!(record.state, RecordState::Succeeded);
    assert_eq!(received.len(), 2);
    for request in received {
        assert!(request.ends_with("\r\n\r\n{\"amount\":1,\"meta\":{\"key\":\"a:1\"}}"), "{request}");
    }
}

#[tokio::test]
async fn a_key_goes_into_the_query() {
    let ratchet = Ratchet::in_memory();
    let enqueued = in_query::enqueue(&ratchet, Pay { id: 1 }).await.unwrap();
    let (record, received) = run(&ratchet, enqueued, &[&ok()]).await;
    assert_eq!(record.state, RecordState::Succeeded);
    assert!(received[0].starts_with("POST /?request_id=b%3A1 HTTP/1.1"), "{}", received[0]);
}

#[tokio::test]
async fn a_uuid_and_the_time_of_the_first_request_are_the_same_on_every_attempt() {
    let ratchet = Ratchet::in_memory();
    let enqueued = dated::enqueue(&ratchet, Pay { id: 1 }).await.unwrap();
    let (record, received) = run(&ratchet, enqueued, &[CUT, CUT, &ok()]).await;
    assert_eq!(record.state, RecordState::Succeeded);
    let of = |request: &String| {
        let one = |name| match header(request, name).as_slice() {
            [value] => (*value).to_owned(),
            other => panic!("{name}: {other:?}"),
        };
        (one("repeatability-request-id"), one("repeatability-first-sent"))
    };
    let sent: Vec<_> = received.iter().map(of).collect();
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|same| *same == sent[0]), "{sent:?}");
    assert_eq!((sent[0].0.len(), sent[0].0.as_bytes()[14]), (36, b'8'));
    assert!(sent[0].1.ends_with(" GMT"), "{}", sent[0].1);
}

#[tokio::test]
async fn a_lost_success_that_is_answered_by_a_conflict_is_done_with_what_was_made() {
    let ratchet = Ratchet::in_memory();
    let conflict = answer(
        "409 Conflict",
        "",
        r#"{"error":{"errors":[{"reason":"idempotent_creation_conflict","links":{"conflicting_resource_id":"PM1"}}]}}"#,
    );
    let enqueued = paid::enqueue(&ratchet, Pay { id: 1 }).await.unwrap();
    let (record, received) = run(&ratchet, enqueued, &[CUT, &conflict]).await;
    assert_eq!((record.state, received.len()), (RecordState::Succeeded, 2));
    assert_eq!(record.result.unwrap().as_str(), "\"PM1\"");
}

#[tokio::test]
async fn a_lost_success_whose_effect_was_removed_since_is_done() {
    let ratchet = Ratchet::in_memory();
    let gone = answer(
        "400 Bad Request",
        "",
        "<Response><Errors><Error><Code>IdempotentInstanceTerminated</Code></Error></Errors></Response>",
    );
    let enqueued = launched::enqueue(&ratchet, Pay { id: 1 }).await.unwrap();
    let (record, received) = run(&ratchet, enqueued, &[CUT, &gone]).await;
    assert_eq!((record.state, received.len()), (RecordState::Succeeded, 2));
    let asked: Vec<_> = received.iter().map(|request| request.lines().next()).collect();
    assert_eq!(asked, [Some("POST /?ClientToken=i%3A1 HTTP/1.1"); 2]);
}

#[tokio::test]
async fn answers_that_a_request_is_under_way_spend_no_attempt() {
    let ratchet = Ratchet::in_memory();
    let busy_answer = answer("409 Conflict", "retry-after: 0\r\n", "{}");
    let mut answers = vec![CUT];
    answers.extend([busy_answer.as_str(); 7]);
    let last = ok();
    answers.push(&last);
    let enqueued = busy::enqueue(&ratchet, Pay { id: 1 }).await.unwrap();
    let (record, received) = run(&ratchet, enqueued, &answers).await;
    assert_eq!((record.state, received.len()), (RecordState::Succeeded, 9));
    let keys: Vec<_> = received.iter().flat_map(|request| header(request, "idempotency-key")).collect();
    assert_eq!(keys, ["e:1"; 9]);
}

#[tokio::test]
async fn a_body_that_changes_between_attempts_is_stopped_before_the_network() {
    let ratchet = Ratchet::in_memory();
    let enqueued = drifting::enqueue(&ratchet, Pay { id: 1 }).await.unwrap();
    let (record, received) = run(&ratchet, enqueued, &[CUT, &ok()]).await;
    assert_eq!(
        (record.state, record.uncertainty),
        (RecordState::Uncertain, Some(Uncertainty::RequestChanged))
    );
    assert_eq!(received.len(), 1);
    let cause = record.cause.unwrap();
    assert_eq!(cause.kind(), CauseKind::RequestChanged);
    assert!(cause.detail().starts_with("the body of the request (at `attempt`) differs"), "{cause}");
}

#[tokio::test]
async fn a_kept_request_is_sent_again_byte_for_byte() {
    let ratchet = Ratchet::in_memory();
    let enqueued = keeping::enqueue(&ratchet, Pay { id: 1 }).await.unwrap();
    let (record, received) = run(&ratchet, enqueued, &[CUT, CUT, &ok()]).await;
    assert_eq!((record.state, received.len()), (RecordState::Succeeded, 3));
    assert!(received[0].ends_with(r#"{"attempt":1,"pay":"g:1"}"#), "{}", received[0]);
    assert_eq!(header(&received[0], "content-type"), ["application/json"]);
    assert!(received.iter().all(|same| *same == received[0]), "{received:?}");
}

#[tokio::test]
async fn another_credential_is_stopped_before_the_network() {
    let ratchet = Ratchet::in_memory();
    let enqueued = moving::enqueue(&ratchet, Pay { id: 1 }).await.unwrap();
    let (record, received) = run(&ratchet, enqueued, &[CUT, &ok()]).await;
    assert_eq!((record.state, received.len()), (RecordState::Uncertain, 1));
    assert!(record.cause.unwrap().detail().starts_with("the account or credential differs"));
}

fn charge() -> Context {
    crate::answers::context()
}

#[tokio::test]
async fn one_header_goes_out_however_it_was_set_by_hand() {
    let destination = Destination::answering(&[&ok()]).await;
    let http = Client::new().unwrap();
    let request = http
        .post(&destination.url)
        .header("IDEMPOTENCY-KEY", "charge:ch_1")
        .header("Idempotency-key", "charge:ch_1");
    request.idempotent(&charge()).deliver().await.unwrap();
    assert_eq!(header(&destination.received()[0], "idempotency-key"), ["charge:ch_1"]);
}

#[tokio::test]
async fn what_the_destination_says_and_what_it_was_told_stay_out_of_failures() {
    let reply = answer("402 Payment Required", "x-trace: secret-trace\r\n", r#"{"card":"secret-4242"}"#);
    let destination = Destination::answering(&[&reply]).await;
    let http = Client::new().unwrap();
    let url = format!("{}/secret-path?token=secret-query", destination.url);
    let sent =
        http.post(&url).bearer_auth("secret-token").body("secret-body").idempotent(&charge()).deliver().await;
    let failure = sent.unwrap_err();
    assert_eq!(failure.outcome().kind(), OutcomeKind::Rejected);
    assert!(!format!("{failure:?} {failure}").contains("secret"), "{failure:?}");
}

#[tokio::test]
async fn a_form_is_the_same_bytes_on_every_attempt_and_names_what_changed() {
    let destination = Destination::answering(&[&ok(), &ok(), &ok()]).await;
    let http = Client::new().unwrap();
    let ctx = charge();
    let send = async |cents: u64| {
        let body: std::collections::HashMap<&str, serde_json::Value> = [
            ("currency", "eur".into()),
            ("amount", cents.into()),
            ("metadata", serde_json::json!({"order": "o1"})),
        ]
        .into();
        http.post(&destination.url).form(&body).idempotent(&ctx).deliver().await.map(drop)
    };
    for _ in 0..3 {
        send(700).await.unwrap();
    }
    for request in destination.received() {
        assert_eq!(header(&request, "content-type"), ["application/x-www-form-urlencoded"]);
        assert!(request.ends_with("\r\n\r\namount=700&currency=eur&metadata%5Border%5D=o1"), "{request}");
    }
    let changed = send(800).await.unwrap_err().to_string();
    assert!(changed.contains("the body of the request (at `amount`) differs"), "{changed}");
    let nameless = http.post(&destination.url).form(&7).idempotent(&charge()).deliver().await.unwrap_err();
    assert_eq!(nameless.outcome().kind(), OutcomeKind::NotApplied);
    assert!(nameless.to_string().contains("a form has names"), "{nameless}");
    assert_eq!(destination.received().len(), 3);
}
