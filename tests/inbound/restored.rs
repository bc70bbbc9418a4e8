//! A backup was restored under the layer: what it knows may be less than what was executed.

use std::time::Duration;

use ratchet::Ratchet;
use ratchet::ledger::{HighWaterFile, HighWaterMark, MarkChange, SharedLedger};
use ratchet_core::MemoryLedger;

use super::service::{Answer, Service, plain, problem, within};

async fn service(ledger: &SharedLedger, file: Option<&std::path::Path>) -> Service {
    let (ledger, file) = (ledger.clone(), file.map(std::path::Path::to_owned));
    let adjust = |layer: ratchet::http::inbound::IdempotencyLayer| match file {
        Some(file) => layer.high_water_file(file),
        None => layer,
    };
    Service::start(async { ledger }, adjust, async |call| plain(201, format!("charge {}", call.number))).await
}

async fn executed_when_acknowledged(service: &Service) -> Answer {
    let ratchet = Ratchet::with_ledger(service.ledger.clone());
    ratchet.acknowledge_restore("ada", "compared with the provider").await.unwrap();
    within(async {
        loop {
            let answer = service.charge("new").await;
            if answer.status != 503 {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
}

#[tokio::test]
async fn nothing_new_is_executed_in_a_restored_store_and_what_is_known_is_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.mark");
    let ledger = MemoryLedger::new() as SharedLedger;
    let before = service(&ledger, Some(&path)).await;
    assert_eq!(before.charge("old").await.text(), "charge 1");
    // What was executed last is covered when the server has stopped.
    let raised = ledger.mark().await.unwrap().mark.raised;
    before.layer.finished().await;
    let mark = ledger.mark().await.unwrap().mark;
    assert!(mark.raised > raised, "{mark}");
    let file = HighWaterFile::new(&path);
    assert_eq!(file.load().unwrap(), Some(mark));

    // Somebody has seen more of this store than there is in it now.
    file.keep(HighWaterMark { raised: mark.raised + 1, ..mark }).unwrap();
    let restored = service(&ledger, Some(&path)).await;
    let refused = restored.charge("new").await;
    assert_eq!(refused.problem(), problem(503, "store-restored", "unknown"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    let known = restored.charge("old").await;
    assert_eq!((known.text(), known.is_replayed()), ("charge 1", true));
    assert!(ledger.mark().await.unwrap().held_since.is_some());
    assert_eq!(restored.executions(), 0);
    assert_eq!(executed_when_acknowledged(&restored).await.text(), "charge 1");
}

#[tokio::test]
async fn a_server_without_a_file_heeds_what_others_have_found() {
    let ledger = MemoryLedger::new() as SharedLedger;
    ledger.change_mark(MarkChange::Hold).await.unwrap();
    let service = service(&ledger, None).await;
    assert_eq!(service.charge("new").await.problem(), problem(503, "store-restored", "unknown"));
    assert_eq!(service.executions(), 0);
    assert_eq!(executed_when_acknowledged(&service).await.status, 201);
}

#[tokio::test]
async fn a_mark_that_cannot_be_kept_lets_nothing_through() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = MemoryLedger::new() as SharedLedger;
    let service = service(&ledger, Some(&folder.path().join("missing").join("store.mark"))).await;
    assert_eq!(service.charge("new").await.problem().0, 503);
    assert_eq!(service.executions(), 0);
}
