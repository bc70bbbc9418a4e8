//! Clients of other makers: curl, Python, Node, and the SDK of a payment provider.

use std::path::Path;

use axum::extract::Extension;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use ratchet::http::inbound::NotExecuted;
use serde_json::{Value, json};
use tokio::process::Command;

use super::service::{Call, Service, within};

/// One with the packages of the tests.
const PYTHON: &str = "target/tools/python/bin/python";

/// Runs a program to its end and reads its last line, which is JSON. `cargo xtask test` provides the programs.
async fn run(program: &str, arguments: &[&str]) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let started = Command::new(if program == PYTHON { root.join(program) } else { program.into() })
        .args(arguments)
        .current_dir(root)
        .output();
    let output = within(started).await.unwrap_or_else(|error| {
        panic!("`{program}` cannot be started ({error}): `cargo xtask test --only tests` provides it")
    });
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap()
}

/// A payment service that cannot be reached at its first attempt, and charges from then on.
async fn charges() -> Service {
    Service::new(
        |layer| layer,
        async |call: Call| match call.number {
            1 => (Extension(NotExecuted), StatusCode::SERVICE_UNAVAILABLE).into_response(),
            number => {
                let body =
                    json!({ "id": format!("ch_{number}"), "object": "charge", "amount": 1400 }).to_string();
                Response::builder().header("content-type", "application/json").body(body.into()).unwrap()
            }
        },
    )
    .await
}

/// What every client sees that sends `amount=1400` four times, the third time with its key in quotation marks, and then
/// another amount under the same key: status, whether it was repeated, and the charge or what is wrong.
fn expected() -> Value {
    json!([
        [503, null, null],
        [200, null, "ch_2"],
        [200, "true", "ch_2"],
        [200, "true", "ch_2"],
        [422, null, "key-reused"],
    ])
}

#[tokio::test]
async fn curl_is_charged_once() {
    let service = charges().await;
    let script = "tests/inbound/clients/client.sh";
    assert_eq!(run("sh", &[script, &service.url]).await, expected());
    assert_eq!(service.executions(), 2);
}

#[tokio::test]
async fn python_is_charged_once() {
    let service = charges().await;
    let script = "tests/inbound/clients/client.py";
    assert_eq!(run(PYTHON, &[script, &service.url]).await, expected());
    assert_eq!(service.executions(), 2);
}

#[tokio::test]
async fn node_is_charged_once() {
    let service = charges().await;
    let script = "tests/inbound/clients/client.mjs";
    assert_eq!(run("node", &[script, &service.url]).await, expected());
    assert_eq!(service.executions(), 2);
}

/// Stripe's SDK repeats a request by itself, with the same key, where it is told that the service was unavailable.
#[tokio::test]
async fn the_sdk_of_a_payment_provider_is_charged_once() {
    let service = charges().await;
    let script = "tests/inbound/clients/stripe_sdk.py";
    let seen = run(PYTHON, &[script, &service.url]).await;
    assert_eq!(seen["charges"], json!(["ch_2", "ch_2"]));
    assert_eq!(seen["replayed"], json!([null, "true"]));
    assert_eq!(seen["other_amount"], json!(422));
    assert_eq!(service.executions(), 2);
}
