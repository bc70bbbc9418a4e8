//! A store with one record in each situation that pages tell of, made by a clock that goes through the last two days.

mod story;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use ratchet::decide::{Command, PinRequest};
use ratchet::ledger::{Claim, Declaration, Ledger as _, Offer, Order, Served};
use ratchet::sqlite::{SqliteLedger, SqliteOptions};
use ratchet::{
    Answer, Cause, CauseKind, Client, Clock, Contract, Generation, HiddenPath, HiddenPaths, Key, Namespace,
    OperationName, Outcome, Payload, Policy, Priority, Queue, Recipe, Record, RecordId, RequestFingerprint,
    Scope, Stored, Submission, Timestamp, Version, WorkerId,
};
use serde_json::{Value, json};

pub(crate) const MINUTE: Duration = Duration::from_mins(1);
pub(crate) const HOUR: Duration = Duration::from_hours(1);

const TRANSFER: OperationName = OperationName::from_static("send_transfer");
const COLLECT: OperationName = OperationName::from_static("collect_invoice");
const RECEIPT: OperationName = OperationName::from_static("mail_receipt");
const CLOSE: OperationName = OperationName::from_static("close_order");
const V1: Version = Version::from_static("1");

/// The payment that nobody knows about.
pub(crate) const LOST: &str = "transfer:481:send:v1";
/// A second one, for somebody without a mouse.
pub(crate) const LOST_TOO: &str = "transfer:502:send:v1";

/// A clock that a test sets.
#[derive(Debug)]
struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.load(Ordering::SeqCst)).unwrap_or(0))
    }
}

pub(crate) struct Shop {
    pub(crate) client: Client,
    ledger: Arc<SqliteLedger>,
    hands: Arc<Hands>,
    _folder: tempfile::TempDir,
    pub(crate) store: String,
}

/// How one attempt goes.
struct Try {
    pin: Option<(&'static str, &'static str)>,
    took: Duration,
    outcome: Outcome,
}

fn unknown(kind: CauseKind, detail: &str) -> Outcome {
    Outcome::unknown(Cause::new(kind, detail))
}

impl Shop {
    /// An empty store, two days ago.
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = format!("sqlite:{}", folder.path().join("shop.db").display());
        let now = Timestamp::from(SystemTime::now()).as_millis();
        let hands = Arc::new(Hands(AtomicI64::new(now - 2 * 24 * 3_600_000)));
        let ledger = SqliteOptions::new().clock(hands.clone()).open(&store).await.unwrap();
        let client = Client::new(ledger.clone());
        let shop = Self { client, ledger, hands, _folder: folder, store };
        shop.declare().await;
        shop
    }

    /// One record in each situation.
    pub(crate) async fn furnished() -> Self {
        let shop = Self::new().await;
        shop.furnish().await;
        shop
    }

    async fn declare(&self) {
        let hidden = HiddenPaths::new([HiddenPath::default().field("customer").field("email")]);
        for (operation, template) in [
            (TRANSFER, "transfer:<transfer_id>:send:v1"),
            (COLLECT, "invoice:<invoice_id>:collect:v1"),
            (RECEIPT, "receipt:<order_id>:mail:v1"),
        ] {
            let declaration = Declaration::new(operation, V1, template);
            self.ledger.declare(vec![Declaration { hidden: hidden.clone(), ..declaration }]).await.unwrap();
        }
    }

    /// Sets the clock to so long before now.
    fn ago(&self, span: Duration) {
        let now = Timestamp::from(SystemTime::now()).as_millis();
        self.hands.0.store(now - i64::try_from(span.as_millis()).unwrap(), Ordering::SeqCst);
    }

    fn pass(&self, span: Duration) {
        self.hands.0.fetch_add(i64::try_from(span.as_millis()).unwrap(), Ordering::SeqCst);
    }

    pub(crate) async fn submit(
        &self,
        operation: OperationName,
        key: &str,
        contract: Contract,
        policy: Policy,
    ) -> RecordId {
        self.submit_in(Namespace::DEFAULT, operation, key, contract, policy).await
    }

    pub(crate) async fn submit_in(
        &self,
        namespace: Namespace,
        operation: OperationName,
        key: &str,
        contract: Contract,
        policy: Policy,
    ) -> RecordId {
        let submission = submission(namespace, operation, key, contract, policy);
        let id = submission.id.clone();
        let _ = self.ledger.submit(vec![submission]).await.unwrap();
        id
    }

    async fn lease(&self, id: &RecordId, worker: &str, lease: Duration) -> Record {
        let offer = Offer::new(Served { operation: id.operation.clone(), version: V1 });
        let claim = Claim {
            namespace: id.namespace.clone(),
            offers: vec![offer],
            worker: WorkerId::new(worker).unwrap(),
            limit: 100,
            lease,
            start_if_safe: false,
        };
        let claimed = self.ledger.claim(claim).await.unwrap();
        let record = claimed.into_iter().find(|record| record.id == *id).expect("it is due");
        self.order(id, Command::Start { token: record.token }).await;
        record
    }

    pub(crate) async fn order(&self, id: &RecordId, command: Command) -> Answer {
        let order = Order { id: id.clone(), command };
        self.ledger.apply(vec![order]).await.unwrap().pop().unwrap().unwrap()
    }

    async fn attempt(&self, id: &RecordId, worker: &str, one: Try) -> Record {
        let token = self.lease(id, worker, MINUTE).await.token;
        if let Some((place, destination)) = one.pin {
            let request = PinRequest {
                wire_key: id.key.to_string(),
                recipe: Recipe::VERBATIM,
                secret: None,
                place: place.to_owned(),
                deduplicates: place != "none",
                scope: Scope::of(destination).account("acct_7"),
                request: RequestFingerprint::new("POST", destination, b"{}"),
                kept: None,
                sent_before: false,
            };
            self.pass(Duration::from_millis(40));
            self.order(id, Command::Pin { token, step: None, request: Box::new(request) }).await;
        }
        self.pass(one.took);
        self.order(id, Command::Settle { token, outcome: one.outcome }).await;
        self.record(id).await
    }

    pub(crate) async fn record(&self, id: &RecordId) -> Record {
        match self.client.find(id.clone()).await.unwrap() {
            Some(Stored::Record(record)) => *record,
            other => panic!("expected a record, got {other:?}"),
        }
    }

    /// A payment to a bank that recognises no repeated request, and whose connection breaks.
    pub(crate) async fn lost_payment(&self, key: &str, ago: Duration) -> RecordId {
        self.ago(ago);
        let id = self.submit(TRANSFER, key, Contract::NONE, Policy::DEFAULT).await;
        self.pass(Duration::from_millis(300));
        let broken = Try {
            pin: Some(("field reference", "https://api.bank.example")),
            took: Duration::from_millis(2_300),
            outcome: unknown(CauseKind::Transport, "connection reset by peer"),
        };
        let record = self.attempt(&id, "payments-1", broken).await;
        assert_eq!(record.state, ratchet::RecordState::Uncertain);
        id
    }
}

pub(crate) fn payload(value: &Value) -> Payload {
    Payload::from_value(value, Payload::LARGEST_INPUT).unwrap()
}

/// An action as a producer enqueues it.
pub(crate) fn submission(
    namespace: Namespace,
    operation: OperationName,
    key: &str,
    contract: Contract,
    policy: Policy,
) -> Submission {
    let customer = json!({"email": "ada@example.com", "id": 7});
    Submission {
        id: RecordId { namespace, operation, key: Key::parse(key).unwrap(), generation: Generation::FIRST },
        version: V1,
        input: payload(&json!({"amount_cents": 12_900, "customer": customer})),
        compared: None,
        policy,
        contract: contract.terms(),
        not_before: None,
        priority: Priority(0),
        queue: Queue::DEFAULT,
        group: None,
        after: None,
        renewal: None,
        trace: None,
    }
}
