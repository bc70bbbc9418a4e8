//! A store with one record in each situation that pages tell of, made by a clock that goes through the last two days.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use ratchet::admission::{GateAnswer, GateCommand, GateOrder, Health};
use ratchet::decide::{Command, PinRequest};
use ratchet::ledger::{
    Claim, Declaration, Document, DocumentId, DocumentWrite, Ledger as _, Offer, Order, Served,
};
use ratchet::sqlite::{SqliteLedger, SqliteOptions};
use ratchet::{
    Answer, Cause, CauseKind, Client, Clock, Contract, Destination, DocumentKind, DocumentName, Generation,
    HiddenPath, HiddenPaths, Key, Namespace, OnUnknown, OperationName, Outcome, Payload, Policy, Priority,
    Queue, Recipe, Record, RecordId, RequestFingerprint, RetryPolicy, Scope, StepName, Stored, Submission,
    Timestamp, Version, WorkerId,
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

pub(crate) fn unknown(kind: CauseKind, detail: &str) -> Outcome {
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
        let id =
            RecordId { namespace, operation, key: Key::parse(key).unwrap(), generation: Generation::FIRST };
        let submission = Submission {
            id: id.clone(),
            version: V1,
            input: payload(
                &json!({"amount_cents": 12_900, "customer": {"email": "ada@example.com", "id": 7}}),
            ),
            compared: None,
            policy,
            contract: contract.terms(),
            not_before: None,
            priority: Priority(0),
            queue: Queue::DEFAULT,
            group: None,
            after: None,
            renewal: None,
        };
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

    async fn furnish(&self) {
        const CHARGES: Contract =
            Contract::header("Idempotency-Key").named("pay::CHARGES").remembers_for(Duration::from_hours(24));
        let charge = |outcome| Try {
            pin: Some(("header idempotency-key", "https://api.pay.example")),
            took: Duration::from_millis(850),
            outcome,
        };
        let sure =
            Policy { retry: RetryPolicy { jitter_percent: 0, ..RetryPolicy::STANDARD }, ..Policy::DEFAULT };

        self.ago(26 * HOUR);
        let forgotten = self.submit(COLLECT, "invoice:inv_2048:collect:v1", CHARGES, sure.clone()).await;
        for _ in 0..5 {
            let answer = self.attempt(
                &forgotten,
                "billing-1",
                charge(unknown(CauseKind::Status(503), "Service Unavailable")),
            );
            let record = answer.await;
            self.pass(record.ready_at.since(self.hands.now()));
        }

        self.ago(5 * HOUR);
        let refused = self.submit(COLLECT, "invoice:inv_2050:collect:v1", CHARGES, sure.clone()).await;
        let declined = Outcome::Rejected {
            cause: Cause::new(CauseKind::Status(402), "card_declined"),
            after_lookup: false,
        };
        self.attempt(&refused, "billing-2", charge(declined)).await;

        self.lost_payment(LOST, 3 * HOUR).await;
        self.lost_payment(LOST_TOO, 50 * MINUTE).await;

        self.ago(2 * HOUR);
        for number in 1..=14 {
            let mail = self
                .submit(RECEIPT, &format!("receipt:{number}:mail:v1"), Contract::NONE, sure.clone())
                .await;
            self.pass(MINUTE);
            let outcome = Outcome::done(payload(&json!({"message_id": format!("<{number}@shop.example>")})));
            self.attempt(&mail, "mail-1", Try { pin: None, took: Duration::from_millis(120), outcome }).await;
        }
        let losable = Policy { on_unknown: OnUnknown::MayLose, ..sure.clone() };
        let given_up = self.submit(RECEIPT, "receipt:15:mail:v1", Contract::NONE, losable).await;
        let lost = Try { pin: None, took: MINUTE, outcome: unknown(CauseKind::Timeout, "") };
        self.attempt(&given_up, "mail-1", lost).await;

        self.ago(90 * MINUTE);
        let once = Policy { retry: RetryPolicy { max_attempts: 1, ..sure.retry }, ..sure.clone() };
        let never = self.submit(COLLECT, "invoice:inv_2051:collect:v1", CHARGES, once).await;
        let unreachable = Outcome::NotApplied {
            cause: Cause::new(CauseKind::Connect, "connection refused"),
            retry_after: None,
        };
        self.attempt(&never, "billing-1", charge(unreachable)).await;
        let stopped = self.submit(COLLECT, "invoice:inv_2052:collect:v1", CHARGES, sure.clone()).await;
        self.order(&stopped, Command::Cancel { by: "grace".to_owned(), reason: "ordered twice".to_owned() })
            .await;
        self.broken_order().await;

        self.ago(10 * MINUTE);
        let retried = self.submit(COLLECT, "invoice:inv_2053:collect:v1", CHARGES, sure.clone()).await;
        for _ in 0..2 {
            let record = self
                .attempt(&retried, "billing-2", charge(unknown(CauseKind::Timeout, "no answer in 30 s")))
                .await;
            self.pass(record.ready_at.since(self.hands.now()));
        }
        self.ago(Duration::from_secs(20));
        let waits = Policy {
            retry: RetryPolicy { first_delay: HOUR, max_delay: HOUR, ..sure.retry },
            ..sure.clone()
        };
        let waiting = self.submit(COLLECT, "invoice:inv_2054:collect:v1", CHARGES, waits).await;
        self.attempt(&waiting, "billing-2", charge(unknown(CauseKind::Timeout, "no answer in 15 s"))).await;
        self.busy_destination().await;
        self.ago(Duration::from_secs(12));
        let running = self.submit(TRANSFER, "transfer:510:send:v1", Contract::NONE, sure).await;
        self.pass(Duration::from_secs(2));
        self.lease(&running, "payments-2", 12 * MINUTE).await;
        self.ago(Duration::ZERO);
    }

    /// What a server that ran for a day has counted: a quiet night, a busy morning, and an hour in which a destination failed.
    pub(crate) async fn remember_a_day(&self) {
        let now = Timestamp::from(SystemTime::now()).as_millis();
        let mut succeeded = 400;
        let samples: Vec<Value> = (0..288_i64)
            .map(|number| {
                let ago = 287 - number;
                let busy = (80 - (ago - 90).abs()).max(4);
                let broken = (20..32).contains(&ago);
                succeeded += if broken { 2 } else { busy / 2 + (number * 7) % 5 };
                let pending = if broken { 40 + (32 - ago) * 6 } else { busy / 6 + (number * 5) % 4 };
                let uncertain = if ago < 26 { 4 } else { 1 };
                let counts = json!({"pending": pending, "running": busy / 8 + number % 3, "succeeded": succeeded,
                    "failed": number / 9, "uncertain": uncertain});
                json!({"at": now - ago * 300_000 - 60_000, "counts": counts})
            })
            .collect();
        let id = DocumentId {
            kind: DocumentKind::from_static("state_history"),
            namespace: Namespace::DEFAULT,
            name: DocumentName::new("states").unwrap(),
        };
        let body = Document::body(&json!({ "samples": samples })).unwrap();
        let _ = self.ledger.write_document(DocumentWrite::new(id, body)).await.unwrap();
    }

    /// An order with one step that is done and one that nobody knows about.
    async fn broken_order(&self) {
        let id = self.submit(CLOSE, "order:77:close:v1", Contract::STEPS, Policy::DEFAULT).await;
        let token = self.lease(&id, "orders-1", MINUTE).await.token;
        let begin = |step: &'static str, contract: Contract| Command::BeginStep {
            token,
            step: StepName::from_static(step),
            contract: contract.terms(),
            reconciles: false,
        };
        self.order(&id, begin("reserve", Contract::DATABASE)).await;
        let outcome = Outcome::done(payload(&Value::from("res_9")));
        self.order(&id, Command::FinishStep { token, step: StepName::from_static("reserve"), outcome }).await;
        self.order(&id, begin("pay", Contract::NONE)).await;
        self.pass(Duration::from_secs(4));
        self.order(&id, Command::Settle { token, outcome: unknown(CauseKind::Panic, "index out of bounds") })
            .await;
    }

    /// A destination that fails, so that its breaker opens.
    async fn busy_destination(&self) {
        const PAYMENTS: Destination =
            Destination::new("payments").at_most(8).per_second(20).breaker(2, Duration::from_mins(5));
        const MAIL: Destination = Destination::new("mail").per_second(5);
        for _ in 0..2 {
            let enter = GateOrder { destination: PAYMENTS, command: GateCommand::Enter };
            let GateAnswer::Admitted(permit) = self.ledger.admit(vec![enter]).await.unwrap()[0] else {
                continue;
            };
            self.pass(Duration::from_millis(400));
            let command = GateCommand::Leave { permit, health: Health::Failed, pause: None };
            self.ledger.admit(vec![GateOrder { destination: PAYMENTS, command }]).await.unwrap();
        }
        self.ledger.admit(vec![GateOrder { destination: MAIL, command: GateCommand::Enter }]).await.unwrap();
    }
}

pub(crate) fn payload(value: &Value) -> Payload {
    Payload::from_value(value, Payload::LARGEST_INPUT).unwrap()
}
