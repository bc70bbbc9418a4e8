//! Workers of other programs are woken by what commits in a transaction of the user's.

use ratchet::postgres::sqlx::PgPool;
use ratchet::{Enqueued, Ratchet};
use ratchet_test_postgres::shared;

use crate::support::{Working, order, ship, wait_for_result};

#[tokio::test]
async fn a_worker_of_another_program_is_woken_by_what_commits() {
    let database = shared().database().await;
    let producer = Ratchet::open(&database.url()).await.unwrap();
    let working = Working::start(&database.url()).await;
    let answer = ship::enqueue(&producer, order(1)).await.unwrap();
    assert!(matches!(answer, Enqueued::New { .. }), "{answer:?}");
    wait_for_result(&producer, 1).await;

    let pool = PgPool::connect(&database.url()).await.unwrap();
    for (id, commits) in [(2, false), (3, true)] {
        let mut transaction = pool.begin().await.unwrap();
        let told = ratchet::postgres::enqueue_in(&mut transaction, ship::request(order(id))).await.unwrap();
        assert!(matches!(told, Enqueued::New { .. }), "{told:?}");
        if commits { transaction.commit().await.unwrap() } else { transaction.rollback().await.unwrap() }
    }
    wait_for_result(&producer, 3).await;
    working.end().await;
    let rolled_back = ship::enqueue(&producer, order(2)).await.unwrap();
    assert!(matches!(rolled_back, Enqueued::New { .. }), "{rolled_back:?}");
}
