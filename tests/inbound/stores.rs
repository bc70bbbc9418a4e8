//! One execution per key on the stores that are on disk, with many connections and several servers.

use std::future::Future;

use ratchet::Ratchet;
use ratchet::ledger::SharedLedger;
use tokio::task::JoinSet;

use super::service::{Answer, Service, plain};

/// Sends 16 requests to each of two servers on one store, all at once.
async fn one_execution<F>(open: impl Fn() -> F)
where
    F: Future<Output = SharedLedger> + Send + 'static,
{
    let handler = async |call: super::service::Call| plain(201, format!("charge {}", call.number));
    let one = Service::start(open(), |layer| layer, handler).await;
    let other = Service::start(open(), |layer| layer, handler).await;
    let servers = [&one, &other];
    let mut requests: JoinSet<Answer> =
        (0..16).flat_map(|_| servers).map(|server| Answer::to(server.post("k"))).collect();
    let mut executed = 0;
    while let Some(answer) = requests.join_next().await {
        let answer = answer.unwrap();
        match answer.status {
            201 => executed += u32::from(!answer.is_replayed()),
            _ => assert_eq!(answer.problem().1, "in-flight"),
        }
    }
    assert_eq!((executed, one.executions() + other.executions()), (1, 1));
    for server in servers {
        let again = server.charge("k").await;
        assert_eq!((again.status, again.text(), again.is_replayed()), (201, "charge 1", true));
    }
}

fn opened(url: &str) -> impl Future<Output = SharedLedger> + Send + use<> {
    let url = url.to_owned();
    async move { Ratchet::open(&url).await.unwrap().ledger().clone() }
}

#[tokio::test]
async fn many_requests_to_two_servers_on_one_file_are_executed_once() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("ratchet.db").display());
    one_execution(|| opened(&url)).await;
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn many_requests_to_two_servers_on_one_database_server_are_executed_once() {
    let database = ratchet_test_postgres::shared().database().await;
    one_execution(|| opened(&database.url())).await;
}
