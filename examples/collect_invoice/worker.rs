//! The worker process: nothing in it knows that it will be killed.

use std::time::Duration;

use ratchet::Ratchet;

use crate::operations::{Payments, collect_invoice, collect_invoice_without_key};
use crate::{Result, standard_input_closed};

pub(crate) async fn run(store: &str, destination: String, without_key: bool) -> Result<()> {
    let ratchet = Ratchet::open(store).await?;
    let registry = if without_key {
        ratchet::registry![collect_invoice_without_key]
    } else {
        ratchet::registry![collect_invoice]
    };
    ratchet
        .worker(registry)
        .state(Payments {
            http: ratchet::http::Client::configured(ratchet::http::reqwest::ClientBuilder::no_proxy)?,
            url: destination,
        })
        .concurrency(8)
        // How long the invoices of a killed worker rest before the next one takes them.
        .lease(Duration::from_millis(600))
        .poll_interval(Duration::from_millis(50))
        .build()?
        .run(standard_input_closed())
        .await?;
    Ok(())
}
