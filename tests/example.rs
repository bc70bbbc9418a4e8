//! The example itself, with its real kills.
#![cfg(all(feature = "http", feature = "sqlite"))]

#[cfg(feature = "restate")]
#[path = "../ratchet-restate/tests/support/server.rs"]
mod server;

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

/// Cargo builds examples together with the tests, in the folder beside theirs.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.ancestors().nth(2).unwrap().join("examples/collect_invoice");
    assert!(path.exists(), "build it first: cargo build --example collect_invoice");
    path
}

fn run(arguments: &[&str]) -> (Value, String) {
    let output = Command::new(example()).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    (serde_json::from_str(text.lines().last().unwrap()).unwrap(), text)
}

#[test]
fn every_invoice_is_charged_once_through_all_kills() {
    let (figures, text) = run(&["--json"]);
    for (name, value) in [
        ("invoices", 200),
        ("enqueued", 200),
        ("duplicates", 6),
        ("conflicts", 1),
        ("kills", 8),
        ("charges", 200),
        ("double_charges", 0),
        ("uncharged", 0),
    ] {
        assert_eq!(figures[name], json!(value), "{name} in {text}");
    }
    let requests = figures["requests"].as_i64().unwrap();
    assert!(requests > 200, "the kills must repeat requests: {text}");
    assert!(figures["attempts"].as_i64().unwrap() >= requests, "{text}");
}

/// Killed in the same way, with the records in a database server.
#[cfg(feature = "postgres")]
#[tokio::test]
async fn every_invoice_is_charged_once_with_postgres_too() {
    let database = ratchet_test_postgres::shared().database().await;
    let (figures, text) = run(&["--json", "--store", &database.url()]);
    let of = |name: &str| figures[name].as_i64().unwrap();
    assert_eq!((of("enqueued"), of("kills"), of("charges")), (200, 8, 200), "{text}");
    assert_eq!((of("double_charges"), of("uncharged")), (0, 0), "{text}");
}

/// Killed in the same way, with the records in an engine that pushes.
#[cfg(feature = "restate")]
#[test]
fn every_invoice_is_charged_once_with_restate_too() {
    let engine = server::Server::start();
    let (figures, text) = run(&["--json", "--store", &engine.url()]);
    let of = |name: &str| figures[name].as_i64().unwrap();
    assert_eq!((of("enqueued"), of("duplicates"), of("conflicts")), (200, 6, 1), "{text}");
    assert_eq!((of("kills"), of("charges")), (8, 200), "{text}");
    assert_eq!((of("double_charges"), of("uncharged")), (0, 0), "{text}");
    assert!(of("requests") > 200, "the kills must repeat requests: {text}");
}

#[test]
fn without_a_key_the_same_kills_charge_again() {
    let (figures, text) = run(&["--without-key", "--json"]);
    assert_eq!((&figures["enqueued"], &figures["uncharged"]), (&json!(200), &json!(0)), "{text}");
    assert!(figures["double_charges"].as_i64().unwrap() > 0, "{text}");
    assert_eq!(figures["charges"], figures["requests"], "{text}");
}

#[test]
fn an_unknown_argument_is_refused() {
    let output = Command::new(example()).arg("--withoutkey").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
