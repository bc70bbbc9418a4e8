//! SMTP recognises no repetition, and nothing says what to do about it.

use ratchet::mail::{MAIL, Mailer};
use ratchet::{Context, Failure, Input, State};

#[derive(serde::Serialize, serde::Deserialize, Input)]
struct Order {
    order_id: u64,
}

#[ratchet::operation(name = "send_receipt", version = "1", key = "order:<order_id>:receipt:v1", destination = MAIL)]
async fn send_receipt(ctx: Context, State(mailer): State<Mailer>, input: Order) -> Result<String, Failure> {
    let text = format!("Thank you for order {}.", input.order_id);
    let message = ratchet::mail::lettre::Message::builder().to("ada@customer.example".parse()?).body(text)?;
    Ok(mailer.send(&ctx, message).await?.to_string())
}

fn main() {}
