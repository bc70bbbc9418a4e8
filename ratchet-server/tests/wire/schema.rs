//! The description of the protocol, and whether the server keeps to it.

use serde_json::Value;

use crate::support::{Server, Store, answer, program};

#[tokio::test]
async fn the_description_lists_every_call() {
    let printed = program().arg("openapi").output().unwrap();
    let described: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let server = Server::start(Store::file());
    let served = answer(server.http.get(format!("{}/api/v1/openapi.json", server.url))).await;
    assert_eq!(served, (200, described.clone()));
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
