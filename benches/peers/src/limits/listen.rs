//! Waits for a notification, then claims and completes what is there.

use std::sync::Arc;

use futures_util::StreamExt as _;
use tokio::sync::Notify;
use tokio_postgres::{AsyncMessage, NoTls};

use super::{drain::Cycle, spawn};
use crate::subject::Result;

pub(super) async fn start(url: &str) -> Result<()> {
    let cycle = Cycle::open(url).await?;
    let (listener, mut connection) = tokio_postgres::connect(url, NoTls).await?;
    let heard = Arc::new(Notify::new());
    tokio::spawn({
        let heard = heard.clone();
        async move {
            let mut messages = futures_util::stream::poll_fn(move |context| connection.poll_message(context));
            while let Some(Ok(message)) = messages.next().await {
                if matches!(message, AsyncMessage::Notification(_)) {
                    heard.notify_one();
                }
            }
        }
    });
    listener.batch_execute("LISTEN jobs").await?;
    spawn(async move {
        // The connection closes with its client.
        let _listener = listener;
        loop {
            heard.notified().await;
            while cycle.turn(16).await? > 0 {}
        }
    });
    Ok(())
}
