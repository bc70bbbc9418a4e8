//! A batch does what its entries would do alone, one after the other.

use super::Fixture;
use super::build::{
    CHARGE, MINUTE, SECOND, begin, cancel, claim, done, finish, id, not_applied, pin, rejected, replay,
    resolve, settle, start, submission, unknown, unprotected,
};
use crate::contract::Contract;
use crate::decide::{Answer, Command, Refusal, Verdict};
use crate::ledger::{Claim, Order};
use crate::model::{Namespace, Record, RecordId, Submission, Token};

const ALONE: Namespace = Namespace::from_static("alone");
const TOGETHER: Namespace = Namespace::from_static("together");
const KEYS: [&str; 4] = ["invoice:1", "invoice:2", "invoice:3", "invoice:4"];

fn within(namespace: &Namespace, key: &str) -> RecordId {
    RecordId { namespace: namespace.clone(), ..id(key) }
}

/// The same four records in both namespaces: two that are protected and two that are not.
async fn submitted(fixture: &Fixture) {
    for namespace in [ALONE, TOGETHER] {
        for (place, key) in KEYS.into_iter().enumerate() {
            let one = if place < 2 { submission(key) } else { unprotected(key) };
            let _ = fixture.submit(Submission { id: within(&namespace, key), ..one }).await;
        }
    }
}

async fn claimed(fixture: &Fixture, namespace: &Namespace, limits: &[usize]) -> Vec<Record> {
    let mut records = Vec::new();
    for limit in limits {
        records.extend(fixture.claim(Claim { namespace: namespace.clone(), ..claim(*limit) }).await);
    }
    records
}

/// As it would be in the namespace of the batch.
fn moved(record: Record) -> Record {
    Record { id: RecordId { namespace: TOGETHER, ..record.id }, ..record }
}

/// Records, attempts and trails are the same in both namespaces.
async fn same_in_both(fixture: &Fixture) {
    for key in KEYS {
        let (alone, together) = (within(&ALONE, key), within(&TOGETHER, key));
        assert_eq!(fixture.record(&together).await, moved(fixture.record(&alone).await), "{key}");
        assert_eq!(fixture.attempts(&together).await, fixture.attempts(&alone).await, "{key}");
        assert_eq!(fixture.audit(&together).await, fixture.audit(&alone).await, "{key}");
    }
}

/// One claim for four, and four claims for one.
pub async fn one_claim_takes_what_several_would(fixture: Fixture) {
    submitted(&fixture).await;
    let alone = claimed(&fixture, &ALONE, &[1, 1, 1, 1]).await;
    let together = claimed(&fixture, &TOGETHER, &[4]).await;
    assert_eq!(together.len(), 4);
    assert_eq!(together, alone.into_iter().map(moved).collect::<Vec<_>>());
    same_in_both(&fixture).await;
}

/// Orders for several records, some of them several times, with refusals between them.
fn script() -> Vec<(&'static str, Command)> {
    let release = |token| Command::Release { token: Token::new(token) };
    let renew = Command::Renew { token: Token::new(1), duration: MINUTE };
    vec![
        ("invoice:1", settle(1, done("1"))),
        ("invoice:1", start(1)),
        ("invoice:2", start(1)),
        ("invoice:3", start(1)),
        ("invoice:1", begin(1, CHARGE, Contract::header("Key"))),
        ("invoice:1", pin(1, Some(CHARGE), "body")),
        ("invoice:2", pin(1, None, "body")),
        ("invoice:2", pin(1, None, "another")),
        ("invoice:9", start(1)),
        ("invoice:1", finish(1, CHARGE, done(r#"{"charge":"ch_1"}"#))),
        ("invoice:4", release(1)),
        ("invoice:4", release(1)),
        ("invoice:2", renew),
        ("invoice:1", settle(1, not_applied(None))),
        ("invoice:3", settle(1, unknown())),
        ("invoice:3", settle(1, rejected())),
        ("invoice:3", settle(1, unknown())),
        ("invoice:3", replay(false)),
        ("invoice:3", resolve(1, Verdict::Applied { result: None })),
        ("invoice:4", cancel()),
        ("invoice:4", replay(false)),
        ("invoice:2", cancel()),
        ("invoice:2", settle(1, unknown())),
        ("invoice:2", settle(1, done("7"))),
    ]
}

fn orders(namespace: &Namespace) -> Vec<Order> {
    script().into_iter().map(|(key, command)| Order { id: within(namespace, key), command }).collect()
}

/// The same answers, and the same records, attempts and trails.
pub async fn orders_are_answered_like_single_calls(fixture: Fixture) {
    submitted(&fixture).await;
    for namespace in [ALONE, TOGETHER] {
        assert_eq!(claimed(&fixture, &namespace, &[4]).await.len(), 4);
    }
    fixture.advance(SECOND);
    let mut alone: Vec<Result<Answer, Refusal>> = Vec::new();
    for order in orders(&ALONE) {
        alone.push(fixture.apply(&order.id, order.command).await);
    }
    let together = fixture.ledger.apply(orders(&TOGETHER)).await.expect("apply");
    assert_eq!(together, alone);
    let refused = alone.iter().filter(|answer| answer.is_err()).count();
    assert_eq!((alone.len(), refused), (24, 5));
    same_in_both(&fixture).await;
}
