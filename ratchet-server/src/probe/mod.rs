//! `ratchet probe`: what a sandbox does about repeated requests, beside what it declares.

mod compare;
mod declared;
mod key;
mod sandbox;
mod span;
mod wait;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use ratchet::contract::{Retention, ScopePart};
use ratchet::http::reqwest::{Method, Url};
use tokio::time::Instant;

use crate::error::Error;
use crate::operate::consent::confirm;
use crate::operate::{output, table};
use compare::{Finding, Verdict};
use declared::{Declared, DeclaredArguments};
use key::{Key, Place};
use sandbox::{Answer, Sandbox};
use span::spelled;

#[derive(Args)]
pub(crate) struct ProbeArguments {
    #[command(flatten)]
    declared: DeclaredArguments,
    /// The endpoint, in a sandbox: what is sent has its effect.
    #[arg(long)]
    url: Url,
    /// The method.
    #[arg(long, default_value = "POST")]
    method: Method,
    /// The file with the body.
    #[arg(long, value_name = "FILE")]
    body: Option<PathBuf>,
    /// What the body is.
    #[arg(long, default_value = "application/json")]
    content_type: String,
    /// Another header, as `Name: value`; no credentials, which other users of the machine would see.
    #[arg(long, value_name = "NAME: VALUE")]
    header_extra: Vec<String>,
    /// A header whose value stands in an environment variable, such as `Authorization=SANDBOX_AUTHORIZATION`.
    #[arg(long, value_name = "NAME=VARIABLE")]
    header_env: Vec<String>,
    /// A file with another valid body, sent once under a key that was used.
    #[arg(long, value_name = "FILE")]
    changed_body: Option<PathBuf>,
    /// Another endpoint that takes the same body, sent once under a key that was used.
    #[arg(long, value_name = "URL")]
    other_url: Option<Url>,
    /// The credential of another account, as `--header-env` has it, sent once under a key that was used.
    #[arg(long, value_name = "NAME=VARIABLE")]
    other_header_env: Vec<String>,
    /// Waits for the end of what is remembered, and sends the first request again before and after it: at most so long,
    /// such as `10m`.
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    wait: Option<Duration>,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
}

/// Exits with 1 where something differs from what is declared.
pub(crate) fn run(arguments: &ProbeArguments) -> Result<ExitCode, Error> {
    let declared = arguments.declared.read()?;
    let probe = Probe {
        arguments,
        sandbox: Sandbox::new(arguments, Place::of(&declared))?,
        bodies: Bodies::read(arguments)?,
        declared,
    };
    confirm(
        &format!(
            "{} requests go to {}, and what they ask for happens.",
            probe.requests(),
            probe.sandbox.name()
        ),
        arguments.yes,
    )?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let findings = runtime.block_on(probe.run())?;
    output::write(|out| print(out, &findings, arguments.json))?;
    let differs = findings.iter().any(|finding| finding.verdict == Verdict::Differs);
    Ok(if differs { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

struct Probe<'a> {
    arguments: &'a ProbeArguments,
    sandbox: Sandbox,
    bodies: Bodies,
    declared: Declared,
}

/// The first request, which the others are compared with.
struct First {
    key: Key,
    sent: Instant,
    answer: Answer,
}

impl Probe<'_> {
    fn requests(&self) -> u8 {
        let optional = [
            self.bodies.changed.is_some(),
            self.arguments.other_url.is_some(),
            self.sandbox.knows_other(),
            self.window().is_ok(),
            self.window().is_ok(),
        ];
        4 + optional.into_iter().map(u8::from).sum::<u8>()
    }

    async fn run(&self) -> Result<Vec<Finding>, Error> {
        let (key, sent) = (Key::fresh(), Instant::now());
        let first = First { answer: self.usual(&key).await?, key, sent };
        if !first.answer.is_success() {
            return Err(Error::NotProbed { status: first.answer.status() });
        }
        let mut findings: Vec<Finding> =
            self.declared.repeated(&first.answer, &self.usual(&first.key).await?).into();
        let at_once = Key::fresh();
        let pair = tokio::try_join!(self.usual(&at_once), self.usual(&at_once))?;
        findings.push(self.declared.at_once(&pair.0, &pair.1));
        findings.push(self.changed(&first).await?);
        findings.push(self.other_endpoint(&first).await?);
        findings.push(self.other_credential(&first).await?);
        findings.extend(self.around_the_end(&first).await?);
        Ok(findings)
    }

    async fn usual(&self, key: &Key) -> Result<Answer, Error> {
        self.sandbox.send(&self.arguments.url, key, &self.bodies.usual).await
    }

    async fn changed(&self, first: &First) -> Result<Finding, Error> {
        let Some(body) = &self.bodies.changed else {
            return Ok(Finding::not_probed("changed input", "name another body with --changed-body"));
        };
        let changed = self.sandbox.send(&self.arguments.url, &first.key, body).await?;
        Ok(self.declared.changed(&first.answer, &changed))
    }

    async fn other_endpoint(&self, first: &First) -> Result<Finding, Error> {
        let check = "other endpoint";
        let Some(url) = &self.arguments.other_url else {
            return Ok(Finding::not_probed(check, "name one with --other-url"));
        };
        let there = self.sandbox.send(url, &first.key, &self.bodies.usual).await?;
        Ok(self.declared.elsewhere(check, &[ScopePart::Route], &first.answer, &there))
    }

    async fn other_credential(&self, first: &First) -> Result<Finding, Error> {
        let check = "other credential";
        if !self.sandbox.knows_other() {
            return Ok(Finding::not_probed(check, "name one with --other-header-env"));
        }
        let there = self.sandbox.send_as_other(&first.key, &self.bodies.usual).await?;
        let parts = [ScopePart::Account, ScopePart::Credential];
        Ok(self.declared.elsewhere(check, &parts, &first.answer, &there))
    }

    /// Sends the first request again shortly before the destination may forget it, and shortly after.
    async fn around_the_end(&self, first: &First) -> Result<Vec<Finding>, Error> {
        let (safe, over) = match self.window() {
            Ok(window) => window,
            Err(why) => return Ok(vec![Finding::not_probed("end of its window", why)]),
        };
        wait::until(first.sent, safe, "until the key should still be known").await;
        let late = self.usual(&first.key).await?;
        wait::until(first.sent, over, "until the key may be forgotten").await;
        let later = self.usual(&first.key).await?;
        Ok(vec![self.declared.in_window(&first.answer, &late), Declared::after_window(&first.answer, &later)])
    }

    /// When, after the first request, its key is known for the last time, and when not any more; or why not to wait for it.
    fn window(&self) -> Result<(Duration, Duration), String> {
        let span = match self.declared.contract.retention() {
            Retention::For(span) => span,
            Retention::Forever => return Err("it never ends".to_owned()),
            Retention::Unstated => return Err("say how long it is with --remembers-for".to_owned()),
        };
        let over = span.saturating_add(span / 10);
        let longest = self.arguments.wait.unwrap_or_default();
        match self.declared.window() {
            Some(safe) if over <= longest => Ok((safe, over)),
            _ => Err(format!("wait for it with --wait {}", spelled(span::rounded_up(over)))),
        }
    }
}

struct Bodies {
    usual: Vec<u8>,
    changed: Option<Vec<u8>>,
}

impl Bodies {
    fn read(arguments: &ProbeArguments) -> Result<Self, Error> {
        let usual = arguments.body.as_deref().map_or_else(|| Ok(Vec::new()), read)?;
        let changed = arguments.changed_body.as_deref().map(read).transpose()?;
        if changed.as_ref() == Some(&usual) {
            return Err(Error::BadProbe("the body of `--changed-body` is that of `--body`".to_owned()));
        }
        Ok(Self { usual, changed })
    }
}

fn read(file: &Path) -> Result<Vec<u8>, Error> {
    let unreadable = |reason| Error::Unreadable { source_name: file.display().to_string(), reason };
    fs::read(file).map_err(unreadable)
}

fn print(out: &mut dyn io::Write, findings: &[Finding], json: bool) -> io::Result<()> {
    if json {
        return findings.iter().try_for_each(|finding| output::json_line(out, finding));
    }
    let rows: Vec<_> = findings.iter().map(Finding::row).collect();
    table::write(out, &["CHECK", "DECLARED", "VERDICT", "OBSERVED"], &rows)
}
