//! `ratchet probe stripe::V1` against a destination on a real socket that speaks as this contract says, or does not.

use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use crate::support::{Ended, program};

/// Keys by account: what each was used for, and the number of its execution once that is over.
type Keys = HashMap<(String, String), (String, Option<u32>)>;

#[derive(Clone)]
struct Destination {
    state: Arc<Mutex<(Keys, u32)>>,
    refused: Arc<Notify>,
    /// The request, counted from 1, before which it forgets all keys.
    forgets_at: u32,
}

impl Destination {
    fn error(status: StatusCode, field: &str, value: &str) -> Response {
        (status, format!(r#"{{"error":{{"{field}":"{value}"}}}}"#)).into_response()
    }

    async fn answer(State(this): State<Self>, uri: Uri, headers: HeaderMap, body: String) -> Response {
        let text = |name: &str| headers[name].to_str().unwrap().to_owned();
        let key = (text("authorization"), text("idempotency-key"));
        let request = format!("{} {body}", uri.path());
        let number = {
            let (keys, count) = &mut *this.state.lock().unwrap();
            *count += 1;
            if *count == this.forgets_at {
                keys.clear();
            }
            match keys.get(&key) {
                Some((first, _)) if *first != request => {
                    return Self::error(StatusCode::BAD_REQUEST, "type", "idempotency_error");
                }
                Some((_, None)) => {
                    this.refused.notify_one();
                    return Self::error(StatusCode::CONFLICT, "code", "idempotency_key_in_use");
                }
                Some((_, Some(number))) => {
                    return ([("idempotent-replayed", "true")], format!("charge {number}")).into_response();
                }
                None => keys.insert(key.clone(), (request.clone(), None)),
            };
            *count
        };
        // The third request is one of two at once: it ends when the other one was refused.
        if number == 3 {
            this.refused.notified().await;
        }
        this.state.lock().unwrap().0.insert(key, (request, Some(number)));
        format!("charge {number}").into_response()
    }
}

fn probe(forgets_at: u32, more: &[&str]) -> Ended {
    let runtime = Runtime::new().unwrap();
    let destination = Destination { state: Arc::default(), refused: Arc::default(), forgets_at };
    let router = Router::new().fallback(Destination::answer).with_state(destination);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    runtime.spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        axum::serve(listener, router).await.unwrap();
    });
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    let output = program()
        .args(["probe", "stripe::V1", "--yes", "--url", &format!("{url}/v1/charges")])
        .args(["--other-url", &format!("{url}/v1/refunds")])
        .args(["--body", &file("body", "amount=7"), "--changed-body", &file("changed", "amount=8")])
        .args(["--header-env", "Authorization=OURS", "--other-header-env", "Authorization=THEIRS"])
        .args(more)
        .envs([("OURS", "Bearer ours"), ("THEIRS", "Bearer theirs")])
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

const NEVER: u32 = 0;

#[test]
fn a_sandbox_that_keeps_to_its_contract_agrees_without_a_flag() {
    let ended = probe(NEVER, &[]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let expected = "\
CHECK              DECLARED             VERDICT       OBSERVED
repeated request   the first answer     agrees        200, the same answer
its replay marker  idempotent-replayed  agrees        idempotent-replayed
two at once        409                  agrees        one was answered 409
changed input      400                  agrees        400, refused
other endpoint     -                    not declared  400, refused
other credential   keys of its own      agrees        200, an answer of its own: keys of its own
end of its window  -                    not probed    wait for it with --wait 27h
";
    assert_eq!(ended.out, expected);
}

#[test]
fn a_sandbox_that_speaks_otherwise_differs_where_a_flag_does_not_say_so() {
    let ended = probe(NEVER, &["--mismatch", "422"]);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.out.contains("changed input      422                  DIFFERS       400, refused"),
        "{}",
        ended.out
    );
    let ended = probe(NEVER, &["--in-flight", "409"]);
    assert_eq!(ended.code, Some(0), "{}", ended.out);
}

#[test]
fn the_end_of_a_short_window_is_waited_for() {
    const WAIT: [&str; 4] = ["--remembers-for", "1s", "--wait", "5s"];
    let rows = |forgets_at| {
        let ended = probe(forgets_at, &WAIT);
        let rows: Vec<String> = ended.out.lines().skip(7).map(str::to_owned).collect();
        (ended.code, rows)
    };
    let known = "end of its window  recognised for 900ms  agrees        200, the same answer";
    let forgotten =
        "after its window   -                     not declared  200, another answer: executed again";
    assert_eq!(rows(9), (Some(0), vec![known.to_owned(), forgotten.to_owned()]));
    let early = "end of its window  recognised for 900ms  DIFFERS       200, then 200: another answer";
    let (code, rows) = rows(8);
    assert_eq!((code, rows[0].as_str()), (Some(1), early));
}

#[test]
fn a_contract_that_is_not_known_sends_nothing() {
    let output =
        program().args(["probe", "stripe::V3", "--yes", "--url", "http://127.0.0.1:1"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(said, "error: there is no contract `stripe::V3`; the catalogue has: stripe::V1, stripe::V2\n");
}
