//! What cases are built of.

use std::time::Duration;

use super::{Fixture, STARTED_AT};
use crate::contract::Contract;
use crate::decide::{Answer, Command, PinRequest, Refusal, Stored, Verdict};
use crate::ledger::{Claim, Offer, Order, Served};
use crate::model::{
    Attempt, AuditEntry, Cause, CauseKind, Fingerprint, Generation, Namespace, OperationName, Outcome,
    Payload, Priority, Queue, Recipe, Record, RecordId, Renewal, Scope, State, StepName, Submission,
    Submitted, Token, Version, WorkerId,
};
use crate::policy::{Policy, RetryPolicy};
use crate::time::{Clock as _, Timestamp};

pub(super) const COLLECT: OperationName = OperationName::from_static("invoice.collect");
pub(super) const MAIL: OperationName = OperationName::from_static("receipt.mail");
pub(super) const V1: Version = Version::from_static("1");
pub(super) const V2: Version = Version::from_static("2");
pub(super) const BULK: Queue = Queue::from_static("bulk");
pub(super) const WORKER: WorkerId = WorkerId::from_static("worker-1");
pub(super) const CHARGE: StepName = StepName::from_static("charge");
pub(super) const NOTIFY: StepName = StepName::from_static("notify");

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const MINUTE: Duration = Duration::from_mins(1);
pub(super) const HOUR: Duration = Duration::from_hours(1);
pub(super) const DAY: Duration = Duration::from_hours(24);

/// This long after the start of the case.
pub(super) fn at(span: Duration) -> Timestamp {
    STARTED_AT.after(span)
}

/// A millisecond earlier.
pub(super) fn just_before(span: Duration) -> Timestamp {
    Timestamp::from_millis(at(span).as_millis() - 1)
}

pub(super) fn id(key: &str) -> RecordId {
    RecordId {
        namespace: Namespace::DEFAULT,
        operation: COLLECT,
        key: ratchet_key::Key::parse(key).expect("a key of the suite"),
        generation: Generation::FIRST,
    }
}

pub(super) fn generation(key: &str, number: u32) -> RecordId {
    RecordId { generation: Generation::new(number).expect("a generation counts from 1"), ..id(key) }
}

pub(super) fn json(text: &str) -> Payload {
    let value = serde_json::from_str(text).expect("JSON of the suite");
    Payload::from_value(&value, Payload::LARGEST_INPUT).expect("a payload of the suite")
}

/// Five attempts after 30, 60, 120 and 240 seconds without a spread, all within a day; kept for 90 days.
pub(super) const POLICY: Policy =
    Policy { retry: RetryPolicy { jitter_percent: 0, ..RetryPolicy::STANDARD }, ..Policy::DEFAULT };

/// Version 1 of `invoice.collect` for a destination that deduplicates for 24 hours.
pub(super) fn submission(key: &str) -> Submission {
    Submission {
        id: id(key),
        version: V1,
        input: json(r#"{"amount":1200}"#),
        compared: None,
        policy: POLICY,
        contract: Contract::header("Idempotency-Key").terms(),
        not_before: None,
        queue: Queue::DEFAULT,
        priority: Priority(0),
        group: None,
        after: None,
        renewal: None,
        trace: None,
    }
}

/// The same for a destination that does not deduplicate.
pub(super) fn unprotected(key: &str) -> Submission {
    Submission { contract: Contract::NONE.terms(), ..submission(key) }
}

pub(super) fn with_input(key: &str, input: &str) -> Submission {
    Submission { input: json(input), ..submission(key) }
}

pub(super) fn renewal_of(key: &str, number: u32) -> Submission {
    Submission {
        id: generation(key, number),
        renewal: Some(Renewal { by: "ada".to_owned(), reason: "the customer pays again".to_owned() }),
        ..submission(key)
    }
}

/// To execute this operation and version from the queue `default`, without a limit.
pub(super) fn offer(operation: OperationName, version: Version) -> Offer {
    Offer::new(Served { operation, version })
}

pub(super) fn offers() -> Vec<Offer> {
    vec![offer(COLLECT, V1)]
}

pub(super) fn claim(limit: usize) -> Claim {
    Claim {
        namespace: Namespace::DEFAULT,
        offers: offers(),
        worker: WORKER,
        limit,
        lease: MINUTE,
        start_if_safe: false,
    }
}

pub(super) fn done(result: &str) -> Outcome {
    Outcome::done(json(result))
}

pub(super) fn unknown() -> Outcome {
    Outcome::unknown(Cause::new(CauseKind::Transport, "connection reset"))
}

pub(super) fn not_applied(retry_after: Option<Duration>) -> Outcome {
    Outcome::NotApplied { cause: Cause::new(CauseKind::Connect, "connection refused"), retry_after }
}

pub(super) fn rejected() -> Outcome {
    Outcome::Rejected { cause: Cause::new(CauseKind::Status(402), "card declined"), after_lookup: false }
}

pub(super) fn request(body: &str) -> PinRequest {
    PinRequest {
        wire_key: "invoice:inv_1:v1".to_owned(),
        recipe: Recipe::VERBATIM,
        secret: None,
        place: "header idempotency-key".to_owned(),
        deduplicates: true,
        sent_before: false,
        scope: Scope::of("api.example.com/account-7"),
        request: Fingerprint::of(body.as_bytes()).into(),
        kept: None,
    }
}

pub(super) fn start(token: u64) -> Command {
    Command::Start { token: Token::new(token) }
}

pub(super) fn settle(token: u64, outcome: Outcome) -> Command {
    Command::Settle { token: Token::new(token), outcome }
}

pub(super) fn pin(token: u64, step: Option<StepName>, body: &str) -> Command {
    Command::Pin { token: Token::new(token), step, request: Box::new(request(body)) }
}

pub(super) fn begin(token: u64, step: StepName, contract: Contract) -> Command {
    Command::BeginStep { token: Token::new(token), step, contract: contract.terms(), reconciles: false }
}

/// By a handler that can ask.
pub(super) fn begin_asking(token: u64, step: StepName, contract: Contract) -> Command {
    Command::BeginStep { token: Token::new(token), step, contract: contract.terms(), reconciles: true }
}

pub(super) fn finish(token: u64, step: StepName, outcome: Outcome) -> Command {
    Command::FinishStep { token: Token::new(token), step, outcome }
}

pub(super) fn cancel() -> Command {
    Command::Cancel { by: "ada".to_owned(), reason: "ordered twice".to_owned(), seen: None }
}

pub(super) fn replay(accept_risk: bool) -> Command {
    Command::Replay {
        by: "bo".to_owned(),
        reason: "the card was renewed".to_owned(),
        accept_risk,
        at_most: None,
        seen: None,
    }
}

pub(super) fn resolve(seen: u64, verdict: Verdict) -> Command {
    Command::Resolve {
        by: "cy".to_owned(),
        reason: "looked at the provider's page".to_owned(),
        seen: Token::new(seen),
        verdict,
    }
}

/// Single calls, which fail the case where the ledger fails.
impl Fixture {
    pub(super) async fn submit(&self, submission: Submission) -> Submitted {
        let mut answers = self.ledger.submit(vec![submission]).await.expect("submit");
        assert_eq!(answers.len(), 1, "one answer per submission");
        answers.remove(0)
    }

    pub(super) async fn claim(&self, claim: Claim) -> Vec<Record> {
        self.ledger.claim(claim).await.expect("claim")
    }

    pub(super) async fn apply(&self, id: &RecordId, command: Command) -> Result<Answer, Refusal> {
        let order = Order { id: id.clone(), command };
        let mut answers = self.ledger.apply(vec![order]).await.expect("apply");
        assert_eq!(answers.len(), 1, "one answer per order");
        answers.remove(0)
    }

    pub(super) async fn expire(&self) -> usize {
        self.ledger.expire(100).await.expect("expire")
    }

    pub(super) async fn purge(&self) -> usize {
        self.ledger.purge(100).await.expect("purge")
    }

    pub(super) async fn stored(&self, id: &RecordId) -> Option<Stored> {
        self.ledger.find(id.clone()).await.expect("find")
    }

    pub(super) async fn record(&self, id: &RecordId) -> Record {
        match self.stored(id).await {
            Some(Stored::Record(record)) => *record,
            other => panic!("a record was expected under {id:?}, found {other:?}"),
        }
    }

    pub(super) async fn state(&self, id: &RecordId) -> State {
        self.record(id).await.state
    }

    pub(super) async fn attempts(&self, id: &RecordId) -> Vec<Attempt> {
        self.ledger.attempts(id.clone()).await.expect("attempts")
    }

    pub(super) async fn audit(&self, id: &RecordId) -> Vec<AuditEntry> {
        self.ledger.audit(id.clone()).await.expect("audit")
    }

    /// Submits and claims the one record that is due.
    pub(super) async fn leased(&self, submission: Submission) -> Record {
        let id = submission.id.clone();
        let _ = self.submit(submission).await;
        self.claimed(&id).await
    }

    /// Claims the one record that is due, which is this one.
    pub(super) async fn claimed(&self, id: &RecordId) -> Record {
        let mut records = self.claim(claim(10)).await;
        let ids: Vec<&RecordId> = records.iter().map(|record| &record.id).collect();
        assert_eq!(ids, [id], "exactly this record is due");
        records.remove(0)
    }

    /// Submits, claims and starts.
    pub(super) async fn running(&self, submission: Submission) -> Record {
        let leased = self.leased(submission).await;
        self.started(leased).await
    }

    pub(super) async fn started(&self, leased: Record) -> Record {
        let answer = self.apply(&leased.id, start(leased.token.get())).await;
        assert_eq!(answer, Ok(Answer::Started));
        self.record(&leased.id).await
    }

    /// Submits, claims, starts and settles.
    pub(super) async fn settled(&self, submission: Submission, outcome: Outcome) -> Record {
        let running = self.running(submission).await;
        let answer = self.apply(&running.id, settle(running.token.get(), outcome)).await;
        let settled = self.record(&running.id).await;
        assert_eq!(answer, Ok(Answer::Settled(settled.state)));
        settled
    }

    /// A record that is uncertain, since its destination does not deduplicate.
    pub(super) async fn uncertain(&self, key: &str) -> Record {
        let record = self.settled(unprotected(key), unknown()).await;
        assert_eq!(record.state, State::Uncertain);
        record
    }

    pub(super) fn advance(&self, span: Duration) {
        self.clock.advance(span);
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
