//! The endpoints that a Restate engine pushes to, where workers poll a database.

use std::net::SocketAddr;

use ratchet::restate::{RestateLedger, serve, serve_attempts};
use ratchet::{Ratchet, Worker};
use tokio::net::TcpListener;

use crate::{Result, standard_input_closed};

pub(crate) async fn records(store: &str) -> Result<()> {
    let ledger = RestateLedger::open(store)?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let uri = format!("http://{}", listener.local_addr()?);
    Ok(serve(&ledger, None, listener, &uri, standard_input_closed()).await?)
}

pub(crate) async fn worker(
    store: &str,
    address: SocketAddr,
    build: impl FnOnce(&Ratchet) -> Result<Worker>,
) -> Result<()> {
    let ledger = RestateLedger::open(store)?;
    let worker = build(&Ratchet::with_ledger(ledger.clone()))?;
    let listener = TcpListener::bind(address).await?;
    let uri = format!("http://{address}");
    Ok(serve_attempts(&ledger, worker, listener, &uri, standard_input_closed()).await?)
}
