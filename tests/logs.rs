//! What reaches a log: names and digests, and neither keys nor inputs nor results nor what a handler said.
#![cfg(feature = "testing")]
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

#[path = "worker/support.rs"]
#[allow(dead_code, reason = "shared with the worker's tests")]
mod support;

use std::io;
use std::sync::{Arc, Mutex};

use ratchet::{Context, Failure, Input, Ratchet, RecordState};
use serde::{Deserialize, Serialize};
use support::{id_of, settled, start};
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Transfer {
    id: String,
    note: String,
    fails: bool,
}

#[ratchet::operation(name = "transfer", version = "1", key = "transfer:<id>")]
async fn transfer(_ctx: Context, input: Transfer) -> Result<String, Failure> {
    if input.fails {
        return Err(Failure::rejected(format_args!("secret-reason for {}", input.note)));
    }
    Ok(format!("secret-result for {}", input.note))
}

#[tokio::test]
async fn a_log_holds_names_and_digests_alone() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .with_ansi(false);
    let _guard = tracing::subscriber::set_default(subscriber.finish());

    let ratchet = Ratchet::in_memory();
    let worker = start(&ratchet, ratchet::registry![transfer]);
    let input = |id: &str, fails| Transfer { id: id.to_owned(), note: "secret-note".to_owned(), fails };
    let done = id_of(transfer::enqueue(&ratchet, input("secret-key", false)).await.unwrap());
    let failed = id_of(transfer::enqueue(&ratchet, input("secret-other", true)).await.unwrap());
    assert_eq!(settled(&ratchet, &done).await.state, RecordState::Succeeded);
    assert_eq!(settled(&ratchet, &failed).await.state, RecordState::Failed);
    let _ = ratchet.replay(failed.clone(), "secret-person", "secret-why", false).await.unwrap();
    let _ = ratchet.cancel(failed.clone(), "secret-person", "secret-why").await;
    worker.stop().await;

    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(!text.contains("secret"), "{text}");
    for said in [
        "submitted operation=transfer".to_owned(),
        format!("key={}", done.digest()),
        format!("key={}", failed.digest()),
        "attempt ended outcome=\"done\" state=succeeded".to_owned(),
        "attempt ended outcome=\"rejected\" cause=handler state=failed".to_owned(),
        "action=\"replay\"".to_owned(),
        "attempt=1".to_owned(),
    ] {
        assert!(text.contains(&said), "{said} is missing in\n{text}");
    }
}
