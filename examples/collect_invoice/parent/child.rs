//! A child process whose lines are read, and which can be killed.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{self, ChildStdin, ChildStdout, Command};

use crate::Result;

pub(crate) struct Child {
    process: process::Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Child {
    /// This program again, in another part. It dies with its parent's handle.
    pub(crate) fn spawn(arguments: &[&OsStr]) -> Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = process.stdout.take().ok_or("a child has no standard output")?;
        Ok(Self { input: process.stdin.take(), lines: BufReader::new(output).lines(), process })
    }

    pub(crate) fn spawn_worker(
        store: &str,
        url: &str,
        address: Option<SocketAddr>,
        without_key: bool,
    ) -> Result<Self> {
        let mut arguments: Vec<&OsStr> = Vec::new();
        if without_key {
            arguments.push("--without-key".as_ref());
        }
        arguments.extend(["worker", store, url].map(OsStr::new));
        let address = address.map(|address| address.to_string());
        arguments.extend(address.as_deref().map(OsStr::new));
        Self::spawn(&arguments)
    }

    pub(crate) async fn next_line(&mut self) -> Result<String> {
        self.lines.next_line().await?.ok_or_else(|| "a child process ended early".into())
    }

    /// The rest of the first line, which must begin like this.
    pub(crate) async fn line(&mut self, begins: &str) -> Result<String> {
        let line = self.next_line().await?;
        Ok(line.strip_prefix(begins).ok_or("a child process said something unexpected")?.to_owned())
    }

    /// SIGKILL: the process gets no chance to do anything more.
    pub(crate) async fn kill(mut self) -> Result<()> {
        Ok(self.process.kill().await?)
    }

    /// Closes its standard input, and waits until it has ended by itself.
    pub(crate) async fn stop(mut self) -> Result<()> {
        drop(self.input.take());
        // Somebody has to read what it still says, or it could block.
        while self.lines.next_line().await?.is_some() {}
        let status = self.process.wait().await?;
        if status.success() { Ok(()) } else { Err(format!("a child process failed: {status}").into()) }
    }
}
