//! What runs beside the workers where a Restate engine keeps the records.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use ratchet::Ratchet;
use tokio::net::TcpListener;

use super::child::Child;
use crate::Result;

/// A database needs none of it.
#[derive(Default)]
pub(crate) struct Engine {
    /// Where the engine reaches the worker. The next one comes back at the address of the one that was killed, as it would behind
    /// a name: what the engine had begun there goes on at once.
    pub(crate) address: Option<SocketAddr>,
    /// The program that serves the records. It is not killed.
    _records: Option<Child>,
}

impl Engine {
    /// Ready when the records can be asked for.
    pub(crate) async fn start(store: &str, ratchet: &Ratchet) -> Result<Self> {
        if !store.starts_with("restate") {
            return Ok(Self::default());
        }
        let records = Child::spawn(&["records".as_ref(), store.as_ref()])?;
        let registered = async {
            while ratchet.ledger().mark().await.is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let ready = tokio::time::timeout(Duration::from_mins(1), registered).await;
        ready.map_err(|_| "the engine does not answer: is it there, and can it reach this machine?")?;
        // It is free again as soon as it is known, for the worker.
        let any_port = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        let address = TcpListener::bind(any_port).await?.local_addr()?;
        Ok(Self { address: Some(address), _records: Some(records) })
    }
}
