//! Backups that are restored under workers which have seen more than is in them.
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ratchet::{Context, Enqueued, Failure, Input, Ratchet, RecordState, State};
use ratchet_test_postgres::Server;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::support::{Ended, on};

#[derive(Serialize, Deserialize, Input)]
struct Parcel {
    parcel_id: String,
}

/// A destination that does whatever it is asked, and remembers nothing.
#[derive(Clone, Default)]
struct Carrier(Arc<Mutex<BTreeMap<String, u32>>>);

impl Carrier {
    fn sent(&self, parcel_id: &str) -> u32 {
        self.0.lock().unwrap().get(parcel_id).copied().unwrap_or(0)
    }
}

#[ratchet::operation(name = "deliver", version = "1", key = "parcel:<parcel_id>:deliver")]
async fn deliver(_ctx: Context, input: Parcel, State(carrier): State<Carrier>) -> Result<(), Failure> {
    *carrier.0.lock().unwrap().entry(input.parcel_id).or_default() += 1;
    Ok(())
}

async fn enqueue(ratchet: &Ratchet, parcel_id: &str) {
    let parcel = Parcel { parcel_id: parcel_id.to_owned() };
    assert!(matches!(deliver::enqueue(ratchet, parcel).await.unwrap(), Enqueued::New { .. }));
}

/// A worker that runs until it is stopped.
struct Running {
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

impl Running {
    fn start(ratchet: &Ratchet, carrier: &Carrier, mark: Option<&Path>) -> Self {
        let builder = ratchet.worker(ratchet::registry![deliver]).state(carrier.clone());
        let builder = match mark {
            Some(mark) => builder.high_water_file(mark),
            None => builder,
        };
        let worker = builder.poll_interval(Duration::from_millis(20)).build().unwrap();
        let (stop, stopped) = oneshot::channel();
        let shutdown = async { drop(stopped.await) };
        Self { stop, ended: tokio::spawn(async move { worker.run(shutdown).await.unwrap() }) }
    }

    async fn stop(self) {
        drop(self.stop);
        self.ended.await.unwrap();
    }
}

async fn until<F: Future<Output = bool>>(what: &str, holds: impl Fn() -> F) {
    let waits = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waits).await.unwrap_or_else(|_| panic!("never: {what}"));
}

async fn raised(ratchet: &Ratchet) -> u64 {
    ratchet.ledger().mark().await.unwrap().mark.raised
}

/// Sends one parcel, and goes on until workers know that the store has moved since.
async fn send(ratchet: &Ratchet, carrier: &Carrier, parcel_id: &str) {
    enqueue(ratchet, parcel_id).await;
    until("sent", async || carrier.sent(parcel_id) == 1).await;
    let after = raised(ratchet).await;
    until("raised", async || raised(ratchet).await > after).await;
}

async fn state_of(ratchet: &Ratchet, parcel_id: &str) -> RecordState {
    let listed = ratchet.list(ratchet::Filter::default()).await.unwrap();
    let key = format!("parcel:{parcel_id}:deliver");
    listed.records.iter().find(|record| record.id.key.as_str() == key).unwrap().state
}

fn doctor(store: &str, mark: Option<&Path>) -> Ended {
    let file = mark.map(|mark| format!("--high-water-file={}", mark.display()));
    let arguments: Vec<&str> = std::iter::once("doctor").chain(file.as_deref()).collect();
    on(store, &arguments)
}

/// A worker that has seen more sends nothing from the backup until somebody says so, and then goes on.
async fn is_held_back_until_acknowledged(store: &str, carrier: &Carrier, mark: Option<&Path>) {
    let restored = Ratchet::open(store).await.unwrap();
    assert_eq!(state_of(&restored, "second").await, RecordState::Pending);
    let before = doctor(store, mark);
    assert_eq!(before.code, Some(1), "{}", before.out);
    assert!(before.out.contains("workers have seen"), "{}", before.out);

    let worker = Running::start(&restored, carrier, mark);
    until("held back", async || restored.ledger().mark().await.unwrap().held_since.is_some()).await;
    // A worker that comes from elsewhere, and has seen nothing, holds back as well.
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = folder.path().join("elsewhere.mark");
    let stranger = Running::start(&restored, carrier, Some(&elsewhere));
    let told = doctor(store, mark);
    assert_eq!(told.code, Some(1));
    assert!(told.out.contains("workers hold back since"), "{}", told.out);
    assert!(told.out.contains("ratchet acknowledge-restore"), "{}", told.out);
    stranger.stop().await;
    assert!(!elsewhere.exists(), "what is held back is not what workers have seen");
    assert_eq!(carrier.sent("second"), 1);
    assert_eq!(state_of(&restored, "second").await, RecordState::Pending);

    assert_eq!(on(store, &["acknowledge-restore", "--yes"]).code, Some(2), "it needs a reason");
    let reason = ["acknowledge-restore", "--reason", "asked the carrier", "--by", "ada", "--yes"];
    let acknowledged = on(store, &reason);
    assert_eq!(acknowledged.code, Some(0), "{}", acknowledged.err);
    assert!(acknowledged.out.contains("workers go on"), "{}", acknowledged.out);
    until("sent again", async || carrier.sent("second") == 2).await;
    worker.stop().await;

    let again = Running::start(&restored, carrier, mark);
    send(&restored, carrier, "third").await;
    again.stop().await;
    assert_eq!(restored.ledger().mark().await.unwrap().held_since, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_a_file_sends_nothing_again_before_somebody_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.db");
    let store = format!("sqlite:{}", file.display());
    let carrier = Carrier::default();
    let opened = Ratchet::open(&store).await.unwrap();
    let worker = Running::start(&opened, &carrier, None);
    send(&opened, &carrier, "first").await;
    worker.stop().await;
    enqueue(&opened, "second").await;
    let backup = folder.path().join("backup");
    back_up(&store, &backup).await;
    let worker = Running::start(&opened, &carrier, None);
    until("sent", async || carrier.sent("second") == 1).await;
    worker.stop().await;
    drop(opened);
    // The last connection takes its log away.
    until("closed", async || !folder.path().join("shop.db-wal").exists()).await;

    for name in ["shop.db", "shop.db-wal", "shop.db-shm"] {
        let _ = fs::remove_file(folder.path().join(name));
    }
    fs::copy(&backup, &file).unwrap();
    is_held_back_until_acknowledged(&store, &carrier, None).await;
}

async fn back_up(store: &str, backup: &Path) {
    use ratchet::sqlite::sqlx::{Connection as _, SqliteConnection, query};

    let mut connection = SqliteConnection::connect(store).await.unwrap();
    query("VACUUM INTO ?1").bind(backup.display().to_string()).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_a_database_sends_nothing_again_before_somebody_says_so() {
    let server = ratchet_test_postgres::shared();
    let (database, empty) = (server.database().await, server.database().await);
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("shop.mark");
    let carrier = Carrier::default();
    let opened = Ratchet::open(&database.url()).await.unwrap();
    let worker = Running::start(&opened, &carrier, Some(&mark));
    send(&opened, &carrier, "first").await;
    worker.stop().await;
    enqueue(&opened, "second").await;
    let dump = dumped(&database.url());
    let worker = Running::start(&opened, &carrier, Some(&mark));
    until("sent", async || carrier.sent("second") == 1).await;
    worker.stop().await;

    load(&empty.url(), &dump);
    is_held_back_until_acknowledged(&empty.url(), &carrier, Some(&mark)).await;
}

fn dumped(url: &str) -> Vec<u8> {
    let dump = Command::new("pg_dump").arg(url).output().expect("the program `pg_dump`");
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    dump.stdout
}

fn load(url: &str, dump: &[u8]) {
    let mut psql = Command::new("psql");
    psql.args(["--quiet", "--set=ON_ERROR_STOP=1", url]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut psql = psql.spawn().expect("the program `psql`");
    psql.stdin.take().unwrap().write_all(dump).unwrap();
    assert!(psql.wait().unwrap().success());
}

/// What a standby has is not behind, and its position in the log is of no matter.
#[tokio::test(flavor = "multi_thread")]
async fn workers_go_on_at_a_promoted_standby_that_is_not_behind() {
    let primary = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("shop.mark");
    let carrier = Carrier::default();
    let opened = Ratchet::open(&primary.url("postgres")).await.unwrap();
    let standby = primary.start_standby();
    let worker = Running::start(&opened, &carrier, Some(&mark));
    send(&opened, &carrier, "first").await;
    worker.stop().await;
    enqueue(&opened, "second").await;
    let url = standby.url("postgres");
    let before = on(&url, &["doctor"]);
    assert_eq!(before.code, Some(1), "{}", before.err);
    assert!(before.out.contains("attention  read-only"), "{}", before.out);
    primary.kill();
    standby.promote();

    let promoted = Ratchet::open(&url).await.unwrap();
    let worker = Running::start(&promoted, &carrier, Some(&mark));
    until("sent", async || carrier.sent("second") == 1).await;
    worker.stop().await;
    assert_eq!(promoted.ledger().mark().await.unwrap().held_since, None);
    let after = doctor(&url, Some(&mark));
    assert_eq!(after.code, Some(0), "{}{}", after.out, after.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mark_covers_what_a_worker_sent_last() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sqlite:{}", folder.path().join("shop.db").display());
    let carrier = Carrier::default();
    let opened = Ratchet::open(&store).await.unwrap();
    let worker = Running::start(&opened, &carrier, None);
    until("raised", async || raised(&opened).await > 0).await;
    let before = raised(&opened).await;
    enqueue(&opened, "first").await;
    until("sent", async || carrier.sent("first") == 1).await;
    worker.stop().await;
    assert!(raised(&opened).await > before);
}

/// What was sent without a mark would be unknown to whoever looks for a restored backup.
#[tokio::test(flavor = "multi_thread")]
async fn a_mark_that_cannot_be_kept_lets_nothing_through() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sqlite:{}", folder.path().join("shop.db").display());
    let missing: PathBuf = folder.path().join("later");
    let mark = missing.join("shop.mark");
    let carrier = Carrier::default();
    let opened = Ratchet::open(&store).await.unwrap();
    enqueue(&opened, "first").await;
    let worker = Running::start(&opened, &carrier, Some(&mark));
    until("looked at", async || raised(&opened).await > 1).await;
    assert_eq!(carrier.sent("first"), 0);
    fs::create_dir(&missing).unwrap();
    until("sent", async || carrier.sent("first") == 1).await;
    worker.stop().await;
    fs::write(&mark, "something else").unwrap();
    let told = doctor(&store, Some(&mark));
    assert_eq!(told.code, Some(1));
    assert!(told.out.contains("it holds no high-water mark"), "{}", told.out);
}
