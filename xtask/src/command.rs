//! Runs programs from the root of the repository, and says which one failed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why a check failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error("`{0}` failed")]
    Command(String),
    #[error("`{command}` cannot be started: {source}")]
    NotStarted { command: String, source: std::io::Error },
    #[error("there is no step `{0}`; `cargo xtask steps` lists them")]
    UnknownStep(String),
    #[error("{0}")]
    Wrong(String),
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// A program and its arguments, separated by spaces.
fn command(line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    // Messages of the compiler are compared with recorded ones, which come from the stable compiler.
    command.args(words).current_dir(root()).env_remove("RUSTC_BOOTSTRAP");
    command
}

/// Runs a command with its output shown.
pub(crate) fn run(line: &str) -> Result<(), Failed> {
    run_with(line, &[])
}

/// The same, with variables of the environment.
pub(crate) fn run_with(line: &str, environment: &[(&str, &str)]) -> Result<(), Failed> {
    println!("$ {line}");
    ended(line, command(line).envs(environment.iter().copied()).status())
}

/// Runs a command whose output is for programs, so that nothing is put before it.
pub(crate) fn run_quietly(line: &str) -> Result<(), Failed> {
    ended(line, command(line).status())
}

fn ended(line: &str, status: std::io::Result<std::process::ExitStatus>) -> Result<(), Failed> {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Failed::Command(line.to_owned())),
        Err(source) => Err(Failed::NotStarted { command: line.to_owned(), source }),
    }
}

/// Runs a command and gives what it printed, which is shown too.
pub(crate) fn output(line: &str) -> Result<String, Failed> {
    println!("$ {line}");
    let output = command(line).stderr(Stdio::inherit()).output();
    let output = output.map_err(|source| Failed::NotStarted { command: line.to_owned(), source })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{text}");
    if output.status.success() { Ok(text) } else { Err(Failed::Command(line.to_owned())) }
}

/// Runs a line of a shell; gives its exit code and what it printed, which is shown too.
pub(crate) fn shell(line: &str) -> Result<(Option<i32>, String), Failed> {
    println!("$ {line}");
    let output = Command::new("sh").args(["-c", line]).current_dir(root()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|source| Failed::NotStarted { command: line.to_owned(), source })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{text}");
    Ok((output.status.code(), text))
}

/// Whether a command works here.
pub(crate) fn works(line: &str) -> bool {
    let quiet = command(line).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}
