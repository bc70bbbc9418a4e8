//! Runs the suites and prints one table.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use ratchet_proof::{Child, Effort, Mutation, Script, Steady, Suite, live, run_all, shrink, suites, table};

/// Tries to break the promise for as long as one likes.
#[derive(Debug, Parser)]
struct Arguments {
    /// For how many minutes, all suites together; without it, as much as a test of every change does.
    #[arg(long)]
    minutes: Option<u64>,
    /// Prints an array with one object for each suite.
    #[arg(long)]
    json: bool,
    /// Only the suites of these names.
    #[arg(long, value_name = "NAME")]
    suite: Vec<String>,
    /// Lives one simulated life again, and says what was wrong with it.
    #[arg(long)]
    seed: Option<u64>,
    /// Only these deeds and faults of that life, as in `d3,settle@charge:5.0.late`.
    #[arg(long, requires = "seed", value_name = "LIST")]
    only: Option<Script>,
    /// The rule that is broken in that life.
    #[arg(long, requires = "seed", value_name = "NAME", value_parser = rule)]
    broken: Option<Mutation>,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// A process that the crash suite starts and kills.
    #[command(hide = true)]
    Child(Child),
    /// A process of the soak that is never killed.
    #[command(hide = true)]
    Steady(Steady),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match &arguments.part {
        Some(Part::Child(child)) => return child.live(),
        Some(Part::Steady(steady)) => return steady.live(),
        None => {}
    }
    if let Some(seed) = arguments.seed {
        return replay_one(seed, arguments.only.clone(), arguments.broken);
    }
    let wanted = |suite: &dyn Suite| {
        let is_asked_for = arguments.suite.iter().any(|name| name == suite.name());
        is_asked_for || arguments.suite.is_empty() && suite.is_usual()
    };
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => {
            eprintln!("error: this program does not find itself: {error}");
            return ExitCode::FAILURE;
        }
    };
    let chosen: Vec<_> = suites(&program).into_iter().filter(|suite| wanted(&**suite)).collect();
    if chosen.is_empty() {
        eprintln!("error: there is no such suite: {}", arguments.suite.join(", "));
        return ExitCode::FAILURE;
    }
    let effort = arguments.minutes.map_or(Effort::Short, |minutes| Effort::For(Duration::from_mins(minutes)));
    let reports = run_all(&chosen, effort);
    let text = if arguments.json {
        serde_json::to_string_pretty(&reports).unwrap_or_default()
    } else {
        table::of(&reports)
    };
    println!("{text}");
    if reports.iter().all(ratchet_proof::Report::holds) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn rule(name: &str) -> Result<Mutation, &'static str> {
    Mutation::named(name).ok_or("there is no planted bug of that name")
}

/// Without a script of its own a life that is wrong is shrunk.
fn replay_one(seed: u64, only: Option<Script>, broken: Option<Mutation>) -> ExitCode {
    let script = only.or_else(|| shrink(seed, broken)).unwrap_or_default();
    let lived = live(seed, &script, broken);
    let findings = &lived.verdicts.findings;
    println!("seed {seed}, trace {:016x}: {} wrong", lived.trace, findings.len());
    if findings.is_empty() {
        return ExitCode::SUCCESS;
    }
    for incident in &lived.incidents {
        println!("  {} {}", incident.name, incident.what.as_deref().unwrap_or_default());
    }
    for finding in findings {
        println!("  wrong: {finding}");
    }
    println!("again: {}", script.command(seed, broken));
    ExitCode::FAILURE
}
