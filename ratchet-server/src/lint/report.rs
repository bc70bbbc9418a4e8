//! Says what was found, for people or for programs.

use std::io::{self, BufWriter, StdoutLock, Write};

use clap::ValueEnum;
use ratchet_key::{Category, Finding};
use serde::Serialize;

use super::lines::Line;
use crate::error::Error;
use crate::terminal::harmless;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    #[default]
    Text,
    Json,
}

/// Writes findings to standard output, and counts.
pub(super) struct Report {
    format: Format,
    source_name: String,
    out: BufWriter<StdoutLock<'static>>,
    checked: u64,
    with_findings: u64,
}

impl Report {
    pub(super) fn new(format: Format, source_name: String) -> Self {
        let out = BufWriter::new(io::stdout().lock());
        Self { format, source_name, out, checked: 0, with_findings: 0 }
    }

    /// Reports one line; blank ones are counted in neither way.
    pub(super) fn line(&mut self, line: &Line<'_>, findings: &[Finding]) -> Result<(), Error> {
        self.checked += u64::from(!line.text.trim().is_empty());
        self.with_findings += u64::from(!findings.is_empty());
        match self.format {
            Format::Text => findings.iter().try_for_each(|finding| self.text(line, finding))?,
            Format::Json => self.json(line, findings)?,
        }
        Ok(())
    }

    pub(super) fn is_clean(&self) -> bool {
        self.with_findings == 0
    }

    /// Hands on what is held back.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        Ok(self.out.flush()?)
    }

    /// Hands on what is left, and sums up for people.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        self.flush()?;
        if self.format == Format::Text {
            let Self { source_name, checked, with_findings, .. } = self;
            let summary = format!("{source_name}: {checked} checked, {with_findings} with findings");
            // The findings are out; that nobody reads the summary is no failure.
            let _ = writeln!(io::stderr(), "{}", harmless(&summary));
        }
        Ok(())
    }

    fn text(&mut self, line: &Line<'_>, finding: &Finding) -> io::Result<()> {
        let before = finding.span.and_then(|span| line.text.get(..span.start)).unwrap_or_default();
        let column = before.chars().count() + 1;
        let text = format!("{}:{}:{column}: {}", self.source_name, line.number, finding.render(line.text));
        writeln!(self.out, "{}\n", harmless(&text))
    }

    fn json(&mut self, line: &Line<'_>, findings: &[Finding]) -> io::Result<()> {
        let findings = findings.iter().map(JsonFinding::of).collect();
        let object = JsonLine { line: line.number, input: line.text, findings };
        serde_json::to_writer(&mut self.out, &object)?;
        self.out.write_all(b"\n")
    }
}

#[derive(Serialize)]
struct JsonLine<'a> {
    line: u64,
    input: &'a str,
    findings: Vec<JsonFinding<'a>>,
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    code: &'static str,
    placeholder: Option<&'a str>,
    word: Option<&'a str>,
    category: Option<&'static str>,
    message: &'a str,
    help: &'a str,
}

impl<'a> JsonFinding<'a> {
    fn of(finding: &'a Finding) -> Self {
        Self {
            code: finding.code.as_str(),
            placeholder: finding.placeholder.as_deref(),
            word: finding.word.as_deref(),
            category: finding.category.map(Category::as_str),
            message: &finding.message,
            help: &finding.help,
        }
    }
}
