//! What an operation costs to compile, beside what else one writes on functions.
//!
//! `cargo run --release --manifest-path benches/compile/Cargo.toml` prints tables for people.

mod measure;
mod prepare;
mod subject;
mod table;

use std::process::ExitCode;

use clap::Parser;

use measure::{Case, Cost, WORKS};
use prepare::Ground;
use subject::SUBJECTS;

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error("`{0}` failed")]
    Command(String),
    #[error("a generated crate does not compile:\n{0}")]
    Compiler(String),
    #[error("the build has no library `{0}`")]
    NotBuilt(String),
    #[error(transparent)]
    Files(#[from] std::io::Error),
}

#[derive(Parser)]
#[command(about = "What an operation costs to compile, beside what else one writes on functions")]
struct Arguments {
    /// How often each crate is compiled.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How many functions a crate has.
    #[arg(long, default_value_t = 200)]
    items: usize,
    /// Counts instructions with valgrind too, once for each crate.
    #[arg(long)]
    instructions: bool,
}

/// The same work with all functions and with none, so that what a crate costs anyway can be taken off.
struct Pair<T> {
    case: Case,
    full: T,
    empty: T,
}

fn main() -> ExitCode {
    match compare(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(arguments: &Arguments) -> Result<(), Failed> {
    let ground = Ground::prepare(arguments.items)?;
    println!("{}\n", table::heading(&ground, arguments.items, arguments.rounds)?);
    println!("{}", table::sizes(&ground, arguments.items)?);
    let costs = measured(&ground, arguments)?;
    for statistic in table::STATISTICS {
        println!("{}", table::costs(&costs, statistic));
    }
    if arguments.instructions {
        println!("{}", table::instructions(&counted(&ground, arguments)?));
    }
    Ok(())
}

/// All crates once in each round: what else the machine does hits them alike.
fn measured(ground: &Ground, arguments: &Arguments) -> Result<Vec<Pair<Vec<Cost>>>, Failed> {
    let mut pairs: Vec<Pair<Vec<Cost>>> = pairs(arguments.items);
    for pair in &pairs {
        for case in both(&pair.case) {
            case.clear(ground)?;
            // What the measured runs build on.
            case.run(ground, 0)?;
        }
    }
    for round in 1..=arguments.rounds {
        eprintln!("round {round} of {}", arguments.rounds);
        for pair in &mut pairs {
            let [full, empty] = both(&pair.case);
            pair.full.push(full.run(ground, round)?);
            pair.empty.push(empty.run(ground, round)?);
        }
    }
    Ok(pairs)
}

fn counted(ground: &Ground, arguments: &Arguments) -> Result<Vec<Pair<f64>>, Failed> {
    let mut pairs: Vec<Pair<f64>> = pairs(arguments.items);
    for pair in &mut pairs {
        eprintln!("instructions of {}, {}", pair.case.subject.title(), pair.case.work.title());
        let [full, empty] = both(&pair.case);
        pair.full = full.instructions(ground, arguments.rounds + 1)?;
        pair.empty = empty.instructions(ground, arguments.rounds + 1)?;
    }
    Ok(pairs)
}

fn pairs<T: Default>(items: usize) -> Vec<Pair<T>> {
    let cases = SUBJECTS.into_iter().flat_map(|subject| WORKS.map(|work| Case { subject, items, work }));
    cases.map(|case| Pair { case, full: T::default(), empty: T::default() }).collect()
}

fn both(case: &Case) -> [Case; 2] {
    [case.clone(), Case { items: 0, ..case.clone() }]
}
