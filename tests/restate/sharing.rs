//! Programs with different operations on one engine.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use ratchet::ledger::{Offer, Served, Unserved};
use ratchet::restate::{RestateLedger, serve};
use ratchet::{
    Context, Contract, Enqueued, Failure, LedgerError, Namespace, OperationName, Queue, Ratchet, RecordState,
    Registry, State, Version, Worker, WorkerBuilder, registry,
};

use crate::support::{Engine, Numbered, Serving, listen, within};

const DESTINATION: Contract = Contract::header("Idempotency-Key");

/// The keys that one program executed.
#[derive(Debug, Clone, Default)]
struct Executed(Arc<Mutex<Vec<String>>>);

impl Executed {
    fn add(&self, ctx: &Context) {
        self.0.lock().unwrap().push(ctx.key().to_owned());
    }

    fn keys(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

#[ratchet::operation(name = "print", version = "1", key = "print:<id>", destination = DESTINATION)]
async fn print(ctx: Context, State(by): State<Executed>, input: Numbered) -> Result<u64, Failure> {
    by.add(&ctx);
    Ok(input.id)
}

#[ratchet::operation(name = "post", version = "1", key = "post:<id>", destination = DESTINATION)]
async fn post(ctx: Context, State(by): State<Executed>, input: Numbered) -> Result<u64, Failure> {
    by.add(&ctx);
    Ok(input.id)
}

#[ratchet::operation(name = "sign", version = "1", key = "sign:<id>", destination = DESTINATION, concurrency = 2)]
async fn sign(ctx: Context, input: Numbered) -> Result<String, Failure> {
    Ok(format!("{} under {}", input.id, ctx.key()))
}

/// What comes of it when somebody changes the key.
mod changed {
    use super::{Context, DESTINATION, Executed, Failure, Numbered, State};

    #[ratchet::operation(name = "print", version = "2", key = "reprint:<id>", destination = DESTINATION)]
    pub(super) async fn reprint(
        ctx: Context,
        State(by): State<Executed>,
        input: Numbered,
    ) -> Result<u64, Failure> {
        by.add(&ctx);
        Ok(input.id)
    }
}

fn id_of<T: std::fmt::Debug>(answer: Enqueued<T>) -> ratchet::RecordId {
    match answer {
        Enqueued::New { id } => id,
        other => panic!("expected a new record, got {other:?}"),
    }
}

async fn printer() -> (Engine, Executed) {
    let executed = Executed::default();
    let state = executed.clone();
    (Engine::start(registry![print], |builder| builder.state(state)).await, executed)
}

async fn post_office(engine: &Engine) -> (Serving, Executed) {
    let executed = Executed::default();
    let state = executed.clone();
    (Serving::start(&engine.server.url(), registry![post], |builder| builder.state(state)).await, executed)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_gets_only_what_it_has_the_code_for() {
    let (engine, printed) = printer().await;
    let (_serving, posted) = post_office(&engine).await;
    let ids = [
        id_of(print::enqueue(&engine.ratchet, Numbered { id: 1 }).await.unwrap()),
        id_of(post::enqueue(&engine.ratchet, Numbered { id: 2 }).await.unwrap()),
        id_of(print::enqueue(&engine.ratchet, Numbered { id: 3 }).await.unwrap()),
    ];
    for id in &ids {
        assert_eq!(engine.settled(id).await.state, RecordState::Succeeded);
    }
    let mut keys = printed.keys();
    keys.sort();
    assert_eq!(
        (keys, posted.keys()),
        (vec!["print:1".to_owned(), "print:3".to_owned()], vec!["post:2".to_owned()])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_serves_waits_and_is_counted_until_somebody_does() {
    let (engine, printed) = printer().await;
    let id = id_of(post::enqueue(&engine.ratchet, Numbered { id: 2 }).await.unwrap());
    // What comes later is done, so the engine has looked for somebody before.
    let later = id_of(print::enqueue(&engine.ratchet, Numbered { id: 1 }).await.unwrap());
    engine.settled(&later).await;
    let record = engine.record(&id).await;
    assert_eq!((record.state, record.token.get(), record.attempts), (RecordState::Pending, 0, 0));
    let served =
        |name| Served { operation: OperationName::from_static(name), version: Version::from_static("1") };
    let offers = vec![Offer::new(served("print"))];
    let unserved = engine.ratchet.ledger().unserved(Namespace::DEFAULT, offers).await.unwrap();
    let since = record.ready_at;
    assert_eq!(unserved, [Unserved { wanted: served("post"), queue: Queue::DEFAULT, records: 1, since }]);

    let (_serving, posted) = post_office(&engine).await;
    assert_eq!(engine.settled(&id).await.state, RecordState::Succeeded);
    assert_eq!((printed.keys(), posted.keys()), (vec!["print:1".to_owned()], vec!["post:2".to_owned()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_may_serve_its_operations_alone() {
    let engine = Engine::of_records().await;
    let executed = Executed::default();
    let state = executed.clone();
    let set_up = |builder: WorkerBuilder| builder.state(state);
    let _serving = Serving::attempts(&engine.server.url(), registry![print], set_up).await;
    let id = id_of(print::enqueue(&engine.ratchet, Numbered { id: 1 }).await.unwrap());
    assert_eq!(engine.settled(&id).await.state, RecordState::Succeeded);
    assert_eq!(executed.keys(), ["print:1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_refused_takes_nothing_from_others() {
    let (engine, printed) = printer().await;
    let ledger = RestateLedger::open(&engine.server.url()).unwrap();
    let worker = Ratchet::with_ledger(ledger.clone()).worker(registry![changed::reprint]);
    let worker = worker.state(Executed::default()).build().unwrap();
    let (listener, uri) = listen().await;
    let serving = serve(&ledger, Some(worker), listener, &uri, std::future::pending());
    let refused = within(serving).await.unwrap_err();
    assert!(matches!(refused, LedgerError::TemplateChanged { .. }), "{refused:?}");
    let id = id_of(print::enqueue(&engine.ratchet, Numbered { id: 1 }).await.unwrap());
    assert_eq!(engine.settled(&id).await.state, RecordState::Succeeded);
    assert_eq!(printed.keys(), ["print:1"]);
}

/// Nothing answers there: what is refused is refused before anybody is asked.
async fn refusal(registry: Registry, set_up: impl FnOnce(WorkerBuilder) -> Worker) -> LedgerError {
    let ledger = RestateLedger::open("restate://127.0.0.1:1").unwrap();
    let worker = set_up(Ratchet::with_ledger(ledger.clone()).worker(registry));
    let (listener, uri) = listen().await;
    serve(&ledger, Some(worker), listener, &uri, std::future::pending()).await.unwrap_err()
}

#[tokio::test]
async fn a_limit_that_the_engine_cannot_keep_is_refused() {
    let refused = refusal(registry![sign], |builder| builder.build().unwrap()).await;
    assert!(
        matches!(&refused, LedgerError::LimitNotKept { operation } if operation.as_str() == "sign"),
        "{refused:?}"
    );
    let offered = registry![sign].offers().next().unwrap();
    assert_eq!(offered.at_most, NonZeroU32::new(2));
}

#[tokio::test]
async fn a_file_that_the_drive_would_not_look_at_is_refused() {
    let refused = refusal(registry![print], |builder| {
        builder.state(Executed::default()).high_water_file("mark").build().unwrap()
    })
    .await;
    assert!(matches!(refused, LedgerError::Unsupported { .. }), "{refused:?}");
}
