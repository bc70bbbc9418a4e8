//! Services that die, or stop and come back, around their effect: processes of their own, and a file that is the destination.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ratchet::{Context, Contract, Enqueued, Failure, Input, OutcomeKind, Ratchet, RecordId, RecordState};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use crate::server::Server;
use crate::support::{record_of, within};

const DESTINATION: Contract = Contract::header("Idempotency-Key");

/// How the process is told where it is.
const URL: &str = "RATCHET_TEST_ENGINE";
const EFFECTS: &str = "RATCHET_TEST_EFFECTS";
const HOLD: &str = "RATCHET_TEST_HOLD";

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Charge {
    id: u64,
}

/// Writes a line for each effect, and waits for its end where it was told to.
#[ratchet::operation(name = "charge", version = "1", key = "charge:<id>", destination = DESTINATION)]
async fn charge(ctx: Context, charge: Charge) -> Result<u64, Failure> {
    hold_at(&ctx, "before").await;
    write(&format!("effect {} token {}", ctx.key(), ctx.token()));
    hold_at(&ctx, "after").await;
    Ok(charge.id)
}

async fn hold_at(ctx: &Context, place: &str) {
    if std::env::var(HOLD).is_ok_and(|held| held == place) {
        write(&format!("held {place} {}", ctx.token()));
        // A process that was stopped goes on from here.
        tokio::time::sleep(Duration::from_secs(4)).await;
    }
}

fn write(line: &str) {
    let path = std::env::var(EFFECTS).unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// The process; not a test by itself.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by the tests of this file"]
async fn service() {
    let ledger = ratchet::restate::RestateLedger::open(&std::env::var(URL).unwrap()).unwrap();
    let ratchet = Ratchet::with_ledger(ledger.clone());
    let worker = ratchet.worker(ratchet::registry![charge]).lease(Duration::from_secs(2)).build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}", listener.local_addr().unwrap());
    ratchet::restate::serve(&ledger, Some(worker), listener, &uri, std::future::pending()).await.unwrap();
}

struct Process(Child);

impl Process {
    fn start(url: &str, effects: &Path, hold: &str) -> Self {
        let program = std::env::current_exe().unwrap();
        let child = Command::new(program)
            .args(["--exact", "crash::service", "--ignored"])
            .env(URL, url)
            .env(EFFECTS, effects)
            .env(HOLD, hold)
            .stdout(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.0.id().to_string()).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Scene {
    server: Server,
    ratchet: Ratchet,
    effects: PathBuf,
    _folder: tempfile::TempDir,
}

impl Scene {
    /// An engine, a first service that holds its attempt somewhere, and a record whose attempt is held.
    async fn held(place: &str) -> (Self, Process, RecordId) {
        let server = tokio::task::spawn_blocking(Server::start).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let effects = folder.path().join("effects");
        let ratchet = Ratchet::open(&server.url()).await.unwrap();
        let first = Process::start(&server.url(), &effects, place);
        let scene = Self { server, ratchet, effects, _folder: folder };
        within(async {
            while scene.ratchet.ledger().declarations().await.map_or(true, |known| known.is_empty()) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
        let Enqueued::New { id } = charge::enqueue(&scene.ratchet, Charge { id: 7 }).await.unwrap() else {
            panic!("expected a new record");
        };
        scene.wait_for_line(&format!("held {place} 1")).await;
        (scene, first, id)
    }

    fn lines(&self) -> Vec<String> {
        std::fs::read_to_string(&self.effects).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn effects(&self) -> Vec<String> {
        self.lines().into_iter().filter(|line| line.starts_with("effect")).collect()
    }

    async fn wait_for_line(&self, wanted: &str) {
        within(async {
            while !self.lines().iter().any(|line| line == wanted) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    }

    async fn wait_for_success(&self, id: &RecordId) -> ratchet::Record {
        within(async {
            loop {
                let record = record_of(&self.ratchet, id).await;
                if record.is_some_and(|record| record.state == RecordState::Succeeded) {
                    return record_of(&self.ratchet, id).await.unwrap();
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_killed_before_the_effect_has_it_once() {
    let (scene, first, id) = Scene::held("before").await;
    drop(first);
    let _second = Process::start(&scene.server.url(), &scene.effects, "");
    let record = scene.wait_for_success(&id).await;
    assert_eq!(record.token.get(), 2);
    assert_eq!(scene.effects(), ["effect charge:7 token 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_killed_after_the_effect_repeats_it_under_one_key() {
    let (scene, first, id) = Scene::held("after").await;
    drop(first);
    let _second = Process::start(&scene.server.url(), &scene.effects, "");
    let record = scene.wait_for_success(&id).await;
    assert_eq!(record.token.get(), 2);
    assert_eq!(scene.effects(), ["effect charge:7 token 1", "effect charge:7 token 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stopped_service_says_when_it_comes_back_changes_nothing() {
    let (scene, first, id) = Scene::held("after").await;
    first.signal("STOP");
    let _second = Process::start(&scene.server.url(), &scene.effects, "");
    let taken_over = scene.wait_for_success(&id).await;
    assert_eq!(taken_over.token.get(), 2);
    first.signal("CONT");
    let is_late = |attempt: &ratchet::Attempt| {
        attempt.end.as_ref().is_some_and(|end| end.late && end.outcome == OutcomeKind::Done)
    };
    within(async {
        while !scene.ratchet.attempts(id.clone()).await.unwrap().iter().any(is_late) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert_eq!(record_of(&scene.ratchet, &id).await.unwrap(), taken_over);
}
