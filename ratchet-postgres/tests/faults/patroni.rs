//! Leaders of a cluster that die under load. `cargo xtask failover` runs these, and docs/high-availability.md has the figures.

use std::sync::Arc;
use std::time::Duration;

use ratchet_core::LedgerError;
use ratchet_postgres::PostgresLedger;
use ratchet_test_postgres::{Cluster, Replication};
use tokio::task::block_in_place;
use tokio::time::sleep;

use crate::load::Load;

/// More than a failover takes.
const PATIENCE: Duration = Duration::from_mins(3);

/// How many leaders die in a run.
const KILLS: usize = 10;

async fn two_ledgers(cluster: &Cluster) -> Arc<Load> {
    let mut ledgers = Vec::new();
    for _ in 0..2 {
        ledgers.push(PostgresLedger::open(cluster.url()).await.expect("a ledger"));
    }
    Load::patient(ledgers, PATIENCE)
}

/// Kills the leader when there are three servers; gives how long nothing was acknowledged.
async fn lose_the_leader(cluster: &Cluster, load: &Load, held_back: Duration) -> Duration {
    let leader = cluster.is_whole().await;
    if !held_back.is_zero() {
        cluster.hold_back(leader).await;
        sleep(held_back).await;
    }
    block_in_place(|| cluster.kill(leader));
    let gap = load.gap().await;
    block_in_place(|| cluster.resume(leader));
    println!("leader {leader} killed, gap {:.1} s, {} acknowledged", gap.as_secs_f64(), load.acknowledged());
    gap
}

/// Also what is settled, by whom, and that effects are operations: the load looks at everything when it ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes, and needs Patroni and etcd: `cargo xtask failover`"]
async fn ten_leaders_that_die_take_nothing_with_them_that_was_acknowledged() {
    let cluster = block_in_place(|| Cluster::start(Replication::Synchronous));
    cluster.is_whole().await;
    let load = two_ledgers(&cluster).await;
    let mut gaps = Vec::new();
    let errors = load
        .while_there_is(async {
            for _ in 0..KILLS {
                load.progresses().await;
                gaps.push(lose_the_leader(&cluster, &load, Duration::ZERO).await);
            }
            load.progresses().await;
        })
        .await;
    assert!(errors.iter().all(LedgerError::is_transient), "{errors:?}");
    gaps.sort();
    let (median, longest) = (gaps[KILLS / 2].as_secs_f64(), gaps[KILLS - 1].as_secs_f64());
    println!(
        "synchronous: {KILLS} leaders killed, {} operations acknowledged, 0 lost, as many effects as operations; \
         gap {median:.1} s, longest {longest:.1} s",
        load.acknowledged()
    );
}

/// What is lost is measured, and nothing is promised.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes, and needs Patroni and etcd: `cargo xtask failover`"]
async fn without_synchronous_replication_acknowledged_operations_are_lost() {
    for held_back in [Duration::ZERO, Duration::from_millis(500)] {
        let cluster = block_in_place(|| Cluster::start(Replication::Asynchronous));
        cluster.is_whole().await;
        let load = two_ledgers(&cluster).await;
        let (acknowledged, lost) = load
            .while_producing(async {
                for _ in 0..3 {
                    load.gap().await;
                    lose_the_leader(&cluster, &load, held_back).await;
                }
            })
            .await;
        println!(
            "asynchronous, standbys held back for {} ms: 3 leaders killed, {acknowledged} operations acknowledged, {lost} lost",
            held_back.as_millis()
        );
        assert!(lost > 0 || held_back.is_zero(), "the loss was not seen");
    }
}
