//! The worker process: nothing in it knows that it will be killed.

use std::net::SocketAddr;
use std::time::Duration;

use ratchet::{Ratchet, Worker};

use crate::operations::{Payments, collect_invoice, collect_invoice_without_key};
use crate::{Result, standard_input_closed};

/// An engine reaches it at an address; a database needs none.
pub(crate) async fn run(
    store: &str,
    address: Option<SocketAddr>,
    destination: String,
    without_key: bool,
) -> Result<()> {
    #[cfg(feature = "restate")]
    if let Some(address) = address {
        let build = |ratchet: &Ratchet| build(ratchet, destination, without_key);
        return crate::serve::worker(store, address, build).await;
    }
    #[cfg(not(feature = "restate"))]
    let _ = address;
    let worker = build(&Ratchet::open(store).await?, destination, without_key)?;
    Ok(worker.run(standard_input_closed()).await?)
}

fn build(ratchet: &Ratchet, destination: String, without_key: bool) -> Result<Worker> {
    let registry = if without_key {
        ratchet::registry![collect_invoice_without_key]
    } else {
        ratchet::registry![collect_invoice]
    };
    let worker = ratchet
        .worker(registry)
        .state(Payments {
            http: ratchet::http::Client::configured(ratchet::http::reqwest::ClientBuilder::no_proxy)?,
            url: destination,
        })
        .concurrency(8)
        // How long the invoices of a killed worker rest before the next one takes them.
        .lease(Duration::from_millis(600))
        .poll_interval(Duration::from_millis(50))
        .build()?;
    Ok(worker)
}
