//! What the mailer makes of everything that a relay can do, against real sockets.
#![cfg(all(feature = "mail", feature = "testing"))]

mod answers;
mod identity;
mod independent;
mod limits;
mod office;
mod refused;
mod relay;
mod several;
#[cfg(feature = "tls")]
mod tls;
mod tradeoffs;

use ratchet::mail::lettre::Message;
use ratchet::mail::lettre::message::MessageBuilder;
use ratchet::mail::{MAIL, Mailer, Relay};
use ratchet::{Context, Failure, Input, RetryPolicy, State};
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Order {
    order_id: u64,
}

const ORDER: Order = Order { order_id: 7 };
const AT_ONCE: RetryPolicy = RetryPolicy::doubling(3, Duration::ZERO, Duration::ZERO);

#[ratchet::operation(name = "send_receipt", version = "1", key = "order:<order_id>:receipt:v1",
    destination = MAIL, on_unknown = may_duplicate, retry = AT_ONCE)]
async fn send_receipt(ctx: Context, State(mailer): State<Mailer>, input: Order) -> Result<String, Failure> {
    Ok(mailer.send(&ctx, receipt(input.order_id)).await?.to_string())
}

/// The Message-ID of the first order's receipt, computed by hand from the key.
const RECEIPT_ID: &str = "<bb0a2f6399faf997dcb84464b710c4f2@shop.example>";

fn receipt(order_id: u64) -> Message {
    letter().subject("Your receipt").body(format!("Thank you for order {order_id}.")).unwrap()
}

fn letter() -> MessageBuilder {
    Message::builder().from("shop@shop.example".parse().unwrap()).to("ada@customer.example".parse().unwrap())
}

fn context() -> Context {
    send_receipt::test_context(&ORDER)
}

fn mailer(relay: &relay::Scripted) -> Mailer {
    Mailer::new(Relay::plain("127.0.0.1").port(relay.port), "shop.example").unwrap()
}
