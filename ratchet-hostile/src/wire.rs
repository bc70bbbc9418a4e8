//! Bodies of requests to `ratchet serve`.

use ratchet_core::MemoryLedger;
use ratchet_server::testing::Protocol;
use serde_json::{Value, json};

use crate::in_runtime;

/// Never to be seen in a refusal; corpora have it wherever a caller's data may stand.
const SECRET: &[u8] = b"s3cr3t";

/// Stands in a body for the token of the lease that the caller holds.
const LEASE: &str = "LEASE";

/// What takes a body, under the letter that an input begins with.
const CALLS: [(u8, &str, &str); 11] = [
    (b'a', "POST", "/runs"),
    (b'b', "POST", "/runs/RUN/enqueue"),
    (b'c', "PATCH", "/runs/RUN"),
    (b'd', "POST", "/workers/register"),
    (b'e', "POST", "/workers/claim"),
    (b'f', "POST", "/workers/jobs/JOB/heartbeat"),
    (b'g', "POST", "/workers/jobs/JOB/report"),
    (b'h', "POST", "/jobs/JOB/cancel"),
    (b'i', "PUT", "/endpoints/mail/policy"),
    (b'j', "POST", "/tools"),
    (b'k', "POST", "/steps/STEP/replay"),
];

/// The first byte chooses a call, the rest is its body.
///
/// Whatever the body, the server answers with JSON and never with a failure of its own, says in a refusal what is wrong
/// without repeating what it was sent, and answers the same call a second time.
pub fn wire_body(input: &[u8]) {
    let [first, body @ ..] = input else { return };
    let Some((_, method, path)) = CALLS.iter().find(|(letter, ..)| letter == first) else { return };
    in_runtime(async {
        let server = Protocol::over(MemoryLedger::new()).await;
        let there = Standing::make(&server, path).await;
        let (path, body) = (there.named(path), there.leased(body));
        let first = check(server.ask(method, &path, &body).await, &path);
        let again = check(server.ask(method, &path, &body).await, &path);
        if path.ends_with("/enqueue") && first.0 < 300 {
            assert_eq!((first.0, again.0), (201, 200), "{again:?}");
            assert_eq!(first.1["stepId"], again.1["stepId"]);
            let step = format!("/steps/{}", first.1["stepId"].as_str().expect("an id"));
            assert_eq!(check(server.ask("GET", &step, b"").await, &step).0, 200);
        }
    });
}

fn check((status, body): (u16, Vec<u8>), path: &str) -> (u16, Value) {
    let read: Value = serde_json::from_slice(&body).unwrap_or_default();
    match status {
        200 | 201 => assert!(read.is_object(), "{path}"),
        204 => assert!(body.is_empty(), "{path}"),
        400..=499 => {
            assert!(read["error"].is_string() && read["code"].is_string(), "{path}: {status}");
            assert!(
                !body.windows(SECRET.len()).any(|part| part == SECRET),
                "{path} repeats what it was sent"
            );
        }
        _ => panic!("{path}: {status}"),
    }
    (status, read)
}

/// What has to be there before the call.
#[derive(Default)]
struct Standing {
    run: String,
    step: String,
    job: String,
    lease: String,
}

impl Standing {
    async fn make(server: &Protocol, path: &str) -> Self {
        let mut made = Self::default();
        if !["RUN", "JOB", "STEP"].iter().any(|name| path.contains(name)) {
            return made;
        }
        let answer = ask(server, "/runs", &json!({"name": "r"})).await;
        made.run = text(&answer["run"]["id"]);
        if path.contains("RUN") {
            return made;
        }
        let step = json!({"name": "mail", "version": "1", "input": {}, "idempotencyKey": "k:1"});
        let answer = ask(server, &made.named("/runs/RUN/enqueue"), &step).await;
        (made.step, made.job) = (text(&answer["stepId"]), text(&answer["jobId"]));
        let handlers = json!([{"name": "mail", "version": "1"}]);
        ask(server, "/workers/register", &json!({"workerId": "w", "capacity": 1, "handlers": handlers}))
            .await;
        let answer = ask(server, "/workers/claim", &json!({"workerId": "w"})).await;
        made.lease = text(&answer["job"]["leaseToken"]);
        made
    }

    fn named(&self, path: &str) -> String {
        path.replace("RUN", &self.run).replace("JOB", &self.job).replace("STEP", &self.step)
    }

    fn leased(&self, body: &[u8]) -> Vec<u8> {
        match std::str::from_utf8(body) {
            Ok(text) if !self.lease.is_empty() => text.replace(LEASE, &self.lease).into_bytes(),
            _ => body.to_vec(),
        }
    }
}

async fn ask(server: &Protocol, path: &str, body: &Value) -> Value {
    let (status, answer) = server.ask("POST", path, body.to_string().as_bytes()).await;
    assert!(status < 300, "{path}: {status}");
    serde_json::from_slice(&answer).expect("JSON")
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
