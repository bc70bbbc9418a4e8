//! Workers that have no place for a mark of their own.

use std::time::Duration;

use ratchet::ledger::MarkChange;
use ratchet::{Failure, Input, Ratchet, RecordState};
use serde::{Deserialize, Serialize};

use crate::support::{id_of, record, settled, start_with};

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Parcel {
    id: u64,
}

#[ratchet::operation(name = "deliver", version = "1", key = "parcel:<id>:deliver")]
async fn deliver(_input: Parcel) -> Result<(), Failure> {
    Ok(())
}

/// One worker has found out that a backup was restored, and it is on record for all.
#[tokio::test(start_paused = true)]
async fn a_worker_without_a_file_holds_back_as_those_do_that_have_one() {
    let ratchet = Ratchet::in_memory();
    ratchet.ledger().change_mark(MarkChange::Hold).await.unwrap();
    let id = id_of(deliver::enqueue(&ratchet, Parcel { id: 1 }).await.unwrap());
    let builder = ratchet.worker(ratchet::registry![deliver]).poll_interval(Duration::from_secs(1));
    let worker = start_with(builder);
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(record(&ratchet, &id).await.state, RecordState::Pending);
    ratchet.acknowledge_restore("ada", "looked").await.unwrap();
    assert_eq!(settled(&ratchet, &id).await.state, RecordState::Succeeded);
    worker.stop().await;
}
