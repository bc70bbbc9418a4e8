//! A second process of the same example, which the first one kills.

use std::error::Error;
use std::process::Stdio;
use std::time::Duration;

use ratchet::{Ratchet, Record, RecordId, Stored};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

pub(crate) type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// A worker in a process of its own.
pub(crate) struct Worker {
    process: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    /// Starts this program once more, with these arguments.
    pub(crate) fn spawn(arguments: &[&str]) -> Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = process.stdout.take().ok_or("the worker has no output")?;
        Ok(Self { input: process.stdin.take(), process, lines: BufReader::new(output).lines() })
    }

    /// What it says next.
    pub(crate) async fn line(&mut self) -> Result<String> {
        let next = tokio::time::timeout(Duration::from_secs(30), self.lines.next_line()).await;
        Ok(next.map_err(|_| "the worker says nothing")??.ok_or("the worker ended early")?)
    }

    /// SIGKILL: it gets no chance to do anything more.
    pub(crate) async fn kill(mut self) -> Result<()> {
        Ok(self.process.kill().await?)
    }

    /// Lets it work until the record is settled, and end by itself.
    pub(crate) async fn settle(mut self, ratchet: &Ratchet, id: &RecordId) -> Result<Record> {
        let record = loop {
            match ratchet.find(id.clone()).await? {
                Some(Stored::Record(record)) if record.state.is_settled() => break *record,
                _ => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        };
        drop(self.input.take());
        self.process.wait().await?;
        Ok(record)
    }
}

/// Ready when the first process is gone, or wants this one to end.
pub(crate) async fn parent_is_gone() {
    let mut rest = Vec::new();
    let _ = tokio::io::stdin().read_to_end(&mut rest).await;
}
