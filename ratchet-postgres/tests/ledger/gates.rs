//! Gates of destinations that several programs share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ratchet_core::admission::{GateAnswer, GateCommand, GateOrder, Health, Permit};
use ratchet_core::{Destination, Ledger as _};
use ratchet_postgres::PostgresLedger;
use tokio::task::JoinSet;

use crate::support::{database, open};

const PAYMENTS: Destination = Destination::new("payments");

async fn say(ledger: &PostgresLedger, command: GateCommand) -> GateAnswer {
    let order = GateOrder { destination: PAYMENTS.at_most(3), command };
    ledger.admit(vec![order]).await.expect("admit").remove(0)
}

async fn enter(ledger: &PostgresLedger) -> Permit {
    loop {
        match say(ledger, GateCommand::Enter).await {
            GateAnswer::Admitted(permit) => return permit,
            _ => tokio::task::yield_now().await,
        }
    }
}

/// Two ledgers with four callers each, on a gate that nobody has made: never more than three are inside.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_programs_share_one_gate() {
    const SENDS: usize = 25;
    let database = database().await;
    let ledgers = [open(&database).await, open(&database).await];
    let inside = Arc::new(AtomicUsize::new(0));
    let mut callers = JoinSet::new();
    for number in 0..8 {
        let (ledger, inside) = (Arc::clone(&ledgers[number % 2]), Arc::clone(&inside));
        callers.spawn(async move {
            for _ in 0..SENDS {
                let permit = enter(&ledger).await;
                let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                assert!(now <= 3, "{now} at once");
                tokio::task::yield_now().await;
                inside.fetch_sub(1, Ordering::SeqCst);
                let leave = GateCommand::Leave { permit, health: Health::Answered, pause: None };
                assert_eq!(say(&ledger, leave).await, GateAnswer::Left { opened: false });
            }
        });
    }
    callers.join_all().await;
    let gates = ledgers[0].gates().await.expect("gates");
    assert_eq!((gates.len(), gates[0].gate.sends.len()), (1, 0));
    assert_eq!(say(&ledgers[0], GateCommand::Enter).await, GateAnswer::Admitted(Permit(201)));
}
