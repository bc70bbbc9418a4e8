//! The `ratchet` program: serves a store over HTTP, looks after its records, judges keys and fields of any language,
//! explains the findings, and generates clients.

mod error;
mod explain;
mod generate;
mod lint;
mod operate;
mod pages;
mod probe;
mod said;
mod serve;
mod terminal;
#[cfg(feature = "testing")]
pub mod testing;
mod wire;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use terminal::harmless;

/// Background operations that are safe to run more than once.
#[derive(Parser)]
#[command(name = "ratchet", version)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Judges idempotency keys or fields, of any language.
    #[command(subcommand)]
    Lint(lint::Task),
    /// Explains a finding, such as R002; without a code, lists them all.
    Explain {
        /// The code of the finding.
        code: Option<String>,
    },
    /// Writes typed producers and handlers in another language, made of a program's manifest.
    Generate(generate::GenerateArguments),
    /// Finds out, in a sandbox, what a destination does about repeated requests.
    Probe(Box<probe::ProbeArguments>),
    /// Serves a store to producers, workers and operators of any language.
    Serve(Box<serve::ServeArguments>),
    /// Makes, lists and revokes the keys that callers of `serve` show.
    #[command(subcommand)]
    Keys(serve::keys::Task),
    /// Prints the description of the protocol that `serve` speaks, as an `OpenAPI` document.
    Openapi,
    #[command(flatten)]
    Operate(operate::Task),
}

/// Does what the arguments of the process say, and gives the exit code.
#[must_use]
pub fn run() -> ExitCode {
    let ended = match Arguments::parse().task {
        Task::Lint(task) => lint::run(&task),
        Task::Explain { code } => explain::run(code.as_deref()),
        Task::Generate(arguments) => generate::run(&arguments),
        Task::Probe(arguments) => probe::run(&arguments),
        Task::Serve(arguments) => serve::run(&arguments),
        Task::Keys(task) => serve::keys::run(&task),
        Task::Openapi => serve::print_openapi(),
        Task::Operate(task) => operate::run(task),
    };
    ended.unwrap_or_else(|error| {
        // Without standard error there is nobody to tell; `eprintln!` would panic.
        let _ = writeln!(io::stderr(), "{}", harmless(&format!("error: {}", error.with_causes())));
        ExitCode::from(error.exit_code())
    })
}
