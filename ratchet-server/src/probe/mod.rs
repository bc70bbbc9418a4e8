//! `ratchet probe`: what a sandbox does about repeated requests, beside what it declares.

mod compare;
mod sandbox;

use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ratchet::http::reqwest::header::HeaderName;
use ratchet::http::reqwest::{Method, Url};

use crate::error::Error;
use crate::operate::consent::confirm;
use crate::operate::{output, table};
use compare::{Declared, Finding, Verdict};
use sandbox::Sandbox;

#[derive(Args)]
pub(crate) struct ProbeArguments {
    /// The endpoint, in a sandbox: what is sent has its effect.
    #[arg(long)]
    url: Url,
    /// The method.
    #[arg(long, default_value = "POST")]
    method: Method,
    /// The header that carries the key.
    #[arg(long, default_value = "Idempotency-Key")]
    header: HeaderName,
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
    #[command(flatten)]
    declared: Declared,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
}

/// Exits with 1 where something differs from what is declared.
pub(crate) fn run(arguments: &ProbeArguments) -> Result<ExitCode, Error> {
    let sandbox = Sandbox::new(arguments)?;
    let bodies = Bodies::read(arguments)?;
    let requests = 4 + u8::from(bodies.changed.is_some()) + u8::from(arguments.other_url.is_some());
    confirm(
        &format!("{requests} requests go to {}, and what they ask for happens.", sandbox.place()),
        arguments.yes,
    )?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let findings = runtime.block_on(probe(arguments, &sandbox, &bodies))?;
    output::write(|out| print(out, &findings, arguments.json))?;
    let differs = findings.iter().any(|finding| finding.verdict == Verdict::Differs);
    Ok(if differs { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

async fn probe(
    arguments: &ProbeArguments,
    sandbox: &Sandbox,
    bodies: &Bodies,
) -> Result<Vec<Finding>, Error> {
    let (url, declared) = (&arguments.url, &arguments.declared);
    let key = fresh_key();
    let first = sandbox.send(url, &key, &bodies.usual).await?;
    if !first.is_success() {
        return Err(Error::NotProbed { status: first.status });
    }
    let repeated = sandbox.send(url, &key, &bodies.usual).await?;
    let mut findings = declared.repeated(&first, &repeated);

    let at_once = fresh_key();
    let pair = tokio::try_join!(
        sandbox.send(url, &at_once, &bodies.usual),
        sandbox.send(url, &at_once, &bodies.usual)
    )?;
    findings.push(declared.at_once(&pair.0, &pair.1));

    findings.push(match &bodies.changed {
        Some(body) => declared.changed(&first, &sandbox.send(url, &key, body).await?),
        None => Finding::not_probed("changed input", "name another body with --changed-body"),
    });
    findings.push(match &arguments.other_url {
        Some(other) => Declared::elsewhere(&first, &sandbox.send(other, &key, &bodies.usual).await?),
        None => Finding::not_probed("other endpoint", "name one with --other-url"),
    });
    Ok(findings)
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

/// A key that no earlier probe used: the seeds of the standard library's hashes are random.
fn fresh_key() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("ratchet-probe-{:016x}{:016x}", random(), random())
}

fn print(out: &mut dyn io::Write, findings: &[Finding], json: bool) -> io::Result<()> {
    if json {
        return findings.iter().try_for_each(|finding| output::json_line(out, finding));
    }
    let rows: Vec<_> = findings.iter().map(Finding::row).collect();
    table::write(out, &["CHECK", "DECLARED", "VERDICT", "OBSERVED"], &rows)
}
