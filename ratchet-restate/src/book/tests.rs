use ratchet_core::decide::{Command, Jitter};
use ratchet_core::{
    Contract, Key, Namespace, OperationName, Payload, Policy, Priority, Queue, Version, WorkerId,
};

use super::*;

const LEASE: Duration = Duration::from_secs(30);

fn at(milliseconds: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + milliseconds)
}

fn moment(milliseconds: i64) -> Moment {
    Moment { now: at(milliseconds), jitter: Jitter::from_bits(0) }
}

fn submission() -> Submission {
    Submission {
        id: RecordId {
            namespace: Namespace::DEFAULT,
            operation: OperationName::from_static("invoice.collect"),
            key: Key::parse("invoice:1").unwrap(),
            generation: Generation::FIRST,
        },
        version: Version::from_static("1"),
        input: Payload::from_stored("{}"),
        compared: None,
        policy: Policy::DEFAULT,
        contract: Contract::NONE.terms(),
        not_before: None,
        queue: Queue::DEFAULT,
        priority: Priority::default(),
        group: None,
        after: None,
        renewal: None,
        trace: None,
    }
}

/// A book with a record that is leased at the beginning, and the looks that follow.
fn leased() -> (Book, Vec<Note>) {
    let mut book = Book::default();
    let _ = book.submit(&Placed { place: 1, what: submission() }, true, at(0));
    let worker = WorkerId::from_static("w");
    let command = Command::Lease { worker, duration: LEASE, start_if_safe: false };
    let order = Placed { place: 0, what: Ordered { generation: Generation::FIRST, command } };
    book.apply(&order, moment(0)).unwrap();
    let notes = book.notes(at(0));
    (book, notes)
}

/// What follows from a look that was due then and comes now.
fn look(book: &mut Book, due: i64, now: i64) -> Vec<Note> {
    book.look(at(due), moment(now));
    book.notes(at(now))
}

fn looks_at(due: i64, wait: u64) -> Note {
    Note::Look { at: at(due), wait }
}

fn state(book: &Book) -> State {
    book.row(Generation::FIRST).unwrap().record().unwrap().state
}

#[test]
fn a_look_that_comes_before_its_time_comes_again() {
    let (mut book, notes) = leased();
    assert_eq!(notes, [looks_at(30_000, 30_000)]);
    // The other clock is two seconds ahead, so twice as long is right for it.
    assert_eq!(look(&mut book, 30_000, 28_000), [looks_at(30_000, 4_000)]);
    assert_eq!(state(&book), State::Running);
    look(&mut book, 30_000, 30_000);
    assert_eq!(state(&book), State::Pending, "its worker is dead");
}

#[test]
fn however_far_the_other_clock_is_ahead_the_looks_become_rare() {
    let (mut book, _) = leased();
    let waits = [1_u64, 2, 3].map(|_| match &look(&mut book, 30_000, 10)[..] {
        [Note::Look { wait, .. }] => *wait,
        other => panic!("expected a look, got {other:?}"),
    });
    assert_eq!(waits, [59_980, 119_960, 239_920]);
}

#[test]
fn a_look_that_another_one_took_the_place_of_is_followed_by_none() {
    let (mut book, _) = leased();
    let command = Command::Release { token: ratchet_core::Token::new(1) };
    let order = Placed { place: 0, what: Ordered { generation: Generation::FIRST, command } };
    book.apply(&order, moment(1_000)).unwrap();
    // It is offered at once, and again in half a minute: the look at 30,000 comes before.
    assert!(matches!(&book.notes(at(1_000))[..], [Note::Due(_)]));
    let mut earlier = book.clone();
    assert_eq!(look(&mut earlier, 30_000, 30_000), [looks_at(31_000, 1_000)]);
    assert_eq!(look(&mut earlier, 30_000, 30_001), [], "it has come already");
    assert!(matches!(&look(&mut earlier, 31_000, 31_000)[..], [Note::Due(_), Note::Look { .. }]));
}

#[test]
fn what_is_offered_to_somebody_who_has_come_is_not_taken_for_what_was_told_before() {
    let mut book = Book::default();
    let _ = book.submit(&Placed { place: 1, what: submission() }, true, at(0));
    let told = |book: &mut Book, now: i64| match book.notes(at(now)).remove(0) {
        Note::Due(due) => due.idempotency_key(),
        other => panic!("expected that it is due, got {other:?}"),
    };
    let first = told(&mut book, 0);
    assert_eq!(told(&mut book, 30_000), first, "nobody has come");
    assert_eq!(book.offer_again(), 1);
    assert_ne!(told(&mut book, 30_001), first);
}
