//! `ratchet explain`: the sections of docs/findings.md.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::error::Error;

const FINDINGS: &str = include_str!("../../docs/findings.md");

/// Prints the section of one code, or the list of all.
pub(crate) fn run(code: Option<&str>) -> Result<ExitCode, Error> {
    let text = match code {
        None => sections().map(|section| section.heading).collect::<Vec<_>>().join("\n") + "\n",
        Some(code) => explain(code)?,
    };
    match io::stdout().write_all(text.as_bytes()).map_err(Error::from) {
        Err(error) if !error.is_broken_pipe() => Err(error),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn explain(code: &str) -> Result<String, Error> {
    let wanted = code.trim();
    let found = sections().find(|section| section.code().eq_ignore_ascii_case(wanted));
    let section = found.ok_or_else(|| Error::UnknownCode {
        code: wanted.escape_debug().to_string(),
        known: sections().map(|section| section.code()).collect::<Vec<_>>().join(", "),
    })?;
    Ok(format!("{}\n\n{}\n", section.heading, section.body.trim()))
}

/// The part of the page about one finding.
struct Section {
    /// Such as `R001: attempt counter in the key`.
    heading: &'static str,
    body: &'static str,
}

impl Section {
    fn code(&self) -> &'static str {
        self.heading.split(':').next().unwrap_or_default()
    }
}

fn sections() -> impl Iterator<Item = Section> {
    FINDINGS
        .split("\n## ")
        .skip(1)
        .filter_map(|section| section.split_once('\n'))
        .map(|(heading, body)| Section { heading, body })
}
