//! Workers of one store, in this process and with connections of their own.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::shop::{Desk, charge};
use crate::stores::Store;
use crate::till::Opened;

const SECRET: [u8; 32] = [1; 32];
const LATER_SECRET: [u8; 32] = [2; 32];

pub(crate) struct Working {
    end: watch::Sender<bool>,
    workers: JoinSet<()>,
    held: mpsc::UnboundedReceiver<()>,
}

impl Working {
    /// Two workers. Those that are `later` make keys with another secret where nothing was sent before, so that only a pin
    /// that was carried lets them send the same key again.
    pub(crate) async fn start(store: &Store, name: &'static str, later: bool, open: &Opened) -> Self {
        let (arrived, held) = mpsc::unbounded_channel();
        let (end, _) = watch::channel(false);
        let mut workers = JoinSet::new();
        for _ in 0..2 {
            let desk = Desk {
                workers: name,
                url: open.url.clone(),
                till: open.till.clone(),
                arrived: arrived.clone(),
            };
            let builder = store.open().await.worker(ratchet::registry![charge]);
            let builder = builder.state(desk).state(ratchet::http::Client::new().unwrap());
            let builder = builder.poll_interval(Duration::from_millis(5)).wire_secret("first", SECRET);
            let builder = if later { builder.wire_secret("later", LATER_SECRET) } else { builder };
            let (worker, mut ended) = (builder.build().unwrap(), end.subscribe());
            workers.spawn(async move {
                let ended = async {
                    let _ = ended.wait_for(|ended| *ended).await;
                };
                worker.run(ended).await.unwrap();
            });
        }
        Self { end, workers, held }
    }

    /// Until the order that is held has a handler.
    pub(crate) async fn holding(&mut self) {
        self.held.recv().await.unwrap();
    }

    pub(crate) async fn end(mut self) {
        self.end.send_replace(true);
        while let Some(ended) = self.workers.join_next().await {
            ended.unwrap();
        }
    }
}
