//! Limits that hold although many claim at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Fixture;
use super::build::{COLLECT, MAIL, V1, claim, done, offer, settle, start, submission};
use super::limit::{at_most, mail};
use super::race::{apply, together};
use crate::ledger::Claim;
use crate::model::{Record, RecordId};

/// Eight workers that claim, start and settle sixty records of two limited operations at the same time: never more than
/// the limit at once, and all are done at the end.
pub async fn concurrent_claimers_never_pass_the_limit(fixture: Fixture) {
    let batch =
        (0..30).flat_map(|n| [submission(&format!("invoice:{n}")), mail(&format!("mail:{n}"))]).collect();
    assert_eq!(fixture.ledger.submit(batch).await.expect("submit").len(), 60);
    let counts = Arc::new(Counts::default());
    together(&fixture, 8, |worker, ledger| {
        let counts = Arc::clone(&counts);
        async move {
            // In different orders, as registries have them.
            let mut offers = vec![at_most(3, offer(COLLECT, V1)), at_most(2, offer(MAIL, V1))];
            offers.rotate_left(worker % 2);
            while counts.done.load(Ordering::SeqCst) < 60 {
                let claim = Claim { offers: offers.clone(), ..claim(4) };
                let records = ledger.claim(claim).await.expect("claim");
                for Record { id, .. } in &records {
                    let running = counts.of(id).fetch_add(1, Ordering::SeqCst) + 1;
                    assert!(running <= if id.operation == MAIL { 2 } else { 3 }, "{running} at once");
                }
                tokio::task::yield_now().await;
                for record in records {
                    let token = record.token.get();
                    apply(&ledger, record.id.clone(), start(token)).await.expect("start");
                    counts.of(&record.id).fetch_sub(1, Ordering::SeqCst);
                    apply(&ledger, record.id, settle(token, done("1"))).await.expect("settle");
                    counts.done.fetch_add(1, Ordering::SeqCst);
                }
                tokio::task::yield_now().await;
            }
        }
    })
    .await;
    assert_eq!(counts.done.load(Ordering::SeqCst), 60);
}

#[derive(Default)]
struct Counts {
    done: AtomicUsize,
    collecting: AtomicUsize,
    mailing: AtomicUsize,
}

impl Counts {
    fn of(&self, id: &RecordId) -> &AtomicUsize {
        if id.operation == MAIL { &self.mailing } else { &self.collecting }
    }
}
