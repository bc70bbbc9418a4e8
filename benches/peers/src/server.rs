//! A PostgreSQL server for this run alone, with the durability that it has as installed.

use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, User};
use tempfile::TempDir;

use crate::subject::Result;

/// Durable, as installed; with room for many connections, and for what a run writes without a checkpoint in the middle.
const SETTINGS: [&str; 7] = [
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "max_connections=200",
    "shared_buffers=512MB",
    "max_wal_size=8GB",
    "checkpoint_timeout=30min",
];

/// The account that the server runs as when this program has the rights of root, which the server refuses.
const ACCOUNT: &str = "postgres";

const LOG: &str = "log";

/// Stopped when dropped, and by the kernel if this program is killed.
pub(crate) struct Server {
    process: Child,
    port: u16,
    data: TempDir,
}

impl Server {
    pub(crate) fn start(bin: Option<&Path>) -> Result<Self> {
        let bin = bin.map_or_else(newest, |bin| Ok(bin.to_owned()))?;
        let data = tempfile::Builder::new().prefix("peers-postgres-").tempdir()?;
        let (folder, port) = (data.path().join("data"), free_port()?);
        if Uid::effective().is_root() {
            let account = User::from_name(ACCOUNT)?.ok_or("there is no account for the server")?;
            chown(data.path(), Some(account.uid.as_raw()), Some(account.gid.as_raw()))?;
        }
        let made = as_account(&bin.join("initdb"))
            .args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--pgdata"])
            .arg(&folder)
            .stdout(Stdio::null())
            .status()?;
        if !made.success() {
            return Err("initdb failed".into());
        }
        let log = std::fs::File::create(data.path().join(LOG))?;
        let mut command = as_account(&bin.join("postgres"));
        command.arg("-D").arg(&folder).args(["-h", "127.0.0.1", "-k", "", "-p", &port.to_string()]);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        let process = command.stdout(log.try_clone()?).stderr(log).stdin(Stdio::null()).spawn()?;
        let mut server = Self { process, port, data };
        server.wait_until_ready()?;
        Ok(server)
    }

    /// The address of a database of this server.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// The process from which those of all connections descend.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(30) {
            if let Some(status) = self.process.try_wait()? {
                return Err(format!("the server ended with {status}").into());
            }
            let log = std::fs::read_to_string(self.data.path().join(LOG)).unwrap_or_default();
            if log.contains("ready to accept connections") {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err("the server did not start in time".into())
    }

    fn signal(&self, signal: Signal) {
        if let Ok(pid) = i32::try_from(self.process.id()) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fast shutdown, and immediate if that takes long.
        for signal in [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGKILL] {
            self.signal(signal);
            for _ in 0..500 {
                if !matches!(self.process.try_wait(), Ok(None)) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// A command that gets a fast shutdown if this program's main thread ends, and does not run as root.
fn as_account(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "INT"]);
    if Uid::effective().is_root() {
        command.args(["--reuid", ACCOUNT, "--regid", ACCOUNT, "--clear-groups"]);
    }
    command.arg(program).current_dir("/");
    command
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Where Debian keeps the versions, and otherwise what the path holds.
fn newest() -> Result<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|version| version.file_name().to_str()?.parse::<u32>().ok())
        .max()
        .map(|version| PathBuf::from(format!("/usr/lib/postgresql/{version}/bin")));
    let on_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|folder| folder.join("initdb").is_file())
    };
    newest.or_else(on_path).ok_or_else(|| "no PostgreSQL was found; see --postgres-bin".into())
}
