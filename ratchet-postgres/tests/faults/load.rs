//! Producers and workers under load, a destination that counts, and what must be true once a fault is over.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ratchet_core::decide::{Answer, Command, PinRequest, Refusal};
use ratchet_core::ledger::{Claim, Order};
use ratchet_core::{
    Fingerprint, Ledger as _, LedgerError, Outcome, OutcomeKind, Policy, Recipe, Record, RecordId,
    RetryPolicy, Scope, State, Submission, Submitted, Token, WorkerId,
};
use ratchet_postgres::PostgresLedger;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::support::{all, claim_of, payload, submission};

/// What is about to be sent to the destination.
pub(crate) fn pin_request(wire_key: &str, request: Fingerprint) -> PinRequest {
    PinRequest {
        wire_key: wire_key.to_owned(),
        recipe: Recipe::VERBATIM,
        secret: None,
        place: "header idempotency-key".to_owned(),
        deduplicates: true,
        sent_before: false,
        scope: Scope::of("payments"),
        request: request.into(),
        kept: None,
    }
}

/// How long the rest of the work may take when the fault is over, unless said otherwise.
const SOON: Duration = Duration::from_secs(30);

/// Short, so that what a fault leaves behind is taken over while the test runs.
const LEASE: Duration = Duration::from_millis(1_500);

/// Long enough for others to move.
pub(crate) const A_MOMENT: Duration = Duration::from_millis(5);

/// Deduplicates by key, as payment services do.
#[derive(Default)]
struct Destination {
    effects: Mutex<HashSet<RecordId>>,
}

/// What producers, workers and the test share.
pub(crate) struct Load {
    ledgers: Vec<Arc<PostgresLedger>>,
    destination: Destination,
    acknowledged: Mutex<HashSet<RecordId>>,
    /// Under which tokens workers were told that their success is on record.
    succeeded: Mutex<HashMap<RecordId, HashSet<Token>>>,
    errors: Mutex<Vec<LedgerError>>,
    closing: AtomicBool,
    done: AtomicBool,
    patience: Duration,
}

impl Load {
    pub(crate) fn on(ledgers: Vec<Arc<PostgresLedger>>) -> Arc<Self> {
        Self::patient(ledgers, SOON)
    }

    /// For faults that take longer to get over.
    pub(crate) fn patient(ledgers: Vec<Arc<PostgresLedger>>, patience: Duration) -> Arc<Self> {
        Arc::new(Self {
            ledgers,
            destination: Destination::default(),
            acknowledged: Mutex::default(),
            succeeded: Mutex::default(),
            errors: Mutex::default(),
            closing: AtomicBool::new(false),
            done: AtomicBool::new(false),
            patience,
        })
    }

    /// Runs producers and workers while `fault` happens and goes away, lets the workers finish, and looks at everything.
    /// Gives the errors that anybody was told.
    pub(crate) async fn while_there_is(
        self: &Arc<Self>,
        fault: impl Future<Output = ()>,
    ) -> Vec<LedgerError> {
        let (mut producing, mut working) = (JoinSet::new(), JoinSet::new());
        for name in 0..4 {
            producing.spawn(Arc::clone(self).produce(name));
            working.spawn(Arc::clone(self).work(name));
        }
        fault.await;
        self.closing.store(true, Ordering::Relaxed);
        timeout(self.patience, producing.join_all()).await.expect("producers end");
        let settled = timeout(self.patience, self.settled()).await.is_ok();
        assert!(settled, "not everything acknowledged is settled: {:?}", self.unsettled().await);
        self.done.store(true, Ordering::Relaxed);
        timeout(self.patience, working.join_all()).await.expect("workers end");
        self.look().await;
        std::mem::take(&mut self.errors.lock().unwrap())
    }

    /// Runs producers alone while `fault` happens and goes away. Gives how many operations were acknowledged, and how many of
    /// them are not on record.
    pub(crate) async fn while_producing(self: &Arc<Self>, fault: impl Future<Output = ()>) -> (usize, usize) {
        let mut producing = JoinSet::new();
        for name in 0..4 {
            producing.spawn(Arc::clone(self).produce(name));
        }
        fault.await;
        self.closing.store(true, Ordering::Relaxed);
        timeout(self.patience, producing.join_all()).await.expect("producers end");
        let on_record: HashSet<RecordId> =
            all(self.ledger(0)).await.into_iter().map(|record| record.id).collect();
        let acknowledged = self.acknowledged.lock().unwrap();
        (acknowledged.len(), acknowledged.difference(&on_record).count())
    }

    /// Waits until ten more operations are acknowledged; gives the longest time without any.
    pub(crate) async fn gap(&self) -> Duration {
        let (until, begun) = (self.acknowledged() + 10, Instant::now());
        let (mut known, mut at, mut longest) = (self.acknowledged(), begun, Duration::ZERO);
        while known < until {
            assert!(begun.elapsed() < self.patience, "the gap does not end");
            sleep(A_MOMENT).await;
            let now = self.acknowledged();
            if now > known {
                longest = longest.max(at.elapsed());
                (known, at) = (now, Instant::now());
            }
        }
        longest
    }

    /// How many operations are on record for certain.
    pub(crate) fn acknowledged(&self) -> usize {
        self.acknowledged.lock().unwrap().len()
    }

    /// Waits until so many more operations are settled.
    pub(crate) async fn progresses(&self) {
        let before = self.succeeded.lock().unwrap().len();
        let progress = async {
            while self.succeeded.lock().unwrap().len() < before + 10 {
                sleep(A_MOMENT).await;
            }
        };
        timeout(self.patience, progress).await.expect("the work goes on");
    }

    /// Waits until somebody is told of an error that is as wanted.
    pub(crate) async fn tells(&self, wanted: impl Fn(&LedgerError) -> bool) {
        let told = async {
            while !self.errors.lock().unwrap().iter().any(&wanted) {
                sleep(A_MOMENT).await;
            }
        };
        let told = timeout(self.patience, told).await;
        assert!(told.is_ok(), "nobody was told; the last error: {:?}", self.errors.lock().unwrap().last());
    }

    fn ledger(&self, number: usize) -> &PostgresLedger {
        &self.ledgers[number % self.ledgers.len()]
    }

    /// The answer, or the error noted and a pause.
    async fn noted<T>(&self, answer: Result<T, LedgerError>) -> Option<T> {
        match answer {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.errors.lock().unwrap().push(error);
                sleep(A_MOMENT).await;
                None
            }
        }
    }

    async fn produce(self: Arc<Self>, name: usize) {
        let mut number = 0;
        while !self.closing.load(Ordering::Relaxed) {
            let id = self.submit(name, &format!("{name}.{number}")).await;
            self.acknowledged.lock().unwrap().insert(id);
            number += 1;
            sleep(4 * A_MOMENT).await;
        }
    }

    /// Submits until it is acknowledged: a try that failed may have been committed.
    async fn submit(&self, name: usize, invoice: &str) -> RecordId {
        loop {
            let answer = self.ledger(name).submit(vec![quickly_repeated(invoice)]).await;
            match self.noted(answer).await.as_deref() {
                Some([Submitted::New { id } | Submitted::Existing { id, .. }]) => return id.clone(),
                None => {}
                other => panic!("{other:?}"),
            }
        }
    }

    async fn work(self: Arc<Self>, number: usize) {
        let worker = WorkerId::new(format!("worker-{number}")).expect("a name");
        while !self.done.load(Ordering::Relaxed) {
            let wish = Claim { worker: worker.clone(), lease: LEASE, ..claim_of(8) };
            let leased = self.noted(self.ledger(number).claim(wish).await).await.unwrap_or_default();
            if leased.is_empty() {
                self.noted(self.ledger(number).expire(100).await).await;
                sleep(A_MOMENT).await;
            }
            for record in leased {
                self.execute(number, &record).await;
            }
        }
    }

    async fn execute(&self, number: usize, record: &Record) {
        let request = pin_request(record.id.key.as_str(), record.fingerprint);
        let pin = Command::Pin { token: record.token, step: None, request: Box::new(request.clone()) };
        match self.order(number, record, pin).await {
            Ok(Answer::Pinned(pin)) => assert_eq!(pin.request, request.request),
            Err(Refusal::Superseded) => return,
            other => panic!("{other:?}"),
        }
        self.destination.effects.lock().unwrap().insert(record.id.clone());
        let outcome = Outcome::done(payload("paid"));
        match self.order(number, record, Command::Settle { token: record.token, outcome }).await {
            Ok(Answer::Settled(State::Succeeded)) => {
                self.succeeded.lock().unwrap().entry(record.id.clone()).or_default().insert(record.token);
            }
            Ok(Answer::Late(_)) => {}
            other => panic!("{other:?}"),
        }
    }

    /// Gives a command until it is answered.
    async fn order(&self, number: usize, record: &Record, command: Command) -> Result<Answer, Refusal> {
        loop {
            let order = Order { id: record.id.clone(), command: command.clone() };
            if let Some(mut answers) = self.noted(self.ledger(number).apply(vec![order]).await).await {
                return answers.pop().expect("one answer");
            }
        }
    }

    async fn settled(&self) {
        while self.succeeded.lock().unwrap().len() < self.acknowledged() {
            sleep(A_MOMENT).await;
        }
    }

    async fn unsettled(&self) -> Vec<Record> {
        let records = all(self.ledger(0)).await.into_iter();
        let succeeded = self.succeeded.lock().unwrap();
        records.filter(|record| !succeeded.contains_key(&record.id)).take(3).collect()
    }

    /// Everything acknowledged has succeeded, once, under the token that was told so, with one effect.
    async fn look(&self) {
        let records = all(self.ledger(0)).await;
        let on_record: HashSet<RecordId> = records.iter().map(|record| record.id.clone()).collect();
        let acknowledged = self.acknowledged.lock().unwrap().clone();
        assert!(acknowledged.len() > 20, "too little happened: {}", acknowledged.len());
        assert!(acknowledged == on_record, "what was acknowledged is not what is on record");
        assert!(*self.destination.effects.lock().unwrap() == on_record, "effects are not operations");
        let succeeded = std::mem::take(&mut *self.succeeded.lock().unwrap());
        for record in records {
            assert_eq!(record.state, State::Succeeded, "{record:?}");
            let told: Vec<Token> = succeeded[&record.id].iter().copied().collect();
            assert_eq!(told.len(), 1, "two attempts were told that they succeeded: {record:?}");
            self.look_at_attempts(&record, told[0]).await;
        }
    }

    /// Tokens only grow, and no attempt but the one that was told so ended the record.
    async fn look_at_attempts(&self, record: &Record, told: Token) {
        let attempts = self.ledger(0).attempts(record.id.clone()).await.expect("attempts");
        let tokens: Vec<u64> = attempts.iter().map(|attempt| attempt.token.get()).collect();
        assert!(tokens.is_sorted_by(|one, next| one < next), "{tokens:?}");
        for attempt in &attempts {
            let done = attempt.end.as_ref().is_some_and(|end| end.outcome == OutcomeKind::Done && !end.late);
            let may = attempt.token == told;
            assert!(!done || may, "a stale end was accepted: {attempts:?}");
        }
    }
}

/// An operation that is tried again at once and as often as a fault needs.
pub(crate) fn quickly_repeated(invoice: &str) -> Submission {
    let a_moment = Duration::from_millis(1);
    let retry = RetryPolicy { max_attempts: 1_000, ..RetryPolicy::doubling(1_000, a_moment, a_moment) };
    Submission { policy: Policy { retry, ..Policy::DEFAULT }, ..submission(invoice) }
}
