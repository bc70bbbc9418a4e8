//! The virtual object that keeps the records under one key: one writer at a time, so that what it reads is what it replaces.
//!
//! The shape of its journal is fixed, since invocations that are under way outlive a redeploy: the book is read, **one** run
//! decides and says everything that follows, and that is written and sent. What a newer release decides differently does not
//! change what an older one has journalled.

use std::time::Duration;

use bytes::Bytes;
use ratchet_core::decide::{Answer, Command, Moment, Refusal};
use ratchet_core::random::SharedRandom;
use ratchet_core::time::SharedClock;
use ratchet_core::{Ending, Fingerprint, Generation, RecordId, Submission, Submitted, Timestamp};
use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::book::{Book, Note, Ordered, Placed};
use crate::index::Entry;
use crate::names;

/// The clock and the dice of the ledger.
#[derive(Debug, Clone)]
pub(crate) struct RecordObject {
    pub(crate) clock: SharedClock,
    pub(crate) random: SharedRandom,
}

/// What one run decides.
#[derive(Serialize, Deserialize)]
struct Decided<A> {
    /// `None` if nothing changes.
    book: Option<Book>,
    answers: A,
    notes: Vec<Note>,
}

/// The key of the object that keeps the records with this identity, whatever their generation. The identity itself is in
/// the records: the engine's addresses show none.
pub(crate) fn key_of(id: &RecordId) -> String {
    let parts = [id.namespace.as_str(), id.operation.as_str(), id.key.as_str()];
    Fingerprint::of_parts(&parts.map(str::as_bytes)).to_string()
}

// A call that was given up, or paused, would keep all later ones under its key waiting: the engine tries for ever.
#[object(
    name = "RatchetRecord",
    journal_retention = "0s",
    idempotency_retention = "0s",
    invocation_retry_policy(
        initial_interval = "50ms",
        factor = 2.0,
        max_interval = "5s",
        max_attempts = 1_000_000_000
    )
)]
impl RecordObject {
    #[handler]
    async fn submit(
        &self,
        ctx: ObjectContext<'_>,
        Json(submissions): Json<Vec<Placed<Submission>>>,
    ) -> HandlerResult<Json<Vec<Submitted>>> {
        let mut stand = Vec::new();
        for submission in &submissions {
            stand.push(match &submission.what.after {
                None => true,
                Some(after) => {
                    let target = RequestTarget::object(names::RECORD, key_of(&after.id), "stands");
                    ctx.request::<_, bool>(target, Json(after.id.generation)).call().await?
                }
            });
        }
        let submit = |book: &mut Book, moment: Moment| {
            let each = submissions.iter().zip(stand);
            each.map(|(submission, stands)| book.submit(submission, stands, moment.now)).collect()
        };
        self.change(&ctx, submit).await.map(Json)
    }

    #[handler]
    async fn command(
        &self,
        ctx: ObjectContext<'_>,
        Json(orders): Json<Vec<Placed<Ordered>>>,
    ) -> HandlerResult<Json<Vec<Result<Answer, Refusal>>>> {
        let apply =
            |book: &mut Book, moment: Moment| orders.iter().map(|order| book.apply(order, moment)).collect();
        self.change(&ctx, apply).await.map(Json)
    }

    /// Looks what has become due by itself.
    #[handler]
    async fn look(&self, ctx: ObjectContext<'_>, Json(at): Json<Timestamp>) -> HandlerResult<()> {
        self.change(&ctx, |book, moment| book.look(at, moment)).await
    }

    /// Tells the drive again what is due.
    #[handler]
    async fn offer(&self, ctx: ObjectContext<'_>) -> HandlerResult<u64> {
        self.change(&ctx, |book, _| book.offer_again() as u64).await
    }

    #[handler]
    async fn purge(&self, ctx: ObjectContext<'_>) -> HandlerResult<u64> {
        self.change(&ctx, |book, moment| book.purge(moment.now) as u64).await
    }

    /// Keeps who comes after one of the records.
    #[handler]
    async fn precede(
        &self,
        ctx: ObjectContext<'_>,
        Json((before, follower)): Json<(Generation, RecordId)>,
    ) -> HandlerResult<()> {
        self.change(&ctx, |book, _| book.keep_follower(before, follower)).await
    }

    /// The record that one of these waited for has ended.
    #[handler]
    async fn follow(
        &self,
        ctx: ObjectContext<'_>,
        Json((generation, ended)): Json<(Generation, Ending)>,
    ) -> HandlerResult<()> {
        let order = Placed { place: 0, what: Ordered { generation, command: Command::Follow { ended } } };
        // A refusal says that it waits no more.
        self.change(&ctx, |book, moment| drop(book.apply(&order, moment))).await
    }

    #[handler]
    async fn read(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Book>> {
        let stored = ctx.get::<Bytes>(names::BOOK).await?;
        Ok(Json(read(stored.as_ref())?))
    }

    #[handler]
    async fn stands(
        &self,
        ctx: SharedObjectContext<'_>,
        Json(generation): Json<Generation>,
    ) -> HandlerResult<bool> {
        let stored = ctx.get::<Bytes>(names::BOOK).await?;
        Ok(read(stored.as_ref())?.row(generation).is_some())
    }
}

impl RecordObject {
    async fn change<A>(
        &self,
        ctx: &ObjectContext<'_>,
        change: impl FnOnce(&mut Book, Moment) -> A + Send,
    ) -> HandlerResult<A>
    where
        A: Serialize + DeserializeOwned + Send + 'static,
    {
        let stored = ctx.get::<Bytes>(names::BOOK).await?;
        let before = read(stored.as_ref())?;
        let moment = || Moment { now: self.clock.now(), jitter: self.random.jitter() };
        let decide = || async move {
            let moment = moment();
            let mut book = before.clone();
            let answers = change(&mut book, moment);
            // What was refused, or is a repetition, is news to nobody.
            let notes = if book == before { Vec::new() } else { book.notes(moment.now) };
            Ok(Json(Decided { book: (book != before).then_some(book), answers, notes }))
        };
        let Json(Decided { book, answers, notes }) = ctx.run(decide).name("decide").await?;
        if let Some(book) = book {
            ctx.set(names::INDEX, Json::<Vec<Entry>>(book.entries()));
            ctx.set(names::BOOK, Json(book));
        }
        for note in notes {
            send(ctx, note);
        }
        Ok(answers)
    }
}

fn read(stored: Option<&Bytes>) -> HandlerResult<Book> {
    // Trying again would keep the caller waiting for somebody who restores the record.
    Book::read(stored.map(AsRef::as_ref))
        .map_err(|error| TerminalError::new_with_code(names::UNREADABLE, error.to_string()).into())
}

fn send(ctx: &ObjectContext<'_>, note: Note) {
    match note {
        Note::Due(due) => {
            let target = RequestTarget::service(names::ATTEMPT, "run");
            let key = due.idempotency_key();
            ctx.request::<_, ()>(target, Json(due)).idempotency_key(key).send();
        }
        Note::Look { at, wait } => {
            let target = RequestTarget::object(names::RECORD, ctx.key(), "look");
            ctx.request::<_, ()>(target, Json(at)).send_after(Duration::from_millis(wait));
        }
        Note::Await { before, follower } => {
            let target = RequestTarget::object(names::RECORD, key_of(&before), "precede");
            ctx.request::<_, ()>(target, Json((before.generation, follower))).send();
        }
        Note::Ended { follower, ending } => {
            let target = RequestTarget::object(names::RECORD, key_of(&follower), "follow");
            ctx.request::<_, ()>(target, Json((follower.generation, ending))).send();
        }
    }
}
