//! The two servers that are compared.

use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::bare;
use crate::connection::Line;
use crate::server::{Kind, Served, Usage};

/// A server with a store of its own, and how a backlog gets into it.
pub(crate) struct Subject {
    served: Served,
    worker_key: String,
    is_bare: bool,
}

/// How many callers enqueue the backlog.
const PRODUCERS: usize = 16;

impl Subject {
    pub(crate) async fn bare(kind: Kind) -> Self {
        let own = || Command::new(std::env::current_exe().expect("the program knows its place"));
        let served = Served::start_as(kind, |store| {
            let mut command = own();
            command.args(["--bare", store]);
            command
        })
        .await;
        Self { served, worker_key: bare::KEY.to_owned(), is_bare: true }
    }

    pub(crate) async fn ratchet(kind: Kind) -> Self {
        let served = Served::start(kind, Duration::ZERO).await;
        let worker_key = served.key("worker");
        Self { served, worker_key, is_bare: false }
    }

    pub(crate) fn line(&self) -> Line {
        Line::new(&self.served.address, &self.worker_key)
    }

    pub(crate) fn usage(&self) -> Usage {
        self.served.usage()
    }

    /// Has so many jobs wait, and workers with room for all of them known.
    pub(crate) async fn prepare(&self, jobs: usize, workers: usize) {
        if self.is_bare {
            let keys: Vec<String> = (0..jobs).map(key).collect();
            let told = self.line().post("/jobs", &json!(keys)).await.expect("it answers");
            assert_eq!(told.status, 200);
            return;
        }
        let producer_key = self.served.key("producer");
        let mut producing = tokio::task::JoinSet::new();
        for first in 0..PRODUCERS {
            let line = Line::new(&self.served.address, &producer_key);
            producing.spawn(enqueue(line, (first..jobs).step_by(PRODUCERS).collect()));
        }
        producing.join_all().await;
        for number in 0..workers {
            let worker = json!({"workerId": worker(number), "capacity": 1000, "handlers": [{"name": "charge", "version": "1"}]});
            let told = self.line().post("/workers/register", &worker).await.expect("it answers");
            assert_eq!(told.status, 200, "{}", told.body);
        }
    }
}

async fn enqueue(mut line: Line, numbers: Vec<usize>) {
    let started = line.post("/runs", &json!({"name": "backlog"})).await.expect("it answers");
    let path = format!("/runs/{}/enqueue", started.body["run"]["id"].as_str().expect("a run has an id"));
    for number in numbers {
        let body = json!({
            "name": "charge", "version": "1", "input": {"order": 1, "customer": "c_4711", "cents": 1999},
            "idempotencyKey": key(number), "timeoutMs": 30_000
        });
        let told = line.post(&path, &body).await.expect("it answers");
        assert!(told.come_again().is_none() && told.status == 201, "{}", told.body);
    }
}

fn key(number: usize) -> String {
    format!("order:{number}:charge")
}

pub(crate) fn worker(number: usize) -> String {
    format!("worker-{number}")
}
