//! What producers of the published client see.

use serde_json::json;

use crate::support::{Server, Store, printed, python};

async fn an_action_is_enqueued_executed_and_known_for_ever(store: Store) {
    let server = Server::start(store);
    let keys = [server.producer(), server.worker(), server.producer()];
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let seen = printed(python(&server, include_str!("python/thin.py"), &keys)).await;
    let output = json!({"receipt": "inv_2048", "amount": 1});
    assert_eq!(
        seen,
        json!({
            "first": [true, "PENDING", true],
            "again": [false, true],
            "context": true,
            "done": ["SUCCEEDED", 1, false, output],
            "late": ["SUCCEEDED", output],
            "conflict": ["RatchetError", 422, "IDEMPOTENCY_CONFLICT"],
            "other": ["SUCCEEDED", false],
            "other looks": ["RatchetError", 404, "NOT_FOUND"],
            "worker enqueues": ["AuthorizationError", 403, "FORBIDDEN"],
            "producer works": ["AuthorizationError", 403, "FORBIDDEN"],
            "finished": "SUCCEEDED",
            "errors": []
        })
    );
}

#[tokio::test]
async fn a_file_serves_the_published_client() {
    an_action_is_enqueued_executed_and_known_for_ever(Store::file()).await;
}

#[tokio::test]
async fn a_database_serves_the_published_client() {
    an_action_is_enqueued_executed_and_known_for_ever(Store::database().await).await;
}

#[tokio::test]
async fn a_key_that_the_client_generates_is_that_of_its_run() {
    let server = Server::start(Store::file());
    let seen = printed(python(&server, include_str!("python/generated.py"), &[&server.producer()])).await;
    assert_eq!(
        seen,
        json!({"same": [true, false, true], "others": [true, true], "runs": [true, true], "ids": 3})
    );
}

async fn a_branch_that_is_not_taken_is_skipped(store: Store) {
    let server = Server::start(store);
    let keys = [server.producer(), server.worker()];
    let seen = printed(python(&server, include_str!("python/branches.py"), &[&keys[0], &keys[1]])).await;
    assert_eq!(
        seen,
        json!({
            "waiting": ["WAITING", "WAITING", "WAITING", "WAITING", "WAITING"],
            "late": ["RatchetError", 422, "RUN_FINISHED"],
            "again": false,
            "ends": {
                "follow good": "SUCCEEDED",
                "fallback good": "SKIPPED",
                "follow bad": "SKIPPED",
                "fallback bad": "SUCCEEDED",
                "after the skipped one": "SKIPPED"
            },
            "executed": ["charge bad", "charge good", "fallback bad", "follow good"],
            "failed": ["UNCERTAIN", true, 1, "not_retryable: card refused, token=[REDACTED]"],
            "listed": [7, null],
            "unknown": ["RatchetError", 404, "NOT_FOUND"],
            "reopened": ["RatchetError", 422, "RUN_FINISHED"]
        })
    );
}

#[tokio::test]
async fn a_branch_is_taken_or_skipped_in_a_file() {
    a_branch_that_is_not_taken_is_skipped(Store::file()).await;
}

#[tokio::test]
async fn a_branch_is_taken_or_skipped_in_a_database() {
    a_branch_that_is_not_taken_is_skipped(Store::database().await).await;
}

#[tokio::test]
async fn a_step_is_retried_as_its_contract_its_endpoint_and_its_handler_say() {
    let server = Server::start(Store::file());
    let keys = [server.producer(), server.worker(), server.operator()];
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let seen = printed(python(&server, include_str!("python/policies.py"), &keys)).await;
    assert_eq!(
        seen,
        json!({
            "default": {"preset": "STANDARD"},
            "kept": true,
            "failed": [3, true, "failed: attempt 3, mail [REDACTED EMAIL]"],
            "by newest contract": 1,
            "by named contract": true,
            "by hint": true,
            "unknown contract": ["RatchetError", 422, "UNKNOWN_CONTRACT"],
            "changed contract": ["RatchetError", 422, "CONTRACT_EXISTS"],
            "bad policy": ["ValidationError", 400, "INVALID_REQUEST"],
            "producer sets": ["AuthorizationError", 403, "FORBIDDEN"],
            "too many": ["ValidationError", 400, "INVALID_REQUEST"],
            "too quick": ["ValidationError", 400, "INVALID_REQUEST"]
        })
    );
}

#[tokio::test]
async fn a_job_is_cancelled_before_and_while_it_is_executed() {
    let server = Server::start(Store::file());
    let keys = [server.producer(), server.worker()];
    let seen = printed(python(&server, include_str!("python/stopping.py"), &[&keys[0], &keys[1]])).await;
    assert_eq!(
        seen,
        json!({
            "pending": ["CANCELLED", false],
            "asked": ["RUNNING", true],
            "told": true,
            "ended": ["UNCERTAIN", true],
            "again": ["RatchetError", 422, "WRONG_STATE"],
            "unknown": ["RatchetError", 404, "NOT_FOUND"]
        })
    );
}

#[tokio::test]
async fn a_step_that_failed_is_replayed_after_a_look_at_the_risk() {
    let server = Server::start(Store::file());
    let keys = [server.producer(), server.worker(), server.operator()];
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let seen = printed(python(&server, include_str!("python/replaying.py"), &keys)).await;
    let key = "order:1:charge";
    assert_eq!(
        seen,
        json!({
            "too early": ["RatchetError", 422, "WRONG_STATE"],
            "failed": "UNCERTAIN",
            "preview": {"state": "UNCERTAIN", "replayable": true, "duplicateRisk": true},
            "unconfirmed": [1, null],
            "by producer": ["AuthorizationError", 403, "FORBIDDEN"],
            "first": ["PENDING", true],
            "again": ["UNCERTAIN", 2],
            "done": ["SUCCEEDED", 3, "charged"],
            "keys": [key, key, key],
            "after success": [false, ["RatchetError", 422, "WRONG_STATE"]]
        })
    );
}
