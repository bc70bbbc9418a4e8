//! Three servers, one of which is the primary and is replaced when it is lost.

use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use sqlx::{Connection as _, PgConnection};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replication {
    /// For a standby, which alone can be the next primary.
    Synchronous,
    /// For nothing but the primary itself.
    Asynchronous,
}

/// Three servers under Patroni, run by `examples/patroni/cluster.sh` until they are dropped, or until this program ends.
#[derive(Debug)]
pub struct Cluster {
    folder: TempDir,
    url: String,
    /// Ends everything when this program closes the pipe or is gone.
    all: Child,
    again: Mutex<Vec<Child>>,
}

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/patroni/cluster.sh");

/// How long the servers may take to be three again.
const WHOLE_WITHIN: Duration = Duration::from_mins(3);

/// How often they are asked whether they are.
const ASK_EVERY: Duration = Duration::from_millis(200);

impl Cluster {
    /// Makes and starts one. It is of use once it [is whole](Self::is_whole).
    #[must_use]
    pub fn start(replication: Replication) -> Self {
        let folder = tempfile::Builder::new().prefix("ratchet-pg-").tempdir_in("/tmp").expect("a folder");
        let mode = match replication {
            Replication::Synchronous => "sync",
            Replication::Asynchronous => "async",
        };
        let prepared = Command::new(SCRIPT).arg("prepare").arg(folder.path()).arg(mode).output();
        let prepared = prepared.expect("a shell");
        let said = String::from_utf8_lossy(&prepared.stderr);
        assert!(
            prepared.status.success(),
            "{said}; it needs the packages postgresql, patroni and etcd-server"
        );
        let url = String::from_utf8(prepared.stdout).expect("an address").trim().to_owned();
        let all = Command::new(SCRIPT).arg("up").arg(folder.path()).stdin(Stdio::piped()).spawn();
        Self { folder, url, all: all.expect("a shell"), again: Mutex::default() }
    }

    /// The address of all three, which leads to the primary.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits until two standbys follow the primary; gives the primary's number, from 1.
    pub async fn is_whole(&self) -> usize {
        let whole = async {
            loop {
                for number in 1..=3 {
                    if self.leads_two(number).await == Some(true) {
                        return number;
                    }
                }
                sleep(ASK_EVERY).await;
            }
        };
        timeout(WHOLE_WITHIN, whole).await.expect("three servers that are up")
    }

    async fn leads_two(&self, number: usize) -> Option<bool> {
        const FOLLOWERS: &str = "SELECT count(*) = 2 AND (current_setting('synchronous_standby_names') = '' \
            OR bool_or(sync_state = 'sync')) FROM pg_stat_replication WHERE state = 'streaming'";
        let mut connection = self.connect(number).await?;
        sqlx::query_scalar(FOLLOWERS).fetch_one(&mut connection).await.ok()
    }

    async fn connect(&self, number: usize) -> Option<PgConnection> {
        let hosts = self.url.split(['@', '/']).find(|part| part.contains(','))?;
        let url = format!("postgres://postgres@{}/postgres", hosts.split(',').nth(number - 1)?);
        timeout(Duration::from_secs(2), PgConnection::connect(&url)).await.ok()?.ok()
    }

    /// Has the standbys of this primary get nothing more, as by a network that stands still.
    pub async fn hold_back(&self, number: usize) {
        const SENDERS: &str = "SELECT pid::text FROM pg_stat_replication";
        let mut connection = self.connect(number).await.expect("the primary");
        let senders: Vec<String> =
            sqlx::query_scalar(SENDERS).fetch_all(&mut connection).await.expect("rows");
        let held = Command::new("kill").arg("-STOP").args(senders).status();
        assert!(held.expect("the program `kill`").success());
    }

    /// Ends a server and its Patroni as a loss of power does.
    pub fn kill(&self, number: usize) {
        let killed =
            Command::new(SCRIPT).arg("kill").arg(self.folder.path()).arg(number.to_string()).status();
        assert!(killed.expect("a shell").success());
    }

    /// Starts them again.
    pub fn resume(&self, number: usize) {
        let log = self.folder.path().join(format!("node{number}.again.log"));
        let log = std::fs::File::options().create(true).append(true).open(log).expect("a file");
        let also = log.try_clone().expect("a file");
        let mut command = Command::new(SCRIPT);
        command.arg("node").arg(self.folder.path()).arg(number.to_string());
        let node = command.stdin(Stdio::null()).stdout(log).stderr(also).spawn();
        self.again.lock().expect("nobody panicked").push(node.expect("a shell"));
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.all.stdin.take());
        let _ = self.all.wait();
        let again = self.again.get_mut().map(std::mem::take).unwrap_or_default();
        for mut node in again {
            let _ = node.wait();
        }
    }
}
