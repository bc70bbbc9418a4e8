//! `cargo xtask`: set-up, tests and checks of this repository.

mod command;
mod fuzz;
mod lexicon;
mod readme;
mod steps;
mod tools;

use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, Subcommand};

use command::{Failed, run_quietly};
use steps::{STEPS, Step};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Set-up, tests and checks of this repository")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Provides what the tests need and runs every check.
    Test {
        /// Only the steps of these names.
        #[arg(long, value_name = "STEP")]
        only: Vec<String>,
    },
    /// Lists the steps of `test`.
    Steps,
    /// Makes the Python with the packages of the tests, in the folder of build products.
    Python,
    /// Installs the Restate server of the tests, in the folder of build products.
    Restate,
    /// Kills each node of a cluster of three Restate servers in turn under load, and counts the effects.
    RestateCluster {
        /// How many operations go through; each node is killed once for every 2,000 of them.
        #[arg(long, default_value_t = 2_000)]
        operations: u64,
    },
    /// Tries to break the promise for as long as one likes, and prints one table.
    Prove {
        /// For how many minutes, all suites together.
        #[arg(long, default_value_t = 5)]
        minutes: u64,
        /// Prints an array with one object for each suite instead.
        #[arg(long)]
        json: bool,
        /// Lives one simulated life again.
        #[arg(long)]
        seed: Option<u64>,
        /// Only these deeds and faults of that life, as in `d3,settle@charge:5.0.late`.
        #[arg(long, requires = "seed", value_name = "LIST")]
        only: Option<String>,
        /// The rule that is broken in that life.
        #[arg(long, requires = "seed", value_name = "NAME")]
        broken: Option<String>,
    },
    /// Makes inputs up for what must hold of any input; needs a nightly compiler and a C++ compiler.
    Fuzz {
        /// For how many minutes, all targets together.
        #[arg(long, default_value_t = 14)]
        minutes: u64,
        /// Only this target.
        #[arg(long)]
        target: Option<String>,
    },
    /// Kills the leaders of a cluster of `PostgreSQL` servers under load, ten of them and three twice: takes ten minutes.
    Failover,
    /// Measures the lexicons on labelled keys and names.
    Lexicon(lexicon::Files),
}

fn main() -> ExitCode {
    let ended = match Arguments::parse().task {
        Task::Test { only } => test(&only),
        Task::Steps => {
            for step in &STEPS {
                println!("{:<10}{}", step.name, step.what);
            }
            Ok(())
        }
        Task::Python => tools::need_python(),
        Task::Restate => tools::need_restate(),
        Task::RestateCluster { operations } => restate_cluster(operations),
        Task::Prove { minutes, json, seed, only, broken } => prove(minutes, json, seed, only, broken),
        Task::Fuzz { minutes, target } => fuzz::run(minutes, target.as_deref()),
        Task::Failover => failover(),
        Task::Lexicon(files) => lexicon::measure(&files),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn test(only: &[String]) -> Result<(), Failed> {
    if let Some(unknown) = only.iter().find(|name| !STEPS.iter().any(|step| step.name == name.as_str())) {
        return Err(Failed::UnknownStep(unknown.clone()));
    }
    let chosen: Vec<&Step> =
        STEPS.iter().filter(|step| only.is_empty() || only.iter().any(|name| name == step.name)).collect();
    for step in &chosen {
        println!("\n=== {}: {}", step.name, step.what);
        let started = Instant::now();
        (step.run)()?;
        println!("=== {}: done in {} s", step.name, started.elapsed().as_secs());
    }
    println!("\nall {} steps passed", chosen.len());
    Ok(())
}

/// Its output is the table alone, so that a program can read it.
fn prove(
    minutes: u64,
    json: bool,
    seed: Option<u64>,
    only: Option<String>,
    broken: Option<String>,
) -> Result<(), Failed> {
    tools::need_postgres()?;
    tools::need_faults()?;
    let json = if json { " --json" } else { "" };
    let seed = seed.map(|seed| format!(" --seed {seed}")).unwrap_or_default();
    let only = only.map(|only| format!(" --only {only}")).unwrap_or_default();
    let broken = broken.map(|broken| format!(" --broken {broken}")).unwrap_or_default();
    let program = "cargo run --quiet --release --locked --package ratchet-proof";
    run_quietly(&format!("{program} -- --minutes {minutes}{json}{seed}{only}{broken}"))
}

/// Its last line has the figures.
fn restate_cluster(operations: u64) -> Result<(), Failed> {
    tools::need_restate()?;
    command::run_with(
        "cargo test --release --locked --workspace --all-features --test restate -- --ignored --exact --nocapture \
         cluster::every_node_is_killed_in_turn_and_nothing_is_lost",
        &[("RATCHET_TEST_OPERATIONS", &operations.to_string())],
    )
}

/// One after the other: each of them times what it does.
fn failover() -> Result<(), Failed> {
    tools::need_postgres()?;
    tools::need_patroni()?;
    command::run(
        "cargo test --locked --workspace --all-features --test faults -- --ignored --nocapture --test-threads 1 patroni",
    )
}
