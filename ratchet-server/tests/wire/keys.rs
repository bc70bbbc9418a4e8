//! Keys of callers: what they open, and for how long.

use std::time::Duration;

use serde_json::json;

use crate::support::{Server, Store, answer, program};

#[tokio::test]
async fn a_revoked_key_opens_nothing_any_more() {
    let server = Server::start(Store::file());
    let key = server.producer();
    server.run(&key).await;
    let id = key.split('_').nth(1).unwrap();
    let store = server.store.url();
    let revoked = program().args(["keys", "revoke", id, "--store", &store]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&revoked.stdout), format!("revoked {id}\n"));
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    while server.post(&key, "/runs", &json!({"name": "test"})).await.0 != 401 {
        assert!(tokio::time::Instant::now() < deadline, "it still opens");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let listed = program().args(["keys", "list", "--store", &store]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout);
    assert!(listed.contains(id) && listed.contains("revoked at"), "{listed}");
    let secret = key.splitn(3, '_').nth(2).unwrap();
    assert!(!listed.contains(secret));
    let unknown = program().args(["keys", "revoke", "nobody", "--store", &store]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(1));
}

#[tokio::test]
async fn what_is_no_good_key_is_told_nothing() {
    let server = Server::start(Store::file());
    let key = server.producer();
    let last = if key.ends_with('A') { 'E' } else { 'A' };
    let wrong_secret = format!("{}{last}", &key[..key.len() - 1]);
    let mut told = Vec::new();
    for wrong in [
        "",
        "x",
        "ratchet_0000000000000000_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        wrong_secret.as_str(),
    ] {
        told.push(server.get(wrong, "/runs/run_1").await);
    }
    let (status, body) = told.pop().unwrap();
    assert_eq!((status, &body["code"]), (401, &json!("UNAUTHORIZED")));
    assert!(told.iter().all(|other| other == &(401, body.clone())), "{told:?}");
    let without = server.http.get(format!("{}/api/v1/runs/run_1", server.url)).send().await.unwrap();
    assert_eq!(
        (without.status().as_u16(), &without.headers()["www-authenticate"]),
        (401, &"Bearer".parse().unwrap())
    );
}

#[tokio::test]
async fn namespaces_are_separate_worlds() {
    let server = Server::start(Store::file());
    let here = server.producer();
    let there = server.key(&["--scope", "producer", "--scope", "operator", "--namespace", "staging"]);
    let run = server.run(&here).await;
    let body = json!({"name": "charge", "version": "1", "input": 1, "idempotencyKey": "order:1"});
    let (_, step) = server.post(&here, &format!("/runs/{run}/enqueue"), &body).await;
    let step_id = step["stepId"].as_str().unwrap();
    assert_eq!(server.get(&there, &format!("/runs/{run}")).await.0, 404);
    assert_eq!(server.get(&there, &format!("/steps/{step_id}")).await.0, 404);
    assert_eq!(server.get(&there, &format!("/steps/{step_id}/replay")).await.0, 404);
    // The same key names another action there, and another input is no conflict.
    let run = server.run(&there).await;
    let other = json!({"name": "charge", "version": "1", "input": 2, "idempotencyKey": "order:1"});
    let (status, _) = server.post(&there, &format!("/runs/{run}/enqueue"), &other).await;
    assert_eq!(status, 201);
    let after = json!({
        "name": "charge", "version": "1", "input": 3, "idempotencyKey": "order:2",
        "after": {"stepId": step_id, "on": "SUCCEEDED"}
    });
    assert_eq!(server.post(&there, &format!("/runs/{run}/enqueue"), &after).await.0, 404);
}

#[tokio::test]
async fn a_producer_follows_only_what_it_may_see() {
    let server = Server::start(Store::file());
    let (own, other) = (server.producer(), server.producer());
    let refunds = server.key(&["--scope", "producer", "--operation", "refund"]);
    let both = server.key(&["--scope", "producer", "--scope", "operator"]);
    let run = server.run(&own).await;
    let body = json!({"name": "charge", "version": "1", "input": 1, "idempotencyKey": "order:1"});
    let (_, step) = server.post(&own, &format!("/runs/{run}/enqueue"), &body).await;
    for (key, name, expected) in
        [(&other, "mail", 404), (&refunds, "refund", 404), (&own, "mail", 201), (&both, "mail", 201)]
    {
        let run = server.run(key).await;
        let after = json!({
            "name": name, "version": "1", "input": 1, "idempotencyKey": format!("{run}:next"),
            "after": {"stepId": step["stepId"], "on": "FAILED"}
        });
        let (status, told) = server.post(key, &format!("/runs/{run}/enqueue"), &after).await;
        assert_eq!(status, expected, "{told}");
    }
}

#[tokio::test]
async fn keys_of_one_name_share_what_they_enqueued() {
    let server = Server::start(Store::file());
    let (old, new) = (
        server.key(&["--scope", "producer", "--name", "billing", "--expires", "30d"]),
        server.key(&["--scope", "producer", "--name", "billing"]),
    );
    let run = server.run(&old).await;
    assert_eq!(server.get(&new, &format!("/runs/{run}")).await.0, 200);
    assert_eq!(server.get(&server.producer(), &format!("/runs/{run}")).await.0, 404);
}

#[tokio::test]
async fn a_key_may_ask_so_often_in_a_second_and_is_told_when_to_come_again() {
    let server = Server::start_with(Store::file(), &["--rate", "3"]);
    let key = server.producer();
    let ask = || server.request(ratchet::http::reqwest::Method::GET, &key, "/runs/run_1").send();
    let mut statuses = Vec::new();
    for _ in 0..20 {
        let response = ask().await.unwrap();
        statuses.push(response.status().as_u16());
        if response.status() == 429 {
            assert_eq!(response.headers()["retry-after"], "1");
        }
    }
    assert_eq!(statuses[..3], [404, 404, 404]);
    assert!(statuses.contains(&429), "{statuses:?}");
    let other = server.producer();
    assert_eq!(
        answer(server.request(ratchet::http::reqwest::Method::GET, &other, "/runs/run_1")).await.0,
        404
    );
}
