//! `once` on `PostgreSQL` against the four statements that such a transaction needs at the least, on a server of its own:
//! BEGIN, a row that keeps duplicates out, the effect, COMMIT; and against the five that also keep the effect's result.
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

mod ratio;

use std::time::{Duration, Instant};

use ratchet::postgres::sqlx::{self, AssertSqlSafe, PgPool, postgres::PgPoolOptions};
use ratchet::postgres::{migrate, migrate_effects, once};
use ratchet::{Context, Contract, Failure};
use ratchet_test_postgres::{Database, shared};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

const EFFECTS: u32 = 1_000;

#[ratchet::operation(name = "book", version = "1", key = "show:<show>:seat:<seat>:book:v1", destination = Contract::DATABASE)]
async fn book(show: u32, seat: u32) -> Result<u32, Failure> {
    Ok(show + seat)
}

fn main() {
    let runtime = Runtime::new().expect("a runtime");
    for synchronous in ["on", "off"] {
        ratio::header(&format!("PostgreSQL with synchronous_commit = {synchronous}, per effect"));
        for callers in [1, 16] {
            let shop = |with_ledger| Shop::open(synchronous, callers, with_ledger);
            let four = || runtime.block_on(async { shop(false).await.round(Way::Bare).await });
            let five = || runtime.block_on(async { shop(false).await.round(Way::BareWithResult).await });
            let ours =
                |with_ledger| runtime.block_on(async { shop(with_ledger).await.round(Way::Once).await });
            let again = || {
                runtime.block_on(async {
                    let shop = shop(false).await;
                    shop.round(Way::Once).await;
                    shop.round(Way::Once).await
                })
            };
            ratio::compare(
                &format!("once, {callers} callers, to four statements"),
                EFFECTS,
                || ours(false),
                four,
            );
            ratio::compare(&format!("once, {callers} callers, to five"), EFFECTS, || ours(false), five);
            ratio::compare(
                &format!("once beside its ledger, {callers} callers, to five"),
                EFFECTS,
                || ours(true),
                five,
            );
            ratio::compare(
                &format!("once for a duplicate, {callers} callers, to five"),
                EFFECTS,
                again,
                five,
            );
        }
    }
}

#[derive(Clone, Copy)]
enum Way {
    Once,
    Bare,
    BareWithResult,
}

struct Shop {
    pool: PgPool,
    callers: u32,
    _database: Database<'static>,
}

impl Shop {
    async fn open(synchronous: &str, callers: u32, with_ledger: bool) -> Self {
        let database = shared().database().await;
        let setting = format!("SET synchronous_commit = {synchronous}");
        let pool = PgPoolOptions::new()
            .min_connections(callers)
            .max_connections(callers)
            .after_connect(move |connection, _| {
                let setting = AssertSqlSafe(setting.clone());
                Box::pin(async move { sqlx::raw_sql(setting).execute(connection).await.map(drop) })
            })
            .connect(&database.url())
            .await
            .expect("a pool");
        let tables = "CREATE TABLE bookings (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, seat bigint NOT NULL);
             CREATE TABLE guards (key text PRIMARY KEY, result text)";
        sqlx::raw_sql(tables).execute(&pool).await.expect("tables");
        let mut connection = pool.acquire().await.expect("a connection");
        if with_ledger {
            migrate(&mut connection).await.expect("tables");
        } else {
            migrate_effects(&mut connection).await.expect("a table");
        }
        drop(connection);
        Self { pool, callers, _database: database }
    }

    /// How long the callers take for all effects together.
    async fn round(&self, way: Way) -> Duration {
        let mut callers = JoinSet::new();
        let mut lots: Vec<Vec<(u32, Context)>> = Vec::new();
        for caller in 0..self.callers {
            let seats = (caller..EFFECTS).step_by(self.callers as usize);
            lots.push(seats.map(|seat| (seat, book::test_context(&7, &seat))).collect());
        }
        let started = Instant::now();
        for lot in lots {
            let pool = self.pool.clone();
            callers.spawn(async move {
                for (seat, ctx) in &lot {
                    match way {
                        Way::Once => guarded(&pool, *seat, ctx).await,
                        Way::Bare => bare(&pool, *seat, false).await,
                        Way::BareWithResult => bare(&pool, *seat, true).await,
                    }
                }
            });
        }
        callers.join_all().await;
        started.elapsed()
    }
}

const EFFECT: &str = "INSERT INTO bookings (seat) VALUES ($1) RETURNING id";

async fn guarded(pool: &PgPool, seat: u32, ctx: &Context) {
    let booked = once(pool, ctx, "book", async |tx| {
        Ok(sqlx::query_scalar::<_, i64>(EFFECT).bind(i64::from(seat)).fetch_one(tx).await?)
    });
    booked.await.expect("booked");
}

async fn bare(pool: &PgPool, seat: u32, keeps_result: bool) {
    let key = format!("default/book/show:7:seat:{seat}:book:v1");
    let mut transaction = pool.begin().await.expect("begun");
    let guard = sqlx::query("INSERT INTO guards (key) VALUES ($1) ON CONFLICT DO NOTHING").bind(&key);
    assert_eq!(guard.execute(&mut *transaction).await.expect("guarded").rows_affected(), 1);
    let booked: i64 =
        sqlx::query_scalar(EFFECT).bind(i64::from(seat)).fetch_one(&mut *transaction).await.expect("booked");
    if keeps_result {
        let keep =
            sqlx::query("UPDATE guards SET result = $2 WHERE key = $1").bind(&key).bind(booked.to_string());
        keep.execute(&mut *transaction).await.expect("kept");
    }
    transaction.commit().await.expect("committed");
}
