//! `ratchet lint`: judges one template or field per line.

mod fields;
mod keys;
mod lines;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use ratchet_key::Finding;

use crate::error::Error;
use lines::Lines;
use report::{Format, Report};

pub(crate) use lines::MAX_LINE_BYTES;

const EXIT_CODES: &str = "Exit code: 0 nothing found, 1 findings, 2 the input could not be read or judged.";

/// What is judged.
#[derive(Subcommand)]
pub(crate) enum Task {
    /// Judges key templates, one per line: `invoice-<invoice.id>-<Date.now()>`.
    ///
    /// What varies stands in angle brackets and may be any expression. Every line is a template: `#` begins no comment.
    #[command(after_help = EXIT_CODES)]
    Keys(Arguments),
    /// Judges fields and columns, one per line: `customer.email`, and after a tab the type, if it is known.
    ///
    /// The last dot separates the field from the struct or table; a line without a dot is a field alone.
    #[command(after_help = EXIT_CODES)]
    Fields(Arguments),
}

#[derive(Args)]
pub(crate) struct Arguments {
    /// The file to read; `-` or nothing reads standard input.
    file: Option<PathBuf>,
    /// `text` prints what was found; `json` prints one object for each line of the input.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Judges every line of the input, and says by the exit code whether something was found.
pub(crate) fn run(task: &Task) -> Result<ExitCode, Error> {
    let (arguments, judge): (_, fn(&str) -> Vec<Finding>) = match task {
        Task::Keys(arguments) => (arguments, keys::judge),
        Task::Fields(arguments) => (arguments, fields::judge),
    };
    let mut lines = Lines::open(arguments.file.as_deref())?;
    let mut report = Report::new(arguments.format, lines.source_name());
    let judged = judge_all(&mut lines, judge, &mut report);
    // What was found before an error is worth showing.
    match judged.and(report.finish()) {
        Err(error) if !error.is_broken_pipe() => Err(error),
        _ => Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
    }
}

fn judge_all(lines: &mut Lines, judge: fn(&str) -> Vec<Finding>, report: &mut Report) -> Result<(), Error> {
    loop {
        // Another program may wait for the answer to one line before it writes the next.
        if lines.may_wait() {
            report.flush()?;
        }
        let Some(line) = lines.next()? else { return Ok(()) };
        let findings = if line.text.trim().is_empty() { Vec::new() } else { judge(line.text) };
        report.line(&line, &findings)?;
    }
}
