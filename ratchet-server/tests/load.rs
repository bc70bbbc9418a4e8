//! The load of `benches/load`, for a few seconds.

#[path = "../benches/load/run/mod.rs"]
mod run;

use std::time::Duration;

use run::{Kind, Plan};

async fn nothing_is_lost_or_doubled(store: Kind) {
    let plan = Plan {
        store,
        workers: 50,
        producers: 20,
        span: Duration::from_secs(4),
        pace: Duration::from_millis(50),
        idle: Duration::from_millis(200),
        claim_wait: Duration::from_secs(2),
        sample: Duration::from_secs(1),
        attempt: Duration::from_secs(1),
    };
    let report = run::run(&plan).await;
    assert_eq!(report.wrong(), Vec::<String>::new(), "{report}");
    // The run has something to recognise.
    assert!(report.dropped > 0 && report.count.repeated >= report.dropped, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_file_loses_and_doubles_nothing_under_load() {
    nothing_is_lost_or_doubled(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_database_loses_and_doubles_nothing_under_load() {
    nothing_is_lost_or_doubled(Kind::Postgres).await;
}
