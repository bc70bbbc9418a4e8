//! Enqueues operations and looks after their records.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;

use ratchet_key::Key;
use serde_json::Value;
use tracing::{Instrument as _, Span};

use crate::admission::{Destination, GateCommand, GateOrder, KnownGate, Limits};
use crate::decide::{Answer, Command, Refusal, Stored, Verdict};
use crate::ledger::{
    AuditPage, Count, Cursor, Filter, LedgerError, MarkChange, Page, SharedLedger, StoreMark, declare, order,
    purge_all,
};
use crate::model::{
    Attempt, AuditEntry, Conflict, DestinationName, HiddenPaths, Namespace, Record, RecordId, Renewal, State,
    Submission, Submitted, Token,
};
use crate::operation::{EnqueueError, Enqueued, Operation, OutputOf, Request, Spec, answered};
use crate::registry::Registry;
use crate::telemetry;
use crate::time::Timestamp;
use crate::trace;
use crate::worker::WorkerBuilder;

/// Enqueues operations into one namespace of a ledger, and settles what needs a person. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    ledger: SharedLedger,
    namespace: Namespace,
}

/// The producer's part of a trace, which the records' workers go on with.
fn enqueue_span(of: &Spec, records: usize) -> Span {
    tracing::info_span!("enqueue",
        operation = %of.name, records, key = tracing::field::Empty, otel.kind = "producer")
}

impl Client {
    /// A client of this ledger, in the namespace `default`.
    #[must_use]
    pub fn new(ledger: SharedLedger) -> Self {
        Self { ledger, namespace: Namespace::DEFAULT }
    }

    /// The same ledger, in another namespace.
    #[must_use]
    pub fn in_namespace(&self, namespace: Namespace) -> Self {
        Self { ledger: self.ledger.clone(), namespace }
    }

    /// The ledger.
    #[must_use]
    pub fn ledger(&self) -> &SharedLedger {
        &self.ledger
    }

    /// The namespace.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Puts a request on record.
    ///
    /// # Errors
    /// If the key or the input is refused, or the ledger fails. Submitting it again is safe.
    pub async fn submit<O: Operation>(
        &self,
        request: Request<O>,
    ) -> Result<Enqueued<OutputOf<O>>, EnqueueError> {
        let mut answers = self.submit_all(vec![request]).await?;
        answers.pop().unwrap_or(Err(EnqueueError::Ledger(LedgerError::Closed)))
    }

    /// Puts many requests on record with one write. A request that is refused stands alone: the others are recorded.
    ///
    /// # Errors
    /// If the ledger fails. Submitting all of them again is safe.
    pub async fn submit_all<O: Operation>(
        &self,
        requests: Vec<Request<O>>,
    ) -> Result<Vec<Result<Enqueued<OutputOf<O>>, EnqueueError>>, EnqueueError> {
        let mut refused = Vec::with_capacity(requests.len());
        let mut submissions = Vec::with_capacity(requests.len());
        let span = enqueue_span((O::SPEC)(), requests.len());
        for request in requests {
            match span.in_scope(|| request.into_submission(&self.namespace)) {
                Ok(submission) => {
                    submissions.push(submission);
                    refused.push(None);
                }
                Err(error) => refused.push(Some(error)),
            }
        }
        let ids: Vec<_> = submissions.iter().map(|submission| submission.id.clone()).collect();
        if let [id] = ids.as_slice() {
            span.record("key", tracing::field::display(id.digest()));
        }
        let answers = self.ledger.submit(submissions).instrument(span).await?;
        let mut answers = answers.into_iter().zip(ids);
        let one = |refusal: Option<EnqueueError>| match refusal {
            Some(error) => Err(error),
            None => match answers.next() {
                None => Err(EnqueueError::Ledger(LedgerError::Closed)),
                Some((answer, id)) => answered::<O>(&id, answer),
            },
        };
        Ok(refused.into_iter().map(one).collect())
    }

    /// Writes down what a worker of these operations would at its start, so that they can be enqueued before there is one.
    ///
    /// For a step of a deployment, where programs in other languages enqueue in the database.
    ///
    /// # Errors
    /// If the ledger fails, holds another key template for one of the operations, or cannot do what one of them asks for.
    ///
    /// ```
    /// # async fn example(client: ratchet_core::Client, registry: ratchet_core::Registry) -> Result<(), ratchet_core::LedgerError> {
    /// // `registry` is what `ratchet::registry![collect_invoice]` makes.
    /// client.declare(&registry).await
    /// # }
    /// ```
    pub async fn declare(&self, registry: &Registry) -> Result<(), LedgerError> {
        declare(&*self.ledger, registry.declarations()).await
    }

    /// A worker for these operations, in this namespace.
    pub fn worker(&self, registry: Registry) -> WorkerBuilder {
        WorkerBuilder::new(self.ledger.clone(), self.namespace.clone(), registry)
    }

    /// Has workers go on after a backup was restored, and keeps who decided it, and why.
    ///
    /// What the backup holds as pending is then executed, also what was sent after the backup was taken: once more, unless
    /// the destination deduplicates and still remembers. So look at what the destinations have, and cancel or resolve such
    /// records first.
    ///
    /// # Errors
    /// If the ledger fails.
    ///
    /// ```
    /// # async fn example(client: ratchet_core::Client) -> Result<(), ratchet_core::LedgerError> {
    /// client.acknowledge_restore("ada", "compared with the provider's list of charges").await?;
    /// # Ok(()) }
    /// ```
    pub async fn acknowledge_restore(&self, by: &str, reason: &str) -> Result<StoreMark, LedgerError> {
        let change = MarkChange::Acknowledge { by: by.to_owned(), reason: reason.to_owned() };
        self.ledger.change_mark(change).await
    }

    /// Wakes the workers of this process, after a transaction of the caller's in which something was enqueued. Workers of
    /// other processes find it when they look next.
    pub fn wake(&self) {
        self.ledger.wake();
    }

    /// What is on record under an identity.
    ///
    /// # Errors
    /// If the ledger fails.
    pub async fn find(&self, id: RecordId) -> Result<Option<Stored>, LedgerError> {
        self.ledger.find(id).await
    }

    /// What is on record under one key, whatever the operation and generation.
    ///
    /// # Errors
    /// If the ledger fails.
    pub async fn under_key(&self, key: Key) -> Result<Vec<Stored>, LedgerError> {
        self.ledger.under_key(self.namespace.clone(), key).await
    }

    /// How many records there are of each operation, version and state. It reads all of them.
    ///
    /// # Errors
    /// If the ledger fails.
    pub async fn census(&self) -> Result<Vec<Count>, LedgerError> {
        self.ledger.census(self.namespace.clone()).await
    }

    /// How the limits and circuit breakers of all destinations stand, in every namespace of the ledger.
    ///
    /// # Errors
    /// If the ledger fails.
    pub async fn gates(&self) -> Result<Vec<KnownGate>, LedgerError> {
        self.ledger.gates().await
    }

    /// Has sends go on to a destination whose breaker is open, or that asked everybody to wait; for somebody who knows that it
    /// works again. Its limits stay. Who did so, and why, is kept with the gate. `false` if nothing was ever sent there.
    ///
    /// # Errors
    /// If the ledger fails.
    pub async fn reopen(
        &self,
        destination: DestinationName,
        by: &str,
        reason: &str,
    ) -> Result<bool, LedgerError> {
        // Asking would make a gate.
        if !self.gates().await?.iter().any(|known| known.destination == destination) {
            return Ok(false);
        }
        let command = GateCommand::Reopen { by: by.to_owned(), reason: reason.to_owned() };
        let order = GateOrder { destination: Destination::with_limits(destination, Limits::NONE), command };
        let name = order.destination.name().clone();
        self.ledger.admit(vec![order]).await?;
        telemetry::reopened(&name);
        Ok(true)
    }

    /// A page of records. The filter's namespace is replaced by that of the client.
    ///
    /// # Errors
    /// If the ledger fails.
    pub async fn list(&self, filter: Filter) -> Result<Page, LedgerError> {
        self.ledger.list(Filter { namespace: self.namespace.clone(), ..filter }).await
    }

    /// The input of a record as people may see it: what its operation marks `#[pii]` is `"[redacted]"`.
    ///
    /// All of it is, while no worker has declared this operation and version: then it is not known what may be shown.
    ///
    /// # Errors
    /// If the ledger fails.
    pub async fn redacted_input(&self, record: &Record) -> Result<Value, LedgerError> {
        let known = self.ledger.hidden(record.served()).await?.zip(record.input.decode().ok());
        let (hidden, mut input) = known.unwrap_or_else(|| (HiddenPaths::everything(), Value::from("")));
        hidden.hide(&mut input);
        Ok(input)
    }

    /// The attempts of a record.
    ///
    /// # Errors
    /// If the ledger fails.
    pub async fn attempts(&self, id: RecordId) -> Result<Vec<Attempt>, LedgerError> {
        self.ledger.attempts(id).await
    }

    /// What people decided about a record.
    ///
    /// # Errors
    /// If the ledger fails.
    pub async fn audit(&self, id: RecordId) -> Result<Vec<AuditEntry>, LedgerError> {
        self.ledger.audit(id).await
    }

    /// What people decided about all records of the namespace, the latest first, a page at a time: those before a place of
    /// an earlier page, and at most `limit` (0 counts as 1).
    ///
    /// # Errors
    /// If the ledger fails.
    pub async fn audit_log(&self, before: Option<Cursor>, limit: usize) -> Result<AuditPage, LedgerError> {
        self.ledger.audit_log(self.namespace.clone(), before, limit).await
    }

    /// Starts nothing more. What has started is told to stop; it is not a rollback.
    ///
    /// # Errors
    /// If the record is settled or unknown, or the ledger fails.
    pub async fn cancel(&self, id: RecordId, by: &str, reason: &str) -> Result<Answer, ManageError> {
        self.manage(
            id,
            "cancel",
            Command::Cancel { by: by.to_owned(), reason: reason.to_owned(), seen: None },
        )
        .await
    }

    /// The same for whoever has looked at the record, and decides by what they saw.
    ///
    /// # Errors
    /// As [`cancel`](Self::cancel), and if the record was leased since.
    pub async fn cancel_as_seen(
        &self,
        record: &Record,
        by: &str,
        reason: &str,
    ) -> Result<Answer, ManageError> {
        let (by, reason, seen) = (by.to_owned(), reason.to_owned(), Some(record.token));
        self.manage(record.id.clone(), "cancel", Command::Cancel { by, reason, seen }).await
    }

    /// Runs a record again with the same identity.
    ///
    /// # Errors
    /// If it succeeded or is under way, if it may act twice and `accept_risk` is false, or the ledger fails.
    pub async fn replay(
        &self,
        id: RecordId,
        by: &str,
        reason: &str,
        accept_risk: bool,
    ) -> Result<Answer, ManageError> {
        self.manage(
            id,
            "replay",
            Command::Replay {
                by: by.to_owned(),
                reason: reason.to_owned(),
                accept_risk,
                at_most: None,
                seen: None,
            },
        )
        .await
    }

    /// The same for whoever has looked at the record, and decides by what they saw.
    ///
    /// # Errors
    /// As [`replay`](Self::replay), and if the record was leased since.
    pub async fn replay_as_seen(
        &self,
        record: &Record,
        by: &str,
        reason: &str,
        accept_risk: bool,
    ) -> Result<Answer, ManageError> {
        let (by, reason, seen) = (by.to_owned(), reason.to_owned(), Some(record.token));
        let command = Command::Replay { by, reason, accept_risk, at_most: None, seen };
        self.manage(record.id.clone(), "replay", command).await
    }

    /// Makes a new legitimate action under the key of `record`, with the same input, after a definite end.
    ///
    /// # Errors
    /// If the record is not the newest under its key, if it is not certain how it ended, or the ledger fails.
    pub async fn renew(&self, record: &Record, by: &str, reason: &str) -> Result<RecordId, ManageError> {
        let submission = Submission {
            id: record.id.clone(),
            version: record.version.clone(),
            input: record.input.clone(),
            compared: Some(record.fingerprint),
            policy: record.policy.clone(),
            contract: record.effect.contract.clone(),
            not_before: None,
            priority: record.priority,
            queue: record.queue.clone(),
            group: record.group.clone(),
            after: None,
            renewal: Some(Renewal { by: by.to_owned(), reason: reason.to_owned() }),
            trace: trace::current(),
        };
        match self.ledger.submit(vec![submission]).await?.pop() {
            Some(Submitted::New { id } | Submitted::Existing { id, .. }) => Ok(id),
            Some(Submitted::Conflict(conflict)) => Err(ManageError::NotRenewed(conflict)),
            // The next generation was made by somebody, and purged since.
            Some(Submitted::Expired { .. }) => Err(ManageError::NotRenewed(Conflict::NotNewest)),
            None => Err(LedgerError::Closed.into()),
        }
    }

    /// Settles an uncertain record with what somebody found out. `seen` is the token of the record that was looked into.
    ///
    /// # Errors
    /// If the record is not uncertain, if another attempt was made since it was looked into, or the ledger fails.
    pub async fn resolve(
        &self,
        id: RecordId,
        by: &str,
        reason: &str,
        seen: Token,
        verdict: Verdict,
    ) -> Result<Answer, ManageError> {
        self.manage(
            id,
            "resolve",
            Command::Resolve { by: by.to_owned(), reason: reason.to_owned(), seen, verdict },
        )
        .await
    }

    /// How a record stands; `None` if there is none.
    ///
    /// # Errors
    /// If the ledger fails.
    pub async fn state(&self, id: RecordId) -> Result<Option<State>, LedgerError> {
        Ok(self.find(id).await?.map(|stored| stored.state()))
    }

    /// Puts tombstones in the place of all records, of every namespace, that are settled for longer than they are kept, and
    /// says how many there were. Workers do the same by themselves, once per lease; this is for a store that none works
    /// on, and for an operator who wants it now.
    ///
    /// One write purges `batch` records at the most (0 counts as 1), and others come in between two of them. After each,
    /// `on_progress` is told how many were purged so far. Dropping the future stops after the write that is under way.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), ratchet_core::LedgerError> {
    /// # let ratchet = ratchet_core::Client::new(ratchet_core::MemoryLedger::new());
    /// let purged = ratchet.purge(1_000, |so_far| println!("{so_far} records purged")).await?;
    /// println!("done: {purged}");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If the ledger fails. What was purged before stays purged.
    pub async fn purge(
        &self,
        batch: usize,
        mut on_progress: impl FnMut(u64) + Send,
    ) -> Result<u64, LedgerError> {
        let told = |so_far| {
            on_progress(so_far);
            true
        };
        purge_all(&*self.ledger, batch, told).await
    }

    async fn manage(
        &self,
        id: RecordId,
        action: &'static str,
        command: Command,
    ) -> Result<Answer, ManageError> {
        let answer = order(&*self.ledger, &id, command).await?;
        telemetry::managed(&id, action, &answer);
        answer.map_err(ManageError::Refused)
    }
}

/// Why a person's command was not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManageError {
    /// The record is in no state for it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// No new generation follows.
    #[error(transparent)]
    NotRenewed(Conflict),
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// A request with the client that it goes to; `.await` submits it.
#[must_use = "nothing is enqueued until this is awaited"]
pub struct Enqueue<'a, O> {
    client: &'a Client,
    request: Request<O>,
}

impl<'a, O: Operation> Enqueue<'a, O> {
    /// Submits `request` to `client` when awaited.
    pub fn new(client: &'a Client, request: Request<O>) -> Self {
        Self { client, request }
    }

    /// Not to be executed before this point.
    pub fn not_before(self, at: impl Into<Timestamp>) -> Self {
        Self { request: self.request.not_before(at), ..self }
    }

    /// In another queue than the operation's; see [`Request::queue`].
    pub fn queue(self, name: impl Into<String>) -> Self {
        Self { request: self.request.queue(name), ..self }
    }

    /// More urgent (or less) than the operation usually is.
    pub fn priority(self, priority: i16) -> Self {
        Self { request: self.request.priority(priority), ..self }
    }
}

impl<'a, O: Operation> IntoFuture for Enqueue<'a, O> {
    type Output = Result<Enqueued<OutputOf<O>>, EnqueueError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.client.submit(self.request).await })
    }
}

impl<O> fmt::Debug for Enqueue<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enqueue").field("request", &self.request).finish_non_exhaustive()
    }
}
