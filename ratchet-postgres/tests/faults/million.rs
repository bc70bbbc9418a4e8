//! Very many records through one queue: the rate, and what each record costs the server, stay the same.
//!
//! `RATCHET_RECORDS=1000000 cargo test --release --all-features --test faults million -- --ignored --nocapture`

use std::time::Instant;

use ratchet_core::Ledger as _;
use ratchet_core::decide::Command;
use ratchet_core::ledger::Order;
use ratchet_core::{Outcome, Record};
use ratchet_postgres::PostgresLedger;
use ratchet_postgres::sqlx::{self, PgConnection, Row as _};

use crate::support::{claim, database, execute, open, payload, submission};

const SLICES: usize = 10;
const BATCH: usize = 500;

/// How many records always wait, so that claims have dead rows before them and due ones behind.
const BACKLOG: usize = 5_000;

/// What the statistics of the server say about the table that changes.
struct Pages {
    touched: i64,
    dead_rows: i64,
    megabytes: i64,
}

async fn pages(connection: &mut PgConnection) -> Pages {
    const PAGES: &str = "SELECT (heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::bigint AS touched, \
            n_dead_tup, pg_total_relation_size(relid) / 1048576 AS megabytes \
        FROM pg_statio_user_tables JOIN pg_stat_user_tables USING (relid) \
        WHERE relid = 'ratchet.progress'::regclass";
    let row = sqlx::query(PAGES).fetch_one(connection).await.expect("statistics");
    Pages { touched: row.get(0), dead_rows: row.get(1), megabytes: row.get(2) }
}

async fn submit(ledger: &PostgresLedger, from: usize) {
    let batch = (from..from + BATCH).map(|number| submission(&number.to_string())).collect();
    assert_eq!(ledger.submit(batch).await.expect("submitted").len(), BATCH);
}

async fn work(ledger: &PostgresLedger) {
    let leased = claim(ledger, BATCH).await;
    assert_eq!(leased.len(), BATCH);
    let settle = |record: Record| Order {
        command: Command::Settle { token: record.token, outcome: Outcome::done(payload("paid")) },
        id: record.id,
    };
    let answers = ledger.apply(leased.into_iter().map(settle).collect()).await.expect("settled");
    assert!(answers.iter().all(Result::is_ok));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: run it by name"]
async fn a_million_records_go_through_at_a_flat_rate() {
    let records: usize =
        std::env::var("RATCHET_RECORDS").map_or(1_000_000, |text| text.parse().expect("a number"));
    let database = database().await;
    let (producer, worker) = (open(&database).await, open(&database).await);
    let mut statistics = database.connect().await;
    for from in (0..BACKLOG).step_by(BATCH) {
        submit(&producer, from).await;
    }
    println!("{:>9} {:>9} {:>14} {:>10} {:>6}", "records", "per s", "pages/record", "dead rows", "MB");
    let slice = records / SLICES / BATCH * BATCH;
    let mut per_record = Vec::new();
    for number in 0..SLICES {
        let (before, started) = (pages(&mut statistics).await.touched, Instant::now());
        for from in (number * slice..(number + 1) * slice).step_by(BATCH) {
            tokio::join!(submit(&producer, BACKLOG + from), work(&worker));
        }
        let seconds = started.elapsed().as_secs_f64();
        // What a connection did is counted some time later, at the latest when it ends.
        execute(&mut statistics, "SELECT pg_sleep(1.5), pg_stat_clear_snapshot()").await;
        let now = pages(&mut statistics).await;
        #[allow(clippy::cast_precision_loss, reason = "shown to people")]
        let (rate, pages) = (slice as f64 / seconds, (now.touched - before) as f64 / slice as f64);
        println!(
            "{:>9} {rate:>9.0} {pages:>14.1} {:>10} {:>6}",
            (number + 1) * slice,
            now.dead_rows,
            now.megabytes
        );
        per_record.push(pages);
    }
    // Pages and not seconds: they are the same on a busy machine.
    let (first, last) = (per_record[1], per_record[SLICES - 1]);
    assert!(last < first * 1.5, "a record costs {last:.1} pages, {first:.1} at first");
}
