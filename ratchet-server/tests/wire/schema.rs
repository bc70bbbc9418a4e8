//! The description of the protocol, and whether the server keeps to it.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Server, Store, answer, interpreter, program};

#[tokio::test]
async fn the_description_lists_every_call() {
    let printed = program().arg("openapi").output().unwrap();
    let described: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let server = Server::start(Store::file());
    let shown = answer(server.http.get(format!("{}/api/v1/openapi.json", server.url))).await;
    assert_eq!(shown, (200, described.clone()));
    let mut calls: Vec<String> = Vec::new();
    for (path, item) in described["paths"].as_object().unwrap() {
        calls.extend(item.as_object().unwrap().keys().map(|method| format!("{method} {path}")));
    }
    calls.sort();
    assert_eq!(
        calls,
        [
            "get /api/v1/endpoints/{endpoint}/policy",
            "get /api/v1/runs/{run}",
            "get /api/v1/runs/{run}/steps",
            "get /api/v1/steps/{step}",
            "get /api/v1/steps/{step}/replay",
            "patch /api/v1/runs/{run}",
            "post /api/v1/jobs/{job}/cancel",
            "post /api/v1/runs",
            "post /api/v1/runs/{run}/enqueue",
            "post /api/v1/steps/{step}/replay",
            "post /api/v1/tools",
            "post /api/v1/workers/claim",
            "post /api/v1/workers/jobs/{job}/heartbeat",
            "post /api/v1/workers/jobs/{job}/report",
            "post /api/v1/workers/register",
            "put /api/v1/endpoints/{endpoint}/policy"
        ]
    );
    for item in described["paths"].as_object().unwrap().values() {
        for call in item.as_object().unwrap().values() {
            let answers = call["responses"].as_object().unwrap();
            assert!(answers.keys().all(|status| status.as_str() < "500" || status == "503"), "{call}");
        }
    }
}

/// Requests that the description allows, and some that it does not: what comes back is as described, and never a fault.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_asked_is_answered_as_described() {
    let server = Server::start_with(Store::file(), &["--rate", "1000000"]);
    let key = server.key(&["--scope", "producer", "--scope", "worker", "--scope", "operator"]);
    // Something to be found.
    let run = server.run(&key).await;
    let body = json!({"name": "charge", "version": "1", "input": 1, "idempotencyKey": "order:1"});
    let (_, step) = server.post(&key, &format!("/runs/{run}/enqueue"), &body).await;
    let folder = tempfile::tempdir().unwrap();
    let found = format!(
        "[parameters]\n\"path.run\" = \"{run}\"\n\"path.step\" = {}\n\"path.job\" = {}\n",
        step["stepId"], step["jobId"]
    );
    std::fs::write(folder.path().join("schemathesis.toml"), found).unwrap();
    let mut command = Command::new(interpreter());
    command
        .args(["-m", "schemathesis.cli", "run", &format!("{}/api/v1/openapi.json", server.url)])
        .args(["--header", &format!("Authorization: Bearer {key}")])
        .args(["--checks", CHECKS, "--max-examples", "15", "--seed", "1", "--no-color", "--no-shrink"])
        .args(["--generation-database", "none"])
        .current_dir(folder.path());
    let ended = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
}

const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
    response_schema_conformance,negative_data_rejection,missing_required_header,unsupported_method";
