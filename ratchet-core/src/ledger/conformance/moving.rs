//! A store as the source and as the target of a move.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::Fixture;
use super::build::{
    CHARGE, HOUR, MINUTE, begin, cancel, claim, done, id, pin, settle, start, submission, with_input,
};
use super::history::{History, STEPS};
use crate::contract::Contract;
use crate::decide::{Answer, Command};
use crate::ledger::moving::{
    Batch, Carried, Import, Kind, Move, MoveError, MoveId, Moved, Place, Progress, StandingChange,
    StandingRefused, StoreStanding, Sums,
};
use crate::ledger::{
    Cursor, HighWaterMark, Ledger, LedgerError, MarkChange, MemoryLedger, Order, SharedLedger,
};
use crate::model::{State, Submitted, Token};
use crate::random::SystemRandom;

const TO: &str = "postgres://db.example/shop";
const FROM: &str = "sqlite:shop.db";

fn name(seed: u64) -> MoveId {
    MoveId::new(&*SystemRandom::seeded(seed))
}

fn drain() -> StandingChange {
    StandingChange::Drain { by: name(1), to: TO.to_owned() }
}

fn freeze() -> StandingChange {
    StandingChange::Freeze { by: name(1) }
}

fn fill() -> StandingChange {
    StandingChange::Fill { by: name(1), from: FROM.to_owned() }
}

fn is_moved<T>(answer: Result<T, LedgerError>) -> bool {
    matches!(answer, Err(LedgerError::Moved { to }) if to == TO)
}

fn is_filling<T>(answer: Result<T, LedgerError>) -> bool {
    matches!(answer, Err(LedgerError::Filling { from }) if from == FROM)
}

impl Fixture {
    async fn change(&self, change: StandingChange) -> Result<StoreStanding, StandingRefused> {
        self.ledger.change_standing(change).await.expect("change_standing")
    }

    async fn try_order(&self, key: &str, command: Command) -> Result<(), LedgerError> {
        let order = Order { id: id(key), command };
        self.ledger.apply(vec![order]).await.map(|answers| assert!(answers[0].is_ok(), "{answers:?}"))
    }

    fn memory(&self) -> Arc<MemoryLedger> {
        MemoryLedger::with(self.clock.clone(), SystemRandom::shared())
    }
}

fn from_to(source: SharedLedger, target: SharedLedger) -> Move {
    Move {
        source,
        target,
        from: FROM.to_owned(),
        to: TO.to_owned(),
        batch: 7,
        wait: Duration::ZERO,
        random: SystemRandom::shared(),
    }
}

/// All that a ledger gives, in its order.
async fn all(ledger: &dyn Ledger, limit: usize) -> Vec<Carried> {
    let (mut place, mut items) = (Place::START, Vec::new());
    while place != Place::End {
        let Batch { items: more, next } = ledger.export(place, limit).await.expect("export");
        assert!(matches!(next, Place::Documents { .. }) || more.len() <= limit, "a batch is bounded");
        items.extend(more);
        place = next;
    }
    items
}

/// Nothing begins in a store that is about to move; what runs goes on and reports.
pub async fn a_source_lets_nothing_begin(fixture: Fixture) {
    for key in ["invoice:a", "invoice:b", "invoice:c"] {
        let _ = fixture.submit(submission(key)).await;
    }
    // Where repetitions are usual, they may be looked up before anything is written.
    for _ in 0..20 {
        assert!(matches!(fixture.submit(submission("invoice:c")).await, Submitted::Existing { .. }));
    }
    assert_eq!(fixture.claim(claim(2)).await.len(), 2);
    fixture.try_order("invoice:a", start(1)).await.expect("start");
    fixture.try_order("invoice:a", pin(1, None, "body")).await.expect("pin");
    let draining = StoreStanding::Draining { by: name(1), to: TO.to_owned() };
    assert_eq!(fixture.change(drain()).await, Ok(draining.clone()));
    assert_eq!(fixture.ledger.standing().await.expect("standing"), draining);

    assert!(is_moved(fixture.ledger.submit(vec![submission("invoice:new")]).await));
    assert!(is_moved(fixture.ledger.submit(vec![submission("invoice:c")]).await), "a repetition");
    assert!(is_moved(fixture.ledger.claim(claim(10)).await));
    assert!(is_moved(fixture.try_order("invoice:b", start(1)).await));
    assert!(is_moved(fixture.try_order("invoice:a", begin(1, CHARGE, Contract::NONE)).await));
    assert_eq!(fixture.stored(&id("invoice:new")).await, None);
    assert_eq!(fixture.record(&id("invoice:b")).await.lease.and_then(|lease| lease.started_at), None);
    assert_eq!(fixture.state(&id("invoice:c")).await, State::Pending);

    let renew = Command::Renew { token: Token::new(1), duration: HOUR };
    fixture.try_order("invoice:a", renew).await.expect("renew");
    assert_eq!(fixture.change(freeze()).await, Err(StandingRefused::Running { leases: 2 }));
    assert_eq!(fixture.ledger.standing().await.expect("standing"), draining, "a refusal changes nothing");
    fixture.try_order("invoice:a", settle(1, done("1"))).await.expect("settle");
    fixture.try_order("invoice:b", Command::Release { token: Token::new(1) }).await.expect("release");
    let frozen = StoreStanding::Frozen { by: name(1), to: TO.to_owned() };
    assert_eq!(fixture.change(freeze()).await, Ok(frozen));
    assert_eq!(fixture.state(&id("invoice:a")).await, State::Succeeded);
}

/// No pin is written for a first send either, by an attempt that was started before.
pub async fn a_source_pins_nothing_new(fixture: Fixture) {
    fixture.running(submission("invoice:a")).await;
    fixture.change(drain()).await.expect("drain");
    assert!(is_moved(fixture.try_order("invoice:a", pin(1, None, "body")).await));
    assert_eq!(fixture.record(&id("invoice:a")).await.effect.pin, None);
}

/// Nothing changes in a frozen store, nor in one that is left.
pub async fn a_frozen_store_changes_no_more(fixture: Fixture) {
    fixture.running(submission("invoice:a")).await;
    let _ = fixture.submit(submission("invoice:b")).await;
    fixture.change(drain()).await.expect("drain");
    fixture.advance(HOUR);
    assert_eq!(fixture.expire().await, 1);
    fixture.change(freeze()).await.expect("freeze");
    let before = Sums::of(&*fixture.ledger, 10).await.expect("sums");
    for left in [false, true] {
        if left {
            let change = fixture.change(StandingChange::Leave { by: name(1) }).await;
            assert!(matches!(change, Ok(StoreStanding::Moved { .. })));
        }
        assert!(is_moved(fixture.try_order("invoice:a", settle(1, done("1"))).await), "a stale report");
        assert!(is_moved(fixture.try_order("invoice:b", cancel()).await));
        assert!(is_moved(fixture.ledger.claim(claim(10)).await));
        assert!(is_moved(fixture.ledger.submit(vec![submission("invoice:new")]).await));
        assert!(is_moved(fixture.ledger.change_mark(MarkChange::Raise).await));
        assert_eq!(Sums::of(&*fixture.ledger, 10).await.expect("sums"), before);
    }
    assert!(fixture.change(StandingChange::TakeBack).await.is_err(), "who has left does not come back");
}

/// Until the source is left, it can take work again, and knows of all that it knew.
pub async fn a_source_that_is_taken_back_goes_on(fixture: Fixture) {
    let _ = fixture.submit(submission("invoice:a")).await;
    fixture.change(drain()).await.expect("drain");
    fixture.change(freeze()).await.expect("freeze");
    assert_eq!(fixture.change(StandingChange::TakeBack).await, Ok(StoreStanding::default()));
    let record = fixture.claimed(&id("invoice:a")).await;
    fixture.started(record).await;
    assert_eq!(
        fixture.apply(&id("invoice:a"), settle(1, done("1"))).await,
        Ok(Answer::Settled(State::Succeeded))
    );
    assert!(matches!(fixture.submit(submission("invoice:b")).await, Submitted::New { .. }));
}

/// A target is empty, and takes nothing but what is carried into it by its own move, each batch once.
pub async fn a_target_takes_what_is_carried_alone(fixture: Fixture) {
    fixture.change(fill()).await.expect("fill");
    assert!(is_filling(fixture.ledger.submit(vec![submission("invoice:a")]).await));
    assert!(is_filling(fixture.ledger.change_mark(MarkChange::Raise).await));
    let source = fixture.memory();
    let _ = source.submit(vec![submission("invoice:a")]).await.expect("submit");
    let place = Place::Records { after: Cursor(0) };
    let batch = source.export(place.clone(), 10).await.expect("export");
    let import = |by, at: &Place| Import { by: name(by), at: at.clone(), batch: batch.clone() };
    for (by, at) in [(1, &place), (2, &Place::START)] {
        let refused = fixture.ledger.import(import(by, at)).await.expect("import");
        assert!(matches!(refused, Err(StandingRefused::Stands { .. })), "{refused:?}");
    }
    assert_eq!(fixture.stored(&id("invoice:a")).await, None);
    fixture.ledger.import(import(1, &Place::START)).await.expect("import").expect("taken");
    assert_eq!(fixture.state(&id("invoice:a")).await, State::Pending);
    let again = fixture.ledger.import(import(1, &Place::START)).await.expect("import");
    assert!(matches!(again, Err(StandingRefused::Stands { .. })), "{again:?}");
    assert!(is_filling(fixture.ledger.claim(claim(10)).await), "what is carried does not run");
    assert!(fixture.change(StandingChange::TakeBack).await.is_err(), "half a store is none");
}

/// A store that was used is no target.
pub async fn a_target_holds_nothing_before(fixture: Fixture) {
    let _ = fixture.submit(submission("invoice:a")).await;
    assert_eq!(fixture.change(fill()).await, Err(StandingRefused::NotEmpty));
    assert_eq!(fixture.ledger.standing().await.expect("standing"), StoreStanding::default());
    assert!(matches!(fixture.submit(submission("invoice:b")).await, Submitted::New { .. }));
}

/// A target that was opened is ahead of what workers have seen of the source, and of what they have seen of itself.
pub async fn a_target_that_opens_is_no_restored_backup(fixture: Fixture) {
    let own = fixture.ledger.mark().await.expect("mark").mark;
    let above = HighWaterMark { epoch: own.epoch.after(HOUR * 24 * 400), raised: 1_000 };
    fixture.change(fill()).await.expect("fill");
    let import = |at, next| Import { by: name(1), at, batch: Batch { items: Vec::new(), next } };
    fixture.ledger.import(import(Place::START, Place::End)).await.expect("import").expect("taken");
    let opened = fixture.change(StandingChange::Open { by: name(1), above }).await;
    assert_eq!(opened, Ok(StoreStanding::Open { filled_by: Some(name(1)) }));
    let mark = fixture.ledger.mark().await.expect("mark");
    assert!(mark.mark > above && mark.mark > own && mark.held_since.is_none(), "{mark:?}");
    assert!(matches!(fixture.submit(submission("invoice:a")).await, Submitted::New { .. }));
}

/// What happened to a store in any order is read from it as from the reference, and carried back and forth without a loss.
pub async fn a_random_history_is_carried_without_loss(fixture: Fixture) {
    let (mut reference, mut expected) = (fixture.memory(), Vec::new());
    for seed in std::iter::repeat_with(|| SystemRandom::shared().bits()).take(50) {
        println!("seed {seed}");
        reference = fixture.memory();
        History::new(&*reference, &fixture.clock, seed).live(600).await;
        expected = all(&*reference, 1_000_000).await;
        if lacks(&expected).is_none() {
            break;
        }
    }
    assert_eq!(lacks(&expected), None, "no history has it");

    let moved = from_to(reference, fixture.ledger.clone()).run(drop).await;
    assert!(matches!(moved, Ok(Moved::Done)), "{moved:?}");
    assert_eq!(all(&*fixture.ledger, 5).await, expected, "as a target");
    let back = fixture.memory();
    let moved = from_to(fixture.ledger.clone(), back.clone()).run(drop).await;
    assert!(matches!(moved, Ok(Moved::Done)), "{moved:?}");
    assert_eq!(all(&*back, 1_000_000).await, expected, "as a source");
}

/// What a ledger writes by itself is read from it as from the reference.
pub async fn a_history_of_its_own_is_read_as_the_reference(fixture: Fixture) {
    let seed = SystemRandom::shared().bits();
    println!("seed {seed}");
    let clock = crate::time::ManualClock::at(super::STARTED_AT);
    let reference = MemoryLedger::with(clock.clone(), SystemRandom::shared());
    History::new(&*reference, &clock, seed).live(200).await;
    History::new(&*fixture.ledger, &fixture.clock, seed).live(200).await;
    let (own, reference) = (all(&*fixture.ledger, 1_000_000).await, all(&*reference, 1_000_000).await);
    let (own, reference) = (renumbered(own), renumbered(reference));
    if let Some((own, reference)) = own.iter().zip(&reference).find(|(own, reference)| own != reference) {
        assert_eq!(own, reference);
    }
    assert_eq!(own.len(), reference.len());
}

/// The same with places that have no gaps, which a store may leave, and without the epochs of a mark that began at another time.
fn renumbered(items: Vec<Carried>) -> Vec<Carried> {
    let mut numbers = BTreeMap::new();
    for item in &items {
        if let Carried::Record { place, .. } | Carried::Tombstone { place, .. } = item {
            numbers.insert(*place, Cursor(i64::try_from(numbers.len()).expect("few records")));
        }
    }
    let number = |place: &mut Cursor| *place = numbers.get(place).copied().expect("a place that is taken");
    let items = items.into_iter().filter(|item| !matches!(item, Carried::Acknowledgement { .. }));
    items
        .map(|mut item| {
            match &mut item {
                Carried::Record { place, after, attempts, .. } => {
                    number(place);
                    after.iter_mut().for_each(number);
                    // A late report of an attempt that never started is not noted by every ledger.
                    let unstarted = attempts.iter_mut().filter(|attempt| attempt.started_at.is_none());
                    unstarted.for_each(|attempt| attempt.end = None);
                }
                Carried::Tombstone { place, .. } | Carried::Audit { record: place, .. } => number(place),
                _ => {}
            }
            item
        })
        .collect()
}

/// What a history lacks: one that says nothing proves nothing.
fn lacks(items: &[Carried]) -> Option<String> {
    let records = || {
        items.iter().filter_map(|item| match item {
            Carried::Record { record, attempts, after, .. } => Some((record, attempts, after)),
            _ => None,
        })
    };
    let states: BTreeSet<State> = records().map(|(record, ..)| record.state).collect();
    let wanted = [State::Pending, State::Succeeded, State::Uncertain, State::Cancelled];
    let has = [
        ("states", wanted.iter().all(|state| states.contains(state))),
        ("pins", records().any(|(record, ..)| record.effect.pin.is_some())),
        ("steps", records().any(|(record, ..)| STEPS.iter().any(|step| record.steps.contains_key(step)))),
        ("repeated attempts", records().any(|(_, attempts, _)| attempts.len() > 1)),
        ("followers", records().any(|(_, _, after)| after.is_some())),
        ("groups", records().any(|(record, ..)| record.group.is_some())),
        ("generations", records().any(|(record, ..)| record.id.generation.get() > 1)),
        ("kinds", (0..9).all(|kind| items.iter().any(|item| number_of(item) == kind))),
    ];
    has.into_iter().find(|(_, has)| !has).map(|(what, _)| what.to_owned())
}

const fn number_of(item: &Carried) -> u8 {
    match item {
        Carried::Template { .. } => 0,
        Carried::Declaration { .. } => 1,
        Carried::Hidden { .. } => 2,
        Carried::Gate(_) => 3,
        Carried::Acknowledgement { .. } => 4,
        Carried::Document(_) => 5,
        Carried::Tombstone { .. } => 6,
        Carried::Audit { .. } => 7,
        Carried::Record { .. } => 8,
    }
}

/// In the new store every key answers as it did, tokens go on growing, and no number is given twice.
pub async fn a_filled_store_answers_for_every_key(fixture: Fixture) {
    let source = fixture.memory();
    let on_source = Fixture::new(source.clone(), fixture.clock.clone());
    on_source.settled(submission("invoice:done"), done("1")).await;
    on_source.running(submission("invoice:a")).await;
    on_source.apply(&id("invoice:a"), pin(1, None, "body")).await.expect("pin");
    on_source.advance(HOUR);
    assert_eq!(on_source.expire().await, 1);
    on_source.advance(HOUR * 24 * 91);
    assert_eq!(on_source.purge().await, 1);
    let pinned = on_source.record(&id("invoice:a")).await.effect.pin;
    let mut told = Vec::new();
    let moved = from_to(source.clone(), fixture.ledger.clone()).run(|step| told.push(step)).await;
    assert!(matches!(moved, Ok(Moved::Done)), "{moved:?}");
    let sums =
        told.iter().find_map(|step| if let Progress::Compared(sums) = step { Some(sums) } else { None });
    let sums = sums.expect("they are compared");
    assert_eq!((sums.count(Kind::Record), sums.count(Kind::Tombstone)), (1, 1));

    assert!(is_moved(source.submit(vec![submission("invoice:new")]).await));
    assert!(matches!(fixture.submit(submission("invoice:a")).await, Submitted::Existing { .. }));
    assert!(matches!(fixture.submit(with_input("invoice:a", "{}")).await, Submitted::Conflict(_)));
    assert!(matches!(fixture.submit(submission("invoice:done")).await, Submitted::Expired { .. }));
    assert_eq!(fixture.record(&id("invoice:a")).await.effect.pin, pinned);
    let places = vec![id("invoice:done"), id("invoice:a")];
    assert_eq!(
        fixture.ledger.places(places.clone()).await.expect("places"),
        source.places(places).await.expect("places")
    );
    let new = fixture.submit(submission("invoice:new")).await;
    assert!(matches!(new, Submitted::New { .. }));
    let place = fixture.ledger.places(vec![id("invoice:new")]).await.expect("places")[0].expect("a place");
    assert!(place.0 > 2, "the numbers of what was carried are taken");
    // The window of the first send is over by now; a person sees to it, and the next lease has the next token.
    let record = fixture.record(&id("invoice:a")).await;
    assert_eq!((record.token.get(), record.attempts), (1, 1));
    let _ = fixture.claim(claim(10)).await;
    fixture.apply(&id("invoice:a"), super::build::replay(true)).await.expect("replay");
    fixture.advance(MINUTE);
    let leased = fixture.claim(claim(10)).await;
    let again = leased.iter().find(|record| record.id == id("invoice:a"));
    assert!(again.is_some_and(|record| record.token.get() >= 2), "{leased:?}");
}

/// A store that is moved to itself takes work as before.
pub async fn a_store_is_not_moved_to_itself(fixture: Fixture) {
    let itself = from_to(fixture.ledger.clone(), fixture.ledger.clone()).run(drop).await;
    assert!(matches!(itself, Err(MoveError::OneStore)), "{itself:?}");
    assert!(matches!(fixture.submit(submission("invoice:a")).await, Submitted::New { .. }));
}

/// A move that stopped anywhere goes on from there; one that belongs to other stores changes nothing.
pub async fn a_move_is_gone_on_with(fixture: Fixture) {
    let source = fixture.memory();
    for key in 0..10 {
        let _ = source.submit(vec![submission(&format!("invoice:{key}"))]).await.expect("submit");
    }
    let the_move = Move { batch: 3, ..from_to(source.clone(), fixture.ledger.clone()) };
    let expected = all(&*source, 100).await;
    // The last one is left behind the mark that closes the source, and before the target opens.
    for step in 1..=5 {
        dies_after(&the_move, step).await;
        assert!(!source.standing().await.expect("standing").is_open() || step == 1);
        let both = [&the_move.source, &the_move.target];
        for (ledger, other) in both.into_iter().zip([&the_move.target, &the_move.source]) {
            let (one, other) =
                (ledger.standing().await.expect("standing"), other.standing().await.expect("standing"));
            assert!(!one.is_open() || !other.is_open(), "after {step} steps both take work");
        }
        if step > 1 {
            let elsewhere = from_to(source.clone(), fixture.memory()).run(drop).await;
            assert!(
                matches!(elsewhere, Err(MoveError::NotOneMove { .. })),
                "after {step} steps: {elsewhere:?}"
            );
        }
    }
    assert!(matches!(the_move.run(drop).await, Ok(Moved::Done)));
    assert_eq!(all(&*fixture.ledger, 100).await, expected);
    assert!(matches!(the_move.run(drop).await, Ok(Moved::Before)));
    assert!(the_move.take_back().await.is_err());
}

/// Runs in a program that dies when it has told that many steps.
async fn dies_after(the_move: &Move, steps: usize) {
    let the_move = the_move.clone();
    let mut told = 0;
    let program = tokio::spawn(async move {
        let tell = |_| {
            told += 1;
            assert!(told < steps, "the program dies");
        };
        the_move.run(tell).await
    });
    let ended = program.await;
    assert!(ended.is_err(), "it goes on for {steps} steps: {ended:?}");
}
