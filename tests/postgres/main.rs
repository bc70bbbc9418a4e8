//! Operations with a ledger in `PostgreSQL`, as users write them: in Rust, and beside it in other languages.
#![cfg(feature = "postgres")]
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

mod forms;
#[path = "../limits/mod.rs"]
mod limits;
mod psql;
mod python;
mod support;
mod wake;

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_holds_over_two_programs_on_one_database() {
    let database = ratchet_test_postgres::shared().database().await;
    let one = ratchet::Ratchet::open(&database.url()).await.unwrap();
    let other = ratchet::Ratchet::open(&database.url()).await.unwrap();
    limits::hold_over_two_programs(one, other).await;
}
