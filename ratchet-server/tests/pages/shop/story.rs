//! What happened in the shop: one record in each situation that pages tell of, and what a server has counted meanwhile.

use std::time::{Duration, SystemTime};

use ratchet::admission::{GateAnswer, GateCommand, GateOrder, Health};
use ratchet::decide::Command;
use ratchet::ledger::{Document, DocumentId, DocumentWrite, Ledger as _};
use ratchet::{
    Cause, CauseKind, Clock as _, Contract, Destination, DocumentKind, DocumentName, Namespace, OnUnknown,
    Outcome, Policy, RetryPolicy, StepName, Timestamp,
};
use serde_json::{Value, json};

use super::{CLOSE, COLLECT, HOUR, LOST, LOST_TOO, MINUTE, RECEIPT, Shop, TRANSFER, Try, payload, unknown};

impl Shop {
    pub(super) async fn furnish(&self) {
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
        self.order(
            &stopped,
            Command::Cancel { by: "grace".to_owned(), reason: "ordered twice".to_owned(), seen: None },
        )
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
