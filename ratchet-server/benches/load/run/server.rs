//! The program under load, and what it takes of the machine.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// Which store the server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

/// `ratchet serve` with a store of its own.
pub(super) struct Served {
    child: Child,
    pub(super) address: String,
    pub(super) store: String,
    /// Where the store is; it goes when this value does.
    _room: Room,
}

enum Room {
    Folder { _folder: TempDir },
    Database { _database: ratchet_test_postgres::Database<'static> },
}

/// What the process takes at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// Resident memory.
    pub(crate) memory_kib: u64,
    /// Processor time since it began.
    pub(crate) seconds: f64,
}

impl Served {
    pub(super) async fn start(kind: Kind, claim_wait: Duration) -> Self {
        Self::start_as(kind, |store| {
            let mut command = program();
            command.args(["serve", "--store", store, "--listen", "127.0.0.1:0", "--log", "error"]);
            // All workers have one key here, and all producers another one.
            command.args(["--rate", "100000", "--claim-wait", &claim_wait.as_secs().to_string()]);
            command
        })
        .await
    }

    /// Another program that serves a store, and says where as `ratchet serve` does.
    pub(super) async fn start_as(kind: Kind, command: impl FnOnce(&str) -> Command) -> Self {
        let (store, room) = store(kind).await;
        let mut child = command(&store).stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut first = String::new();
        let stdout = child.stdout.take().expect("standard output is a pipe");
        BufReader::new(stdout).read_line(&mut first).expect("the program says where it listens");
        let address =
            first.trim().strip_prefix("listening on http://").expect("the first line names the address");
        Self { address: address.to_owned(), child, store, _room: room }
    }

    /// A key that the program makes.
    pub(super) fn key(&self, scope: &str) -> String {
        let made = program().args(["keys", "create", "--store", &self.store, "--scope", scope]).output();
        let made = made.expect("the program starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        String::from_utf8_lossy(&made.stdout).trim().to_owned()
    }

    pub(super) fn usage(&self) -> Usage {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", self.child.id()));
        let status = read("status").unwrap_or_default();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory = memory.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        // The name of the program, which ends with a parenthesis, may contain spaces; hundredths of a second follow.
        let stat = read("stat").unwrap_or_default();
        let fields: Vec<&str> =
            stat.rsplit(')').next().map(|rest| rest.split_whitespace().collect()).unwrap_or_default();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
        Usage { memory_kib: memory.unwrap_or(0), seconds: (ticks(11) + ticks(12)) / 100.0 }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn store(kind: Kind) -> (String, Room) {
    match kind {
        Kind::Sqlite => {
            let folder = tempfile::tempdir().expect("there is room for a store");
            let url = format!("sqlite:{}", folder.path().join("ratchet.db").display());
            (url, Room::Folder { _folder: folder })
        }
        Kind::Postgres => {
            let database = ratchet_test_postgres::shared().database().await;
            (database.url(), Room::Database { _database: database })
        }
    }
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_ratchet"))
}
