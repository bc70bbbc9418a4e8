//! Runs what the README tells a newcomer to run.

use std::fs;

use serde_json::Value;

use crate::command::{Failed, output, root, shell};

/// Every command in the README's `sh` blocks but the one that runs this program.
pub(crate) fn run_commands() -> Result<(), Failed> {
    let text = fs::read_to_string(root().join("README.md"))
        .map_err(|error| Failed::Wrong(format!("README.md cannot be read: {error}")))?;
    let commands: Vec<&str> = commands(&text).filter(|command| *command != "cargo xtask test").collect();
    if commands.is_empty() {
        return Err(Failed::Wrong("the README has no commands".to_owned()));
    }
    commands.into_iter().try_for_each(run_command)
}

fn commands(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("\n```").next())
        .flat_map(str::lines)
        .map(|line| line.split(" #").next().unwrap_or_default().trim())
        .filter(|line| line.starts_with("cargo ") || line.contains("| cargo "))
}

fn run_command(command: &str) -> Result<(), Failed> {
    if command.contains(" lint keys") {
        return check_lint(command);
    }
    if !command.contains("--example collect_invoice") {
        return output(command).map(drop);
    }
    let json = if command.contains(" -- ") { " --json" } else { " -- --json" };
    let printed = output(&format!("{command}{json}"))?;
    check_figures(&printed, command.contains("--without-key"))
}

/// The README pipes in a key with personal data and a clock.
fn check_lint(command: &str) -> Result<(), Failed> {
    let (code, printed) = shell(command)?;
    let holds = code == Some(1) && printed.contains(": R004: ") && printed.contains(": R002: ");
    if holds { Ok(()) } else { Err(Failed::Wrong(format!("`{command}` did not find R004 and R002"))) }
}

/// The example's own verdict is its exit code; these are the figures that the README quotes.
fn check_figures(printed: &str, without_key: bool) -> Result<(), Failed> {
    let last = printed.lines().last().unwrap_or_default();
    let figures: Value = serde_json::from_str(last)
        .map_err(|_| Failed::Wrong("the example's last line is no JSON object".to_owned()))?;
    let figure = |name: &str| figures.get(name).and_then(Value::as_i64);
    let doubles = figure("double_charges");
    let holds = figure("invoices") == Some(200)
        && figure("enqueued") == Some(200)
        && figure("uncharged") == Some(0)
        && if without_key { doubles > Some(0) } else { doubles == Some(0) && figure("charges") == Some(200) };
    if holds { Ok(()) } else { Err(Failed::Wrong(format!("the example's figures are wrong: {last}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_commands_from_shell_blocks_only() {
        let text = "a\n```sh\ncargo run --example x   # once\nls\n```\n```rust\ncargo nothing\n```\n```sh\necho a | cargo b\n```\n";
        assert_eq!(commands(text).collect::<Vec<_>>(), ["cargo run --example x", "echo a | cargo b"]);
    }

    #[test]
    fn a_double_charge_is_found() {
        let line = |doubles: u32| {
            format!(
                "x\n{{\"invoices\":200,\"enqueued\":200,\"uncharged\":0,\"charges\":200,\"double_charges\":{doubles}}}"
            )
        };
        assert!(check_figures(&line(0), false).is_ok());
        assert!(check_figures(&line(1), false).is_err());
        assert!(check_figures(&line(0), true).is_err());
        assert!(check_figures("no json", false).is_err());
    }
}
