//! `ratchet doctor`: looks whether a store needs attention, and changes nothing.

mod records;
mod restored;
mod store;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ratchet::Ratchet;
use serde::Serialize;

use super::{output, table};
use crate::error::Error;
use crate::terminal::harmless;

#[derive(Args)]
pub(crate) struct DoctorArguments {
    /// Where workers keep the high-water mark; beside a store in a file unless said otherwise.
    #[arg(long, env = "RATCHET_HIGH_WATER_FILE")]
    high_water_file: Option<PathBuf>,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// What one check found.
#[derive(Serialize)]
struct Finding {
    state: Verdict,
    check: String,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Ok,
    /// Nobody can tell from here.
    Unknown,
    Attention,
}

impl Verdict {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unknown => "unknown",
            Self::Attention => "attention",
        }
    }
}

impl Finding {
    fn ok(check: impl Into<String>, found: impl Into<String>) -> Self {
        Self { state: Verdict::Ok, check: check.into(), found: found.into(), why: None, remedy: None }
    }

    fn unknown(check: impl Into<String>, found: impl Into<String>, why: &str, remedy: &str) -> Self {
        Self { state: Verdict::Unknown, ..Self::attention(check, found, why, remedy) }
    }

    fn attention(
        check: impl Into<String>,
        found: impl Into<String>,
        why: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (why, remedy) = (Some(why.into()), Some(remedy.into()));
        Self { state: Verdict::Attention, check: check.into(), found: found.into(), why, remedy }
    }
}

/// The exit code is 1 if something needs attention.
pub(crate) async fn run(arguments: &DoctorArguments, ratchet: &Ratchet) -> Result<ExitCode, Error> {
    let store = store::check(ratchet).await?;
    let mut findings = store.findings;
    findings.push(restored::check(arguments.high_water_file.as_deref(), ratchet).await?);
    findings.extend(records::check(ratchet, store.now).await?);
    output::write(|out| {
        if arguments.json {
            return findings.iter().try_for_each(|finding| output::json_line(out, finding));
        }
        for_people(out, &findings)
    })?;
    let is_well = findings.iter().all(|finding| finding.state != Verdict::Attention);
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn for_people(out: &mut dyn Write, findings: &[Finding]) -> io::Result<()> {
    let row = |finding: &Finding| {
        vec![finding.state.as_str().to_owned(), finding.check.clone(), finding.found.clone()]
    };
    let rows: Vec<Vec<String>> = findings.iter().map(row).collect();
    table::write(out, &["STATE", "CHECK", "FOUND"], &rows)?;
    for finding in findings {
        if let (Some(why), Some(remedy)) = (&finding.why, &finding.remedy) {
            let text = format!("\n{}\n  why  {why}\n  do   {remedy}", finding.check);
            writeln!(out, "{}", harmless(&text))?;
        }
    }
    Ok(())
}
