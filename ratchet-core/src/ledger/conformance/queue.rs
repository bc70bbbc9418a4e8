//! Queues: where records wait, and nothing more.

use super::Fixture;
use super::build::{
    BULK, COLLECT, SECOND, V1, claim, done, generation, id, offer, offers, renewal_of, submission, with_input,
};
use crate::ledger::{Claim, Offer};
use crate::model::{Conflict, Priority, Queue, Record, State, Submission, Submitted, Token};

fn from(queue: Queue) -> Offer {
    Offer { queue, ..offer(COLLECT, V1) }
}

fn in_bulk(key: &str) -> Submission {
    Submission { queue: BULK, ..submission(key) }
}

fn keys(records: &[Record]) -> Vec<&str> {
    records.iter().map(|record| record.id.key.as_str()).collect()
}

/// A claim takes from the queues that it offers to serve and leaves all others untouched.
pub async fn only_the_offered_queues_are_touched(fixture: Fixture) {
    let _ = fixture.submit(in_bulk("invoice:1")).await;
    let _ = fixture.submit(submission("invoice:2")).await;
    assert_eq!(keys(&fixture.claim(claim(10)).await), ["invoice:2"]);
    let waiting = fixture.record(&id("invoice:1")).await;
    assert_eq!((waiting.state, waiting.token, waiting.queue), (State::Pending, Token::NONE, BULK));
    assert_eq!(fixture.attempts(&id("invoice:1")).await, []);
    let other = Claim { offers: vec![from(Queue::from_static("bulk-2"))], ..claim(10) };
    assert_eq!(fixture.claim(other).await, []);
    let claimed = fixture.claim(Claim { offers: vec![from(BULK)], ..claim(10) }).await;
    assert_eq!((keys(&claimed), &claimed[0].queue), (vec!["invoice:1"], &BULK));
}

/// Several queues of one claim are one line: the most urgent first, and then the longest waiting.
pub async fn the_order_holds_across_queues(fixture: Fixture) {
    let urgent = Submission { priority: Priority(5), ..in_bulk("invoice:4") };
    for one in [submission("invoice:1"), in_bulk("invoice:2"), submission("invoice:3"), urgent] {
        let _ = fixture.submit(one).await;
        fixture.advance(SECOND);
    }
    let both = Claim { offers: vec![from(Queue::DEFAULT), from(BULK)], ..claim(3) };
    assert_eq!(keys(&fixture.claim(both).await), ["invoice:4", "invoice:1", "invoice:2"]);
}

/// The queue is no part of the identity: the same action in another queue exists already, and stays where it is.
pub async fn a_repetition_in_another_queue_is_the_same_action(fixture: Fixture) {
    let _ = fixture.submit(submission("invoice:1")).await;
    let existing =
        Submitted::Existing { id: id("invoice:1"), state: State::Pending, result: None, version: V1 };
    assert_eq!(fixture.submit(in_bulk("invoice:1")).await, existing);
    let other_input = Submission { queue: BULK, ..with_input("invoice:1", "5") };
    assert_eq!(fixture.submit(other_input).await, Submitted::Conflict(Conflict::OtherInput));
    assert_eq!(fixture.record(&id("invoice:1")).await.queue, Queue::DEFAULT);
}

/// A new generation waits where its own submission says.
pub async fn a_new_generation_may_wait_in_another_queue(fixture: Fixture) {
    fixture.settled(submission("invoice:1"), done("1")).await;
    let second = generation("invoice:1", 2);
    let renewal = Submission { queue: BULK, ..renewal_of("invoice:1", 1) };
    assert_eq!(fixture.submit(renewal).await, Submitted::New { id: second.clone() });
    assert_eq!(fixture.claim(Claim { offers: offers(), ..claim(10) }).await, []);
    let claimed = fixture.claim(Claim { offers: vec![from(BULK)], ..claim(10) }).await;
    assert_eq!(claimed.iter().map(|record| &record.id).collect::<Vec<_>>(), [&second]);
}
