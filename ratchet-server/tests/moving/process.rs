//! The program, as it is started to move a store.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::stores::Store;

pub(crate) const TARGET_CLOSED: &str = "the new store takes nothing but what is carried into it";
pub(crate) const SOURCE_CLOSED: &str = "nothing begins in the old store any more";
pub(crate) const SOURCE_FROZEN: &str = "nothing changes in the old store any more";
pub(crate) const SOURCE_LEFT: &str = "the old store is closed for ever";
pub(crate) const TARGET_OPENED: &str = "the new store takes work";

/// A move under way.
pub(crate) struct Moving {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    pub(crate) told: Vec<String>,
}

/// How it ended.
pub(crate) struct Ended {
    pub(crate) success: bool,
    pub(crate) told: Vec<String>,
    pub(crate) errors: String,
}

impl Moving {
    pub(crate) fn start(from: &Store, to: &Store, more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ratchet"))
            .args(["move", "--from", &from.url, "--to", &to.url, "--yes", "--wait", "30"])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines, told: Vec::new() }
    }

    /// Until it tells a line that ends so. False if it ends before.
    pub(crate) async fn tells(&mut self, what: &str) -> bool {
        let tells = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                self.told.push(line);
                if self.told.last().is_some_and(|line| line.ends_with(what)) {
                    return true;
                }
            }
            false
        };
        tokio::time::timeout(Duration::from_mins(1), tells).await.expect("it goes on")
    }

    /// SIGKILL.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    pub(crate) async fn end(mut self) -> Ended {
        while self.tells("").await {}
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).await.unwrap();
        Ended { success: self.child.wait().await.unwrap().success(), told: self.told, errors }
    }
}

/// Runs it to its end.
pub(crate) async fn run(from: &Store, to: &Store, more: &[&str]) -> Ended {
    Moving::start(from, to, more).end().await
}
