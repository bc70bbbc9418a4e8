//! The high-water mark, and what is declared.

use std::time::Duration;

use super::Fixture;
use super::build::{COLLECT, MAIL, V1, V2};
use crate::contract::Contract;
use crate::ledger::{Declaration, Declared, HighWaterMark, MarkChange, Served};
use crate::model::{Priority, Queue, VolatileFields};
use crate::policy::Policy;

fn acknowledged() -> MarkChange {
    // Words that some databases cannot hold as they are.
    MarkChange::Acknowledge { by: "ada\0".to_owned(), reason: "looked \\ there".to_owned() }
}

/// A mark starts somewhere, is raised one by one, and stays.
pub async fn a_mark_is_raised_and_stays(fixture: Fixture) {
    let ledger = &fixture.ledger;
    let first = ledger.mark().await.expect("mark");
    assert_eq!((first.mark.raised, first.held_since), (0, None));
    for raised in 1..=3 {
        let changed = ledger.change_mark(MarkChange::Raise).await.expect("raise");
        assert_eq!(changed.mark, HighWaterMark { raised, ..first.mark });
        assert_eq!(ledger.mark().await.expect("mark"), changed);
    }
}

/// A store whose workers hold back is raised no more, until an acknowledgement begins a new epoch.
pub async fn an_acknowledgement_ends_the_holding_back(fixture: Fixture) {
    let ledger = &fixture.ledger;
    let before = ledger.change_mark(MarkChange::Raise).await.expect("raise").mark;
    let held = ledger.change_mark(MarkChange::Hold).await.expect("hold");
    assert_eq!((held.mark, held.held_since), (before, Some(super::STARTED_AT)));
    fixture.advance(Duration::from_mins(1));
    assert_eq!(ledger.change_mark(MarkChange::Hold).await.expect("hold"), held);
    assert_eq!(ledger.change_mark(MarkChange::Raise).await.expect("raise"), held);
    for _ in 0..2 {
        let earlier = ledger.mark().await.expect("mark").mark;
        let after = ledger.change_mark(acknowledged()).await.expect("acknowledge");
        assert_eq!((after.mark.raised, after.held_since), (0, None));
        assert!(after.mark > earlier);
        assert_eq!(ledger.mark().await.expect("mark"), after);
    }
}

/// The last declaration of each operation and version is told.
pub async fn what_is_declared_is_told(fixture: Fixture) {
    let ledger = &fixture.ledger;
    assert_eq!(ledger.declarations().await.expect("declarations"), []);
    let remembers = Contract::header("Idempotency-Key").remembers_for(Duration::from_hours(24)).terms();
    let first = Declaration::new(MAIL, V1, "mail:<id>");
    let second = Declaration { contract: remembers.clone(), ..Declaration::new(COLLECT, V2, "invoice:<id>") };
    ledger.declare(vec![first.clone(), second.clone()]).await.expect("declare");
    let policy = Policy { timeout: Duration::from_secs(5), ..Policy::DEFAULT };
    let (priority, queue) = (Priority(7), Queue::from_static("bulk"));
    let volatile: VolatileFields =
        serde_json::from_str(r#"[{"without":["at"],"within":{}}]"#).expect("what a macro writes");
    let concurrency = std::num::NonZeroU32::new(4);
    let last = Declaration {
        policy: policy.clone(),
        priority,
        queue: queue.clone(),
        volatile: volatile.clone(),
        concurrency,
        ..first
    };
    ledger.declare(vec![last, second]).await.expect("declare");
    let declared = |operation, version, policy, contract| Declared {
        of: Served { operation, version },
        policy,
        contract,
        priority: Priority::default(),
        queue: Queue::DEFAULT,
        volatile: VolatileFields::default(),
        concurrency: None,
    };
    let expected = [
        declared(COLLECT, V2, Policy::DEFAULT, remembers),
        Declared {
            priority,
            queue,
            concurrency,
            volatile,
            ..declared(MAIL, V1, policy, Contract::NONE.terms())
        },
    ];
    assert_eq!(ledger.declarations().await.expect("declarations"), expected);
    assert_eq!(ledger.inspect().await.expect("inspect").now, super::STARTED_AT);
}
