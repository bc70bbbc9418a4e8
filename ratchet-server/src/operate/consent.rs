//! Acts that change a record are asked about, and leave a name and a reason.

use std::env;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use clap::Args;

use crate::error::Error;

#[derive(Args)]
pub(crate) struct Consent {
    /// Why; needed, and kept in the record's audit trail.
    #[arg(long)]
    reason: Option<String>,
    /// Who decides; the name of the user unless said otherwise.
    #[arg(long)]
    by: Option<String>,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
}

impl Consent {
    /// Asks on the terminal whether to go on. Without a terminal, `--yes` is needed.
    pub(crate) fn ask(&self, what: &str) -> Result<(), Error> {
        if self.reason().is_empty() {
            return Err(Error::NoReason);
        }
        confirm(what, self.yes)
    }

    pub(crate) fn reason(&self) -> &str {
        self.reason.as_deref().unwrap_or_default().trim()
    }

    pub(crate) fn by(&self) -> String {
        let user = || env::var("USER").ok().filter(|user| !user.is_empty());
        self.by.clone().or_else(user).unwrap_or_else(|| "operator".to_owned())
    }
}

/// Goes on if the person says so, or said so before.
pub(crate) fn confirm(what: &str, yes: bool) -> Result<(), Error> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(Error::NotConfirmed);
    }
    let mut asks = io::stderr().lock();
    write!(asks, "{what} Go on? [y/N] ")?;
    asks.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    if matches!(answer.trim(), "y" | "Y" | "yes") { Ok(()) } else { Err(Error::NotConfirmed) }
}
