//! Many workers and producers at one `ratchet serve`, and a destination that counts.
//!
//! `cargo bench -p ratchet-server --bench load -- --store postgres --seconds 600`

mod run;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use run::{Kind, Plan};

#[derive(Parser)]
struct Arguments {
    /// Which store is served.
    #[arg(long, value_enum, default_value = "sqlite")]
    store: Kind,
    /// How many workers are connected, each with a connection of its own.
    #[arg(long, default_value_t = 500)]
    workers: usize,
    /// How many producers are connected, each with a connection of its own.
    #[arg(long, default_value_t = 200)]
    producers: usize,
    /// For how many seconds the producers enqueue.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// After how many milliseconds a producer enqueues the next order.
    #[arg(long, default_value_t = 1000)]
    pace: u64,
    /// After how many milliseconds a worker asks again when nothing was due.
    #[arg(long, default_value_t = 1000)]
    idle: u64,
    /// How many seconds the server lets a claim wait for a job.
    #[arg(long, default_value_t = 2)]
    claim_wait: u64,
    /// What `cargo bench` says to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let plan = Plan {
        store: arguments.store,
        workers: arguments.workers,
        producers: arguments.producers,
        span: Duration::from_secs(arguments.seconds),
        pace: Duration::from_millis(arguments.pace),
        idle: Duration::from_millis(arguments.idle),
        claim_wait: Duration::from_secs(arguments.claim_wait),
        sample: Duration::from_secs(arguments.seconds.div_ceil(10).max(1)),
        attempt: Duration::from_secs(10),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime starts");
    let report = runtime.block_on(run::run(&plan));
    println!("{report}");
    if report.wrong().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
