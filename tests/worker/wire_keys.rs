//! The key that a destination receives stays the same, whatever changes around an operation in flight.

use std::future::Future;
use std::pin::Pin as Boxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ratchet::contract::{Contract, KeyFormat, ScopePart};
use ratchet::{
    CauseKind, Context, Failure, Fingerprint, Input, KeptRequest, Namespace, Pin, Ratchet, Record,
    RecordState, RetryPolicy, Scope, State, Uncertainty, WorkerBuilder, WorkerError,
};
use serde::{Deserialize, Serialize};

use crate::support::{id_of, record, settled, start_with, wait_until};

const BANK: Contract = Contract::header("Idempotency-Key").key(KeyFormat::UUID);
const PER_CREDENTIAL: Contract = BANK.kept_apart_by(&[ScopePart::Credential]);
const QUICK: RetryPolicy = RetryPolicy::doubling(5, Duration::from_millis(1), Duration::from_millis(1));

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Transfer {
    id: u64,
}

type Ended = Boxed<Box<dyn Future<Output = Result<(), Failure>> + Send>>;
type Act = Arc<dyn Fn(Context) -> Ended + Send + Sync>;

#[ratchet::operation(name = "transfer", version = "1", key = "transfer:<id>:send:v1", destination = BANK, retry = QUICK)]
async fn transfer(ctx: Context, State(act): State<Act>, _input: Transfer) -> Result<(), Failure> {
    act(ctx).await
}

#[ratchet::operation(name = "payout", version = "1", key = "payout:<id>:send:v1", destination = PER_CREDENTIAL, retry = QUICK)]
async fn payout(ctx: Context, State(act): State<Act>, _input: Transfer) -> Result<(), Failure> {
    act(ctx).await
}

fn act<F>(work: impl Fn(Context) -> F + Send + Sync + 'static) -> Act
where
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    Arc::new(move |ctx| Box::pin(work(ctx)))
}

const SECRET: [u8; 32] = [1; 32];
const OTHER_SECRET: [u8; 32] = [2; 32];

fn worker(ratchet: &Ratchet, act: Act) -> WorkerBuilder {
    ratchet.worker(ratchet::registry![transfer, payout]).state(act).poll_interval(Duration::from_hours(1))
}

fn body() -> Fingerprint {
    Fingerprint::of(b"{}")
}

/// A transfer whose first attempt pinned something under the secret `1` and came to nothing that is known.
async fn in_doubt(ratchet: &Ratchet) -> Record {
    let id = id_of(transfer::enqueue(ratchet, Transfer { id: 1 }).await.unwrap());
    let seen = id.clone();
    let stopped = act(|ctx: Context| async move {
        ctx.pin("bank", body()).await?;
        // No other attempt before the worker is stopped.
        Err(Failure::unknown("no answer").retry_after(Duration::from_millis(300)))
    });
    let running = start_with(worker(ratchet, stopped).wire_secret("1", SECRET));
    let record =
        wait_until(ratchet, &seen, |record| record.state == RecordState::Pending && record.attempts == 1)
            .await;
    running.stop().await;
    record
}

fn pin_of(record: &Record) -> &Pin {
    record.effect.pin.as_ref().expect("a pin")
}

#[tokio::test]
async fn a_worker_without_a_secret_does_not_start_where_a_destination_needs_one() {
    let ratchet = Ratchet::in_memory();
    let nothing = || act(|_| async { Ok(()) });
    let error = worker(&ratchet, nothing()).build().unwrap_err();
    assert_eq!(error, WorkerError::MissingSecret { operation: "payout".to_owned() });
    assert!(error.to_string().contains(".wire_secret("), "{error}");
    let weak = worker(&ratchet, nothing()).wire_secret("1", [7; 31]).build().unwrap_err();
    assert_eq!(weak.to_string(), "the secret `1` has fewer than 32 bytes: take 32 random ones");
    let shown =
        format!("{:?}", worker(&ratchet, nothing()).wire_secret("1", *b"very-secret-very-secret-very-sec"));
    assert!(!shown.contains("very") && !shown.contains("118, 101"), "{shown}");
    let staging = ratchet.in_namespace(Namespace::from_static("staging"));
    let plain = |ratchet: &Ratchet| ratchet.worker(ratchet::registry![plain]).build().map(drop);
    assert_eq!(plain(&ratchet), Ok(()));
    assert_eq!(plain(&staging), Err(WorkerError::MissingSecret { operation: "plain".to_owned() }));
}

#[ratchet::operation(name = "plain", version = "1", key = "plain:<id>", destination = Contract::header("Key"))]
async fn plain(_input: Transfer) -> Result<(), Failure> {
    Ok(())
}

#[tokio::test]
async fn a_new_secret_leaves_the_key_of_an_operation_in_flight_as_it_is() {
    let ratchet = Ratchet::in_memory();
    let first = in_doubt(&ratchet).await;
    assert_eq!(pin_of(&first).wire_key.len(), 36);
    let again = act(|ctx: Context| async move { ctx.pin("bank", body()).await.map(drop) });
    let running = start_with(worker(&ratchet, again).wire_secret("2", OTHER_SECRET));
    let ended = settled(&ratchet, &first.id).await;
    assert_eq!(ended.state, RecordState::Succeeded);
    let (before, after) = (pin_of(&first), pin_of(&ended));
    assert_eq!((&before.wire_key, &before.secret), (&after.wire_key, &after.secret));
    assert_eq!(after.secret.as_ref().unwrap().as_str(), "1");
    // What was not sent before takes the new one.
    let fresh = id_of(transfer::enqueue(&ratchet, Transfer { id: 2 }).await.unwrap());
    let fresh = settled(&ratchet, &fresh).await;
    assert_eq!(pin_of(&fresh).secret.as_ref().unwrap().as_str(), "2");
    running.stop().await;
}

async fn refused_again(builder: impl FnOnce(WorkerBuilder) -> WorkerBuilder, again: Act) -> String {
    let ratchet = Ratchet::in_memory();
    let first = in_doubt(&ratchet).await;
    let running = start_with(builder(worker(&ratchet, again)));
    let ended = settled_or_uncertain(&ratchet, &first).await;
    running.stop().await;
    assert_eq!((ended.state, ended.uncertainty), (RecordState::Uncertain, Some(Uncertainty::RequestChanged)));
    let cause = ended.cause.expect("a cause");
    assert_eq!(cause.kind(), CauseKind::RequestChanged);
    cause.detail().to_owned()
}

async fn settled_or_uncertain(ratchet: &Ratchet, of: &Record) -> Record {
    wait_until(ratchet, &of.id, |record| record.state.is_settled() || record.state == RecordState::Uncertain)
        .await
}

#[tokio::test]
async fn what_changes_the_identity_is_stopped_and_named_without_values() {
    let same = |builder: WorkerBuilder| builder.wire_secret("1", SECRET);
    let account = act(|ctx: Context| async move {
        ctx.pin(Scope::of("bank").account("acct_8"), body()).await.map(drop)
    });
    let said = refused_again(same, account).await;
    assert!(said.contains("account or credential differs") && !said.contains("acct_8"), "{said}");
    let region =
        act(|ctx: Context| async move { ctx.pin(Scope::of("bank").region("us-1"), body()).await.map(drop) });
    assert!(refused_again(same, region).await.contains("region differs"));
    let clock =
        act(|ctx: Context| async move { ctx.pin("bank", Fingerprint::of(b"at noon")).await.map(drop) });
    assert!(refused_again(same, clock).await.contains("body of the request differs"));
    // The name of the secret is the same, and what it names is not.
    let unchanged = act(|ctx: Context| async move { ctx.pin("bank", body()).await.map(drop) });
    let said = refused_again(|builder| builder.wire_secret("1", OTHER_SECRET), unchanged).await;
    assert!(said.contains("wire key differs"), "{said}");
    let unchanged = act(|ctx: Context| async move { ctx.pin("bank", body()).await.map(drop) });
    let both = |builder: WorkerBuilder| builder.wire_secret("1", OTHER_SECRET).wire_secret("2", SECRET);
    let said = refused_again(both, unchanged).await;
    assert!(said.contains("wire key differs"), "{said}");
}

#[tokio::test]
async fn a_destination_that_compares_per_credential_wants_its_name() {
    let ratchet = Ratchet::in_memory();
    let forgets = act(|ctx: Context| async move { ctx.pin("bank", body()).await.map(drop) });
    let running = start_with(worker(&ratchet, forgets).wire_secret("1", SECRET));
    let id = id_of(payout::enqueue(&ratchet, Transfer { id: 1 }).await.unwrap());
    let ended = settled(&ratchet, &id).await;
    assert_eq!(ended.state, RecordState::Failed);
    assert!(ended.cause.unwrap().detail().contains("`.account(…)`"));
    running.stop().await;
}

#[tokio::test]
async fn two_calls_of_one_handler_have_keys_of_their_own() {
    let ratchet = Ratchet::in_memory();
    let keys = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&keys);
    let both = act(move |ctx: Context| {
        let seen = Arc::clone(&seen);
        async move {
            for name in ["create", "pay"] {
                let step = ctx.step(name).to(BANK);
                let pin =
                    step.run(async |step: Context| Ok(step.pin("bank", body()).await?.wire_key)).await?;
                seen.lock().unwrap().push(pin);
            }
            Ok(())
        }
    });
    let running = start_with(worker(&ratchet, both).wire_secret("1", SECRET));
    let id = id_of(transfer::enqueue(&ratchet, Transfer { id: 1 }).await.unwrap());
    assert_eq!(settled(&ratchet, &id).await.state, RecordState::Succeeded);
    running.stop().await;
    let keys = keys.lock().unwrap().clone();
    assert_eq!(keys.len(), 2);
    assert_ne!(keys[0], keys[1]);
}

fn at(time: &str) -> KeptRequest {
    let url = "https://bank.example/transfers".to_owned();
    KeptRequest { method: "POST".to_owned(), url, content_type: None, body: format!("at {time}") }
}

#[tokio::test]
async fn a_kept_request_does_not_stand_in_for_a_second_one_of_the_same_attempt() {
    let ratchet = Ratchet::in_memory();
    let two = act(|ctx: Context| async move {
        ctx.pin_kept("bank", at("noon")).await?;
        ctx.pin_kept("bank", at("noon")).await?;
        ctx.pin_kept("bank", at("one")).await.map(drop)
    });
    let running = start_with(worker(&ratchet, two).wire_secret("1", SECRET));
    let id = id_of(transfer::enqueue(&ratchet, Transfer { id: 1 }).await.unwrap());
    let of = record(&ratchet, &id).await;
    let ended = settled_or_uncertain(&ratchet, &of).await;
    running.stop().await;
    assert_eq!(ended.state, RecordState::Uncertain);
    assert!(ended.cause.unwrap().detail().contains("another request under the same identity"));
}

#[tokio::test]
async fn a_request_that_is_too_large_to_be_kept_is_not_sent() {
    let ratchet = Ratchet::in_memory();
    let huge = act(|ctx: Context| async move {
        ctx.pin_kept("bank", at(&"x".repeat(KeptRequest::LARGEST))).await.map(drop)
    });
    let running = start_with(worker(&ratchet, huge).wire_secret("1", SECRET));
    let id = id_of(transfer::enqueue(&ratchet, Transfer { id: 1 }).await.unwrap());
    let ended = settled(&ratchet, &id).await;
    running.stop().await;
    assert_eq!((ended.state, ended.effect.pin), (RecordState::Failed, None));
}
