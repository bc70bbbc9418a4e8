//! Steps whose destination recognises nothing, and can be asked.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ratchet::{
    Closed, Context, Contract, Failure, Fingerprint, Found, Inquiry, Ratchet, Record, RecordState, State,
    Uncertainty,
};
use tokio::sync::Notify;

use super::{AT_ONCE, CHARGE, Order, result, start};
use crate::faulty::{Call, Fault, FaultyLedger};
use crate::support::{Running, id_of, settled, within};

type Answer = Result<Found<String>, fn() -> Failure>;

/// A destination without deduplication: every call that arrives has its effect once more.
#[derive(Debug, Clone, Default)]
struct Bank(Arc<Mutex<Books>>, Arc<Notify>);

#[derive(Debug, Default)]
struct Books {
    /// The references of its bookings.
    booked: Vec<String>,
    asked_for: Vec<String>,
    answers: Vec<Answer>,
    /// Does not answer the first call.
    is_slow: bool,
}

impl Bank {
    fn answering(answers: impl IntoIterator<Item = Answer>) -> Self {
        let bank = Self::default();
        bank.books().answers = answers.into_iter().collect();
        bank
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap()
    }

    /// Books, and dies before the answer arrives, in the first attempt.
    async fn book(&self, step: &Context) -> Result<String, Failure> {
        step.pin("bank", Fingerprint::of(b"transfer")).await?;
        let sending = step.begin_send();
        self.books().booked.push(step.key().to_owned());
        if self.books().is_slow && step.attempt() == 1 {
            self.1.notify_one();
            std::future::pending::<()>().await;
        }
        assert!(step.attempt() > 1, "dies here");
        sending.acted();
        Ok(format!("tr_{}", self.books().booked.len()))
    }

    async fn look_up(&self, about: Inquiry) -> Result<Found<String>, Failure> {
        assert_eq!(about.step(), Some(&CHARGE));
        assert_eq!(about.pin().unwrap().scope, "bank".into());
        let mut books = self.books();
        books.asked_for.push(about.key().to_owned());
        let answer = if books.answers.is_empty() { Ok(Found::StillUnknown) } else { books.answers.remove(0) };
        answer.map_err(|failure| failure())
    }
}

const KEY: &str = "order:7:pay!charge";

#[ratchet::operation(name = "pay", version = "1", key = "order:<id>:pay", destination = steps, retry = AT_ONCE)]
async fn pay(ctx: Context, State(bank): State<Bank>, _order: Order) -> Result<String, Failure> {
    let charge = ctx.step(CHARGE).to(Contract::NONE).reconcile(async |about: Inquiry| {
        let bank: Bank = about.state()?;
        bank.look_up(about).await
    });
    charge.run(async |step: Context| bank.book(&step).await).await
}

fn start_paying(ratchet: &Ratchet, bank: &Bank) -> Running {
    start(ratchet, ratchet::registry![pay], bank.clone())
}

async fn paid(bank: &Bank) -> Record {
    let ratchet = Ratchet::in_memory();
    let worker = start_paying(&ratchet, bank);
    let id = id_of(pay::enqueue(&ratchet, Order { id: 7 }).await.unwrap());
    let record = settled(&ratchet, &id).await;
    worker.stop().await;
    record
}

#[tokio::test]
async fn an_effect_before_a_crash_is_found_and_not_repeated() {
    let bank = Bank::answering([Ok(Found::Applied("tr_found".to_owned()))]);
    let record = paid(&bank).await;
    assert_eq!((record.state, record.attempts), (RecordState::Succeeded, 2));
    assert_eq!(result(&record), "tr_found");
    assert_eq!(bank.books().booked, [KEY], "one effect");
    assert_eq!(bank.books().asked_for, [KEY]);
}

#[tokio::test]
async fn where_old_calls_are_refused_the_step_runs_again_with_the_same_identity() {
    let bank = Bank::answering([Ok(Found::NotApplied(Closed::OldCallsRefused))]);
    let record = paid(&bank).await;
    assert_eq!((record.state, record.attempts), (RecordState::Succeeded, 2));
    assert_eq!(result(&record), "tr_2");
    assert_eq!(bank.books().booked, [KEY, KEY]);
    let pin = record.steps[&CHARGE].effect.pin.as_ref().unwrap();
    assert_eq!(pin.by.get(), 2, "pinned anew");
}

#[tokio::test]
async fn a_key_that_the_destination_closed_rejects_the_operation() {
    let bank = Bank::answering([Ok(Found::NotApplied(Closed::ByTheDestination))]);
    let record = paid(&bank).await;
    assert_eq!((record.state, record.may_be_applied()), (RecordState::Failed, false));
    assert_eq!(record.cause.unwrap().detail(), "the destination closed the key of the step `charge`");
    assert_eq!(bank.books().booked, [KEY]);
}

/// A failure of the look-up says nothing about the effect, however certain it sounds.
#[tokio::test]
async fn what_stays_unknown_is_asked_on_every_attempt_and_then_parked() {
    let nothing: [Answer; 2] = [Ok(Found::InFlight), Err(|| Failure::rejected("no such account"))];
    let bank = Bank::answering(nothing);
    let record = paid(&bank).await;
    assert_eq!((record.state, record.attempts), (RecordState::Uncertain, 3));
    assert_eq!(record.uncertainty, Some(Uncertainty::AttemptsSpent));
    assert_eq!(record.cause.as_ref().unwrap().detail(), "no such account");
    assert!(record.steps[&CHARGE].effect.may_be_applied);
    assert_eq!(bank.books().booked, [KEY]);
    assert_eq!(bank.books().asked_for, [KEY, KEY]);
}

mod forgetful {
    use super::*;

    /// The same operation, as somebody deployed it without the question.
    #[ratchet::operation(name = "pay", version = "1", key = "order:<id>:pay", destination = steps, retry = AT_ONCE)]
    pub(super) async fn pay(
        ctx: Context,
        State(bank): State<Bank>,
        _order: Order,
    ) -> Result<String, Failure> {
        ctx.step(CHARGE).run(async |step: Context| bank.book(&step).await).await
    }
}

#[tokio::test]
async fn code_that_has_forgotten_how_to_ask_sends_nothing() {
    let bank = Bank::default();
    bank.books().is_slow = true;
    let ratchet = Ratchet::in_memory();
    let id = id_of(pay::enqueue(&ratchet, Order { id: 7 }).await.unwrap());
    let first = start_paying(&ratchet, &bank);
    within(bank.1.notified()).await;
    first.stop().await;
    let worker = start(&ratchet, ratchet::registry![forgetful::pay], bank.clone());
    let record = settled(&ratchet, &id).await;
    worker.stop().await;
    assert_eq!((record.state, record.attempts), (RecordState::Uncertain, 3));
    assert_eq!(record.uncertainty, Some(Uncertainty::AttemptsSpent));
    assert_eq!(bank.books().booked, [KEY]);
}

/// Finds its effect, and dies before it reports.
#[ratchet::operation(name = "dies_again", version = "1", key = "order:<id>:pay", destination = steps, retry = AT_ONCE)]
async fn dies_again(ctx: Context, State(bank): State<Bank>, _order: Order) -> Result<String, Failure> {
    let charge = ctx.step(CHARGE).reconcile(async |about: Inquiry| bank.look_up(about).await);
    let left = charge.run(async |step: Context| bank.book(&step).await).await?;
    assert!(ctx.attempt() > 2, "dies here");
    Ok(left)
}

#[tokio::test]
async fn what_was_found_is_kept_and_not_asked_for_again() {
    let bank = Bank::answering([Ok(Found::Applied("tr_found".to_owned()))]);
    let ratchet = Ratchet::in_memory();
    let worker = start(&ratchet, ratchet::registry![dies_again], bank.clone());
    let id = id_of(dies_again::enqueue(&ratchet, Order { id: 7 }).await.unwrap());
    let record = settled(&ratchet, &id).await;
    worker.stop().await;
    assert_eq!((record.state, record.attempts), (RecordState::Succeeded, 3));
    assert_eq!(result(&record), "tr_found");
    assert_eq!(bank.books().asked_for, [KEY]);
    assert_eq!(bank.books().booked, [KEY]);
}

/// Gives a step up halfway and enters it once more in the same attempt.
#[ratchet::operation(name = "impatient", version = "1", key = "order:<id>:pay", destination = steps, retry = AT_ONCE)]
async fn impatient(ctx: Context, State(bank): State<Bank>, _order: Order) -> Result<String, Failure> {
    let charge = || ctx.step(CHARGE).reconcile(async |about: Inquiry| bank.look_up(about).await);
    let first = charge().run(async |step: Context| {
        step.pin("bank", Fingerprint::of(b"transfer")).await?;
        bank.books().booked.push(step.key().to_owned());
        std::future::pending().await
    });
    assert!(tokio::time::timeout(Duration::from_millis(20), first).await.is_err());
    charge().run(async |step: Context| bank.book(&step).await).await
}

#[tokio::test]
async fn a_step_that_was_left_halfway_is_asked_about_in_the_same_attempt() {
    let bank = Bank::answering([Ok(Found::Applied("tr_found".to_owned()))]);
    let ratchet = Ratchet::in_memory();
    let worker = start(&ratchet, ratchet::registry![impatient], bank.clone());
    let id = id_of(impatient::enqueue(&ratchet, Order { id: 7 }).await.unwrap());
    let record = within(settled(&ratchet, &id)).await;
    worker.stop().await;
    assert_eq!((record.state, record.attempts), (RecordState::Succeeded, 1));
    assert_eq!(bank.books().booked, [KEY]);
}

#[tokio::test]
async fn a_restart_that_could_not_be_written_sends_nothing() {
    let (ratchet, ledger) = FaultyLedger::ratchet();
    let bank = Bank::answering([const { Ok(Found::NotApplied(Closed::OldCallsRefused)) }; 2]);
    ledger.set(Some((Call::RestartStep, Fault::LoseAnswer)));
    let worker = start_paying(&ratchet, &bank);
    let id = id_of(pay::enqueue(&ratchet, Order { id: 7 }).await.unwrap());
    let record = settled(&ratchet, &id).await;
    worker.stop().await;
    // The second attempt is told to enter, and hears nothing of it; the third finds a step that was not applied.
    assert_eq!((record.state, result(&record)), (RecordState::Succeeded, "tr_2".to_owned()));
    assert_eq!(record.attempts, 3);
    assert_eq!(bank.books().booked, [KEY, KEY]);
    assert_eq!(bank.books().asked_for, [KEY]);
}
