//! What a worker does about uncertain records whose operation says how to ask.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ratchet::{
    Clock, Closed, Context, Failure, Fingerprint, Found, Input, Inquiry, Namespace, Ratchet, RecordState,
    State, Timestamp, Uncertainty, WorkerBuilder,
};
use ratchet_core::MemoryLedger;
use ratchet_core::random::SystemRandom;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::faulty::{Call, Fault, FaultyLedger};
use crate::support::{Running, id_of, in_state, start_with};

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Transfer {
    id: u64,
}

/// Wall-clock time as tokio's paused time has it.
#[derive(Debug)]
struct VirtualClock(Instant);

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::EPOCH.after(self.0.elapsed())
    }

    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A destination that does not deduplicate and can be asked: what it did, what it answers, and what it was asked.
#[derive(Debug, Clone, Default)]
struct Bank(Arc<Mutex<Books>>);

#[derive(Debug, Default)]
struct Books {
    effects: u32,
    answers: Vec<Result<Found<String>, &'static str>>,
    sent: Vec<String>,
    asked_for: Vec<String>,
    attempts: Vec<u32>,
}

impl Bank {
    fn answering(answers: impl IntoIterator<Item = Result<Found<String>, &'static str>>) -> Self {
        let bank = Self::default();
        bank.books().answers = answers.into_iter().collect();
        bank
    }

    fn books(&self) -> std::sync::MutexGuard<'_, Books> {
        self.0.lock().unwrap()
    }
}

#[ratchet::operation(name = "move_money", version = "1", key = "moved:<id>", destination = none,
    reconcile = look_up, timeout = "5s")]
async fn transfer(ctx: Context, State(bank): State<Bank>, input: Transfer) -> Result<String, Failure> {
    ctx.pin("bank", Fingerprint::of(&input.id.to_be_bytes())).await?;
    let sending = ctx.begin_send();
    bank.books().effects += 1;
    if ctx.attempt() > 1 {
        sending.acted();
        return Ok("at the second attempt".to_owned());
    }
    Err(sending.failed(Failure::unknown("the connection broke")))
}

async fn look_up(about: Inquiry, input: Transfer) -> Result<Found<String>, Failure> {
    assert_eq!(about.id().key.as_str(), format!("moved:{}", input.id));
    let bank: Bank = about.state()?;
    let mut books = bank.books();
    books.asked_for.push(about.key().to_owned());
    books.attempts.push(about.attempts());
    let answer = if books.answers.is_empty() { Ok(Found::StillUnknown) } else { books.answers.remove(0) };
    answer.map_err(Failure::unknown)
}

#[tokio::test(start_paused = true)]
async fn an_effect_that_the_destination_shows_ends_the_record_well() {
    let bank = Bank::answering([Ok(Found::Applied("tr_1".to_owned()))]);
    let ratchet = Ratchet::in_memory();
    let worker = start_transfers(&ratchet, &bank);
    let id = id_of(transfer::enqueue(&ratchet, Transfer { id: 7 }).await.unwrap());
    let record = in_state(&ratchet, &id, RecordState::Succeeded).await;
    assert_eq!(record.result.unwrap().as_str(), r#""tr_1""#);
    assert_eq!(bank.books().asked_for, ["moved:7"], "the pinned key");
    assert_eq!(bank.books().effects, 1);
    assert_eq!(bank.books().attempts, [1]);
    let audit = ratchet.audit(id).await.unwrap();
    assert_eq!((audit[0].by.as_str(), audit[0].action.as_str()), ("reconciler", "resolve"));
    assert_eq!(audit[0].reason, "the destination shows the effect");
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_key_that_the_destination_closed_ends_the_record_as_failed() {
    let bank = Bank::answering([Ok(Found::NotApplied(Closed::ByTheDestination))]);
    let ratchet = Ratchet::in_memory();
    let worker = start_transfers(&ratchet, &bank);
    let id = id_of(transfer::enqueue(&ratchet, Transfer { id: 7 }).await.unwrap());
    let record = in_state(&ratchet, &id, RecordState::Failed).await;
    assert!(!record.may_be_applied());
    assert_eq!(bank.books().effects, 1);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn where_old_calls_are_refused_the_same_identity_is_used_again() {
    let bank = Bank::answering([Ok(Found::NotApplied(Closed::OldCallsRefused))]);
    let ratchet = Ratchet::in_memory();
    let worker = start_transfers(&ratchet, &bank);
    let id = id_of(transfer::enqueue(&ratchet, Transfer { id: 7 }).await.unwrap());
    let record = in_state(&ratchet, &id, RecordState::Succeeded).await;
    assert_eq!(record.result.unwrap().as_str(), r#""at the second attempt""#);
    assert_eq!(bank.books().effects, 2);
    worker.stop().await;
}

/// Whatever is no finding leaves the record as it is, and it is asked again, each time later.
#[tokio::test(start_paused = true)]
async fn what_is_still_unknown_is_asked_again() {
    let nothing = [Ok(Found::InFlight), Err("the look-up failed"), Ok(Found::StillUnknown)];
    let bank = Bank::answering(nothing.into_iter().chain([Ok(Found::Applied("tr_1".to_owned()))]));
    let clock = Arc::new(VirtualClock(Instant::now()));
    let ratchet = Ratchet::with_ledger(MemoryLedger::with(clock.clone(), SystemRandom::shared()));
    let worker = start_with(worker_for(&ratchet, &bank).clock(clock));
    let id = id_of(transfer::enqueue(&ratchet, Transfer { id: 7 }).await.unwrap());
    let started = Instant::now();
    let record = in_state(&ratchet, &id, RecordState::Succeeded).await;
    assert_eq!(record.uncertainty, None::<Uncertainty>);
    assert_eq!(bank.books().asked_for.len(), 4);
    assert_eq!(bank.books().effects, 1);
    // After 5, 10 and 20 seconds, seen at the next look.
    let took = started.elapsed();
    assert!(Duration::from_secs(20) <= took && took < Duration::from_secs(30), "{took:?}");
    worker.stop().await;
}

/// A full disk still shows what is due, and takes no question.
#[tokio::test(start_paused = true)]
async fn a_ledger_that_takes_no_question_is_left_alone_for_a_while() {
    let (ratchet, ledger) = FaultyLedger::ratchet();
    ledger.set(Some((Call::Ask, Fault::Fail)));
    let bank = Bank::default();
    let worker = start_transfers(&ratchet, &bank);
    for id in 0..16 {
        let id = id_of(transfer::enqueue(&ratchet, Transfer { id }).await.unwrap());
        in_state(&ratchet, &id, RecordState::Uncertain).await;
    }
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
    }
    // At the start, and after each record that was parked.
    assert!(ledger.questions() <= 17, "{} looks", ledger.questions());
    assert!(bank.books().asked_for.is_empty());
    worker.stop().await;
}

#[ratchet::operation(name = "post_letter", version = "1", key = "letter:<id>", destination = none,
    reconcile = look_for_letter, timeout = "5s")]
async fn post(ctx: Context, State(bank): State<Bank>, input: Transfer) -> Result<String, Failure> {
    assert_eq!(ctx.id().key.as_str(), format!("letter:{}", input.id));
    bank.books().sent.push(ctx.key().to_owned());
    Err(Failure::unknown("the line went dead"))
}

async fn look_for_letter(about: Inquiry, _: Transfer) -> Result<Found<String>, Failure> {
    assert!(about.pin().is_none());
    let bank: Bank = about.state()?;
    bank.books().asked_for.push(about.key().to_owned());
    Ok(Found::NotApplied(Closed::ByTheDestination))
}

/// A handler that pins nothing sends the identity as it is, and another generation is another one.
#[tokio::test(start_paused = true)]
async fn without_a_pin_it_is_asked_about_the_key_that_the_handler_had() {
    let bank = Bank::default();
    let ratchet = Ratchet::in_memory().in_namespace(Namespace::from_static("staging"));
    let worker = start_with(ratchet.worker(ratchet::registry![post]).state(bank.clone()));
    let first = id_of(post::enqueue(&ratchet, Transfer { id: 7 }).await.unwrap());
    in_state(&ratchet, &first, RecordState::Failed).await;
    let again = post::request(Transfer { id: 7 }).new_generation(first.generation, "ops", "it got lost");
    let second = id_of(ratchet.submit(again).await.unwrap());
    in_state(&ratchet, &second, RecordState::Failed).await;
    assert_eq!(bank.books().sent, ["letter:7@staging", "letter:7#2@staging"]);
    assert_eq!(bank.books().asked_for, ["letter:7@staging", "letter:7#2@staging"]);
    worker.stop().await;
}

fn start_transfers(ratchet: &Ratchet, bank: &Bank) -> Running {
    start_with(worker_for(ratchet, bank))
}

fn worker_for(ratchet: &Ratchet, bank: &Bank) -> WorkerBuilder {
    let builder = ratchet.worker(ratchet::registry![transfer]).state(bank.clone());
    builder.poll_interval(Duration::from_hours(1))
}
