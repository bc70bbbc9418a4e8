//! How many claims and reports a `ratchet serve` answers in a second, beside a bare axum handler that does the same durable
//! work: both lease with a token, and complete what that token has leased.
//!
//! `cargo bench -p ratchet-server --bench wire -- --store postgres`

mod bare;
#[path = "../load/run/connection.rs"]
mod connection;
mod measure;
#[path = "../load/run/server.rs"]
mod server;
mod subject;

use clap::Parser;
use measure::{Measured, Plan};
use server::Kind;
use subject::Subject;

#[derive(Parser)]
struct Arguments {
    /// Which stores are compared; both unless one is named.
    #[arg(long, value_enum)]
    store: Vec<Kind>,
    /// How many workers ask at once, each with a connection of its own.
    #[arg(long, default_value_t = 16)]
    workers: usize,
    /// How many jobs each subject has in a round.
    #[arg(long, default_value_t = 4_000)]
    jobs: usize,
    /// How often each subject is measured; they take turns, and the median counts.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Serves the bare handler on this store, for the program itself.
    #[arg(long, hide = true)]
    bare: Option<String>,
    /// What `cargo bench` says to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(async {
        match &arguments.bare {
            Some(store) => bare::serve(store).await,
            None => compare(&arguments).await,
        }
    });
}

async fn compare(arguments: &Arguments) {
    let plan = Plan { workers: arguments.workers, jobs: arguments.jobs };
    let both = [Kind::Postgres, Kind::Sqlite];
    let kinds = if arguments.store.is_empty() { both.as_slice() } else { arguments.store.as_slice() };
    println!("{} workers, {} jobs in a round, median of {}", plan.workers, plan.jobs, arguments.rounds);
    println!(
        "| store | call | bare, per second | ratchet, per second | ratio | CPU of the server, bare, µs | ratchet | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for kind in kinds {
        let (mut bare, mut ratchet) = (Vec::new(), Vec::new());
        for _ in 0..arguments.rounds {
            bare.push(measure::round(&mut Subject::bare(*kind).await, &plan).await);
            ratchet.push(measure::round(&mut Subject::ratchet(*kind).await, &plan).await);
        }
        tell(*kind, "claim", &bare, &ratchet, |round| &round.claims);
        tell(*kind, "report", &bare, &ratchet, |round| &round.reports);
        let memory = [&bare, &ratchet].map(|rounds| rounds.iter().map(|round| round.memory_mib).max());
        println!(
            "memory in MiB at the most: bare {}, ratchet {}",
            memory[0].unwrap_or(0),
            memory[1].unwrap_or(0)
        );
    }
}

fn tell(
    kind: Kind,
    call: &str,
    bare: &[measure::Round],
    ratchet: &[measure::Round],
    of: fn(&measure::Round) -> &Measured,
) {
    let median = |rounds: &[measure::Round], value: fn(&Measured) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(|round| value(of(round))).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    let [bare_rate, rate] = [bare, ratchet].map(|rounds| median(rounds, Measured::per_second));
    let [bare_cpu, cpu] = [bare, ratchet].map(|rounds| median(rounds, Measured::processor_micros));
    println!(
        "| {kind:?} | {call} | {bare_rate:.0} | {rate:.0} | {:.2} | {bare_cpu:.0} | {cpu:.0} | {:.2} |",
        rate / bare_rate,
        bare_cpu / cpu
    );
}
