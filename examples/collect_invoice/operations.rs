//! The operation: this is all that a user of Ratchet writes.

use std::time::Duration;

use ratchet::{Context, Contract, Failure, Input, RetryPolicy, State};
use serde::{Deserialize, Serialize};

/// What the payment service documents: it recognises a repeated request by this header for a day.
const PAYMENTS: Contract = Contract::header("Idempotency-Key").remembers_for(Duration::from_hours(24));

/// Short waits, so that the example ends within seconds.
const IMPATIENT: RetryPolicy =
    RetryPolicy::doubling(20, Duration::from_millis(100), Duration::from_millis(400))
        .within(Duration::from_hours(1));

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
pub(crate) struct CollectInvoice {
    pub(crate) invoice_id: String,
    pub(crate) customer_id: String,
    pub(crate) amount_cents: u64,
    pub(crate) currency: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) charge_id: String,
}

#[ratchet::operation(
    name = "collect_invoice",
    version = "1",
    key = "invoice:<invoice_id>:collect:v1",
    destination = PAYMENTS,
    retry = IMPATIENT,
    timeout = "10s"
)]
pub(crate) async fn collect_invoice(
    ctx: Context,
    State(payments): State<Payments>,
    input: CollectInvoice,
) -> Result<Receipt, Failure> {
    payments.charge(&ctx, &input).await
}

/// The same without a key: the destination cannot tell a repeated request from a new one, and the author accepts that.
#[ratchet::operation(
    name = "collect_invoice_without_key",
    version = "1",
    key = "invoice:<invoice_id>:collect-without-key:v1",
    destination = none,
    on_unknown = may_duplicate,
    retry = IMPATIENT,
    timeout = "10s"
)]
pub(crate) async fn collect_invoice_without_key(
    ctx: Context,
    State(payments): State<Payments>,
    input: CollectInvoice,
) -> Result<Receipt, Failure> {
    payments.charge(&ctx, &input).await
}

/// The way to the payment service.
#[derive(Debug, Clone)]
pub(crate) struct Payments {
    pub(crate) http: ratchet::http::Client,
    pub(crate) url: String,
}

impl Payments {
    async fn charge(&self, ctx: &Context, invoice: &CollectInvoice) -> Result<Receipt, Failure> {
        say("sending", &invoice.invoice_id);
        let answer =
            self.http.post(&format!("{}/charges", self.url)).json(invoice).idempotent(ctx).deliver().await?;
        say("answered", &invoice.invoice_id);
        // Some time always passes between an answer and the note that it came; here the parent likes to kill.
        tokio::time::sleep(Duration::from_millis(10)).await;
        answer.json()
    }
}

/// Tells the parent where this attempt is, so that it can kill the process at the worst moment.
fn say(moment: &str, invoice_id: &str) {
    println!("{moment} {invoice_id}");
}
