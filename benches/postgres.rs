//! The `PostgreSQL` ledger against bare SQL with the same durability, on a server of its own with fsync on.
//!
//! The bare side holds rows of the same shape in one table and knows neither versions nor contracts nor attempts nor a
//! decision. It gathers concurrent callers too: it is what the work costs at the least.
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

mod jobs;
mod ratio;

use std::time::{Duration, Instant};

use jobs::{Job, fill, job_of};
use ratchet::Ratchet;
use ratchet::postgres::sqlx::{self, Connection as _, PgConnection, Row as _};
use ratchet_test_postgres::{Database, shared};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};

const RECORDS: u32 = 10_000;
const BATCH: u32 = 1_000;

fn main() {
    let runtime = Runtime::new().expect("a runtime");
    ratio::header("PostgreSQL with fsync and synchronous_commit on, per record");
    ratio::compare(
        "enqueue, 1000 in a call",
        RECORDS,
        || runtime.block_on(enqueue_batches()),
        || runtime.block_on(bare_enqueue_batches()),
    );
    for callers in [1, 16, 64, 256] {
        let records = if callers == 1 { RECORDS / 10 } else { RECORDS };
        ratio::compare(
            &format!("enqueue, {callers} callers"),
            records,
            || runtime.block_on(enqueue_from(callers, records, false)),
            || runtime.block_on(bare_enqueue_from(callers, records)),
        );
    }
    ratio::compare(
        "enqueue, 16 callers, all duplicates, to all new",
        RECORDS,
        || runtime.block_on(enqueue_from(16, RECORDS, true)),
        || runtime.block_on(enqueue_from(16, RECORDS, false)),
    );
    for concurrency in [16, 128, 1_000] {
        ratio::compare(
            &format!("drain, {concurrency} at once"),
            RECORDS,
            || runtime.block_on(drain(concurrency)),
            || runtime.block_on(bare_drain(concurrency)),
        );
    }
}

async fn store() -> (Ratchet, Database<'static>) {
    let database = shared().database().await;
    (Ratchet::open(&database.url()).await.expect("a ledger"), database)
}

async fn enqueue_batches() -> Duration {
    let (ratchet, _database) = store().await;
    let started = Instant::now();
    fill(&ratchet, RECORDS, BATCH).await;
    started.elapsed()
}

async fn enqueue_from(callers: u32, records: u32, duplicates: bool) -> Duration {
    let (ratchet, _database) = store().await;
    if duplicates {
        fill(&ratchet, RECORDS, BATCH).await;
    }
    let started = Instant::now();
    jobs::enqueue_from(&ratchet, callers, records).await;
    started.elapsed()
}

async fn drain(concurrency: usize) -> Duration {
    let (ratchet, _database) = store().await;
    fill(&ratchet, RECORDS, BATCH).await;
    let started = Instant::now();
    jobs::drain(&ratchet, concurrency).await;
    started.elapsed()
}

async fn bare() -> (PgConnection, Database<'static>) {
    let database = shared().database().await;
    let mut connection = database.connect().await;
    let tables = "CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, operation text NOT NULL,
            key text NOT NULL, version text NOT NULL, fingerprint bytea NOT NULL, state text NOT NULL,
            ready_at bigint NOT NULL, token bigint NOT NULL, lease_until bigint, result text, policy text NOT NULL,
            contract text NOT NULL, input text NOT NULL);
        CREATE UNIQUE INDEX jobs_key ON jobs (operation, key);
        CREATE INDEX jobs_pending ON jobs (operation, version, ready_at) WHERE state = 'pending';
        SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
        SET enable_mergejoin = off";
    sqlx::raw_sql(tables).execute(&mut connection).await.expect("tables");
    (connection, database)
}

/// What the snapshot of a policy and a contract takes in our rows.
const SNAPSHOT: &str = r#"{"max_attempts":8,"first_wait":1000,"factor":2,"longest_wait":600000,"horizon":86400000,"retention":7776000000}"#;

async fn bare_insert(connection: &mut PgConnection, ids: &[u32]) -> usize {
    let rows = sqlx::query(
        "INSERT INTO jobs (operation, key, version, fingerprint, state, ready_at, token, policy, contract, input)
         SELECT 'job', k, '1', f, 'pending', 0, 0, $3, $3, i
         FROM unnest($1::text[], $2::bytea[], $4::text[]) AS n(k, f, i) ON CONFLICT DO NOTHING RETURNING key",
    )
    .bind(ids.iter().map(|id| format!("job:{id}:v1")).collect::<Vec<_>>())
    .bind(vec![[7_u8; 32].as_slice(); ids.len()])
    .bind(SNAPSHOT)
    .bind(ids.iter().map(|id| serde_json::to_string(&job_of(*id)).expect("JSON")).collect::<Vec<_>>())
    .fetch_all(connection)
    .await
    .expect("inserted");
    rows.len()
}

async fn bare_enqueue_batches() -> Duration {
    let (mut connection, _database) = bare().await;
    let started = Instant::now();
    bare_fill(&mut connection).await;
    started.elapsed()
}

async fn bare_fill(connection: &mut PgConnection) {
    for first in (0..RECORDS).step_by(BATCH as usize) {
        let ids: Vec<u32> = (first..first + BATCH).collect();
        assert_eq!(bare_insert(connection, &ids).await, ids.len());
    }
}

/// One writer that takes what waits, and answers after its commit.
async fn bare_enqueue_from(callers: u32, records: u32) -> Duration {
    let (mut connection, _database) = bare().await;
    let (sender, mut receiver) = mpsc::channel::<(u32, oneshot::Sender<()>)>(1_024);
    let writer = tokio::spawn(async move {
        let mut waiting = Vec::new();
        while receiver.recv_many(&mut waiting, 512).await > 0 {
            let ids: Vec<u32> = waiting.iter().map(|(id, _)| *id).collect();
            assert_eq!(bare_insert(&mut connection, &ids).await, ids.len());
            waiting.drain(..).for_each(|(_, reply)| reply.send(()).expect("a caller"));
        }
    });
    let started = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let sender = sender.clone();
            tokio::spawn(async move {
                for id in (caller..records).step_by(callers as usize) {
                    let (reply, answer) = oneshot::channel();
                    sender.send((id, reply)).await.expect("a writer");
                    answer.await.expect("an answer");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a caller");
    }
    let elapsed = started.elapsed();
    drop(sender);
    writer.await.expect("the writer's end");
    elapsed
}

/// Leases a part with one statement and settles it with another, on one connection.
async fn bare_drain(concurrency: usize) -> Duration {
    let (mut connection, _database) = bare().await;
    bare_fill(&mut connection).await;
    let started = Instant::now();
    loop {
        let claimed = sqlx::query(
            "UPDATE jobs SET state = 'running', token = token + 1, lease_until = 1 WHERE id = ANY(ARRAY(
                 SELECT id FROM jobs WHERE state = 'pending' AND operation = 'job' AND version = '1' AND ready_at <= 1
                 ORDER BY ready_at LIMIT $1 FOR UPDATE SKIP LOCKED))
             RETURNING id, token, input",
        )
        .bind(i64::try_from(concurrency).expect("a number"))
        .fetch_all(&mut connection)
        .await
        .expect("claimed");
        if claimed.is_empty() {
            break;
        }
        let results = claimed.iter().map(|row| {
            let input: Job = serde_json::from_str(row.get(2)).expect("JSON");
            serde_json::to_string(&input.amount_cents).expect("JSON")
        });
        let settled = sqlx::query(
            "UPDATE jobs SET state = 'succeeded', lease_until = NULL, result = s.result
             FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS s(id, token, result)
             WHERE jobs.id = s.id AND jobs.token = s.token AND jobs.state = 'running'",
        )
        .bind(claimed.iter().map(|row| row.get::<i64, _>(0)).collect::<Vec<_>>())
        .bind(claimed.iter().map(|row| row.get::<i64, _>(1)).collect::<Vec<_>>())
        .bind(results.collect::<Vec<_>>())
        .execute(&mut connection)
        .await
        .expect("settled");
        assert_eq!(settled.rows_affected(), claimed.len() as u64);
    }
    let elapsed = started.elapsed();
    connection.close().await.expect("closed");
    elapsed
}
