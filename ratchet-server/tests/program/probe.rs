//! `ratchet probe` against servers on real sockets: one behind the inbound layer, and one that recognises nothing.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::routing::post;
use ratchet::Ratchet;
use ratchet::http::inbound::IdempotencyLayer;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use crate::support::{Ended, program};

struct Sandbox {
    url: String,
    folder: TempDir,
    executions: Arc<AtomicU32>,
    _runtime: Runtime,
}

impl Sandbox {
    /// Answers each execution with its number. The second one, which is that of the two at once, ends when the other
    /// request of its key was refused.
    fn new(careful: bool) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let executions = Arc::<AtomicU32>::default();
        let (counted, refused) = (executions.clone(), Arc::<Notify>::default());
        let waited = refused.clone();
        let charge = move || async move {
            let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
            if careful && number == 2 {
                waited.notified().await;
            }
            (StatusCode::CREATED, format!("a secret receipt {number}"))
        };
        let mut router =
            Router::new().route("/charges", post(charge.clone())).route("/refunds", post(charge));
        if careful {
            let store = format!("sqlite:{}", folder.path().join("inbound.db").display());
            let ratchet = runtime.block_on(Ratchet::open(&store)).unwrap();
            let layer = IdempotencyLayer::new(ratchet.ledger().clone(), |parts| {
                Some(parts.headers.get("authorization")?.to_str().ok()?.to_owned())
            });
            router = router.layer(layer).layer(from_fn(move |request: Request, next: Next| {
                let refused = refused.clone();
                async move {
                    let answer = next.run(request).await;
                    if answer.status() == StatusCode::CONFLICT {
                        refused.notify_one();
                    }
                    answer
                }
            }));
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, router).await.unwrap();
        });
        Self { url, folder, executions, _runtime: runtime }
    }

    fn file(&self, name: &str, text: &str) -> String {
        let file = self.folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    }

    fn probe(&self, more: &[&str]) -> Ended {
        let (url, other) = (format!("{}/charges?token=hush", self.url), format!("{}/refunds", self.url));
        let (body, changed) = (self.file("body", "amount=7"), self.file("changed", "amount=8"));
        let output = program()
            .args([
                "probe",
                "--url",
                &url,
                "--other-url",
                &other,
                "--body",
                &body,
                "--changed-body",
                &changed,
            ])
            .args(["--header-env", "Authorization=SANDBOX_AUTHORIZATION", "--header-extra", "X-Mode: test"])
            .args(["--replay-marker", "Idempotent-Replayed", "--in-flight", "409", "--mismatch", "422"])
            .args(more)
            .env("SANDBOX_AUTHORIZATION", "Bearer hush")
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let ended = Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
        for secret in ["hush", "amount", "receipt"] {
            assert!(!ended.out.contains(secret) && !ended.err.contains(secret), "{secret} is shown");
        }
        ended
    }

    fn executions(&self) -> u32 {
        self.executions.load(Ordering::SeqCst)
    }
}

#[test]
fn a_sandbox_that_keeps_its_word_agrees_in_every_row() {
    let sandbox = Sandbox::new(true);
    let ended = sandbox.probe(&["--yes"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let expected = "\
CHECK              DECLARED             VERDICT       OBSERVED
repeated request   the first answer     agrees        201, the same answer
its replay marker  idempotent-replayed  agrees        idempotent-replayed
two at once        409                  agrees        one was answered 409, with Retry-After
changed input      422                  agrees        422, refused
other endpoint     -                    not declared  201, an answer of its own: keys of its own
other credential   -                    not probed    name one with --other-header-env
end of its window  -                    not probed    say how long it is with --remembers-for
";
    assert_eq!(ended.out, expected);
    assert_eq!(sandbox.executions(), 3);
}

#[test]
fn a_sandbox_that_recognises_nothing_differs() {
    let sandbox = Sandbox::new(false);
    let ended = sandbox.probe(&["--yes", "--json"]);
    assert_eq!(ended.code, Some(1));
    let rows: Vec<Value> = ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let verdicts: Vec<_> = rows.iter().map(|row| row["verdict"].as_str().unwrap()).collect();
    assert_eq!(
        verdicts,
        ["differs", "differs", "differs", "differs", "undeclared", "not_probed", "not_probed"]
    );
    assert_eq!(rows[2]["observed"], "201 and 201: two effects");
    assert_eq!(rows[3]["observed"], "201, another answer: executed");
}

#[test]
fn nothing_is_sent_without_a_yes_and_nothing_compared_after_a_refusal() {
    let sandbox = Sandbox::new(true);
    let ended = sandbox.probe(&[]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("nothing was done"), "{}", ended.err);
    assert_eq!(sandbox.executions(), 0);
    let refused = sandbox.probe(&["--yes", "--method", "PATCH"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.starts_with("error: the first request was answered 405"), "{}", refused.err);
    let absent = sandbox.probe(&["--yes", "--header-env", "X-Other=NO_SUCH_VARIABLE_OF_OURS"]);
    assert!(absent.err.contains("there is no variable"), "{}", absent.err);
}
