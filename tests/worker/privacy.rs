//! What is hidden of inputs, and what is left out of their fingerprints.

use ratchet::{Conflict, Context, Enqueued, Failure, Input, Ratchet, registry};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{id_of, record, settled, start};

#[derive(Serialize, Deserialize, Input)]
#[serde(rename_all = "camelCase")]
struct Customer {
    id: u64,
    #[pii]
    email_address: String,
}

#[derive(Serialize, Deserialize, Input)]
struct SendReceipt {
    #[key]
    order_id: u64,
    customer: Customer,
    #[serde(default)]
    others: Option<Vec<Customer>>,
    #[pii]
    #[serde(rename = "shippedTo")]
    shipping_address: Option<String>,
    #[volatile]
    #[serde(default)]
    requested_at: u64,
}

#[ratchet::operation(name = "send_receipt", version = "1", key = "receipt:<order_id>:send:v1")]
async fn send_receipt(_ctx: Context, input: SendReceipt) -> Result<String, Failure> {
    Ok(input.customer.email_address)
}

#[ratchet::operation(name = "notify", version = "1", key = "notify:<order_id>:v1")]
async fn notify(
    _ctx: Context,
    #[key] order_id: u64,
    #[pii] email: String,
    customer: Customer,
    #[volatile] requested_at: u64,
) -> Result<(), Failure> {
    let _ = (order_id, email, customer, requested_at);
    Ok(())
}

fn customer(id: u64) -> Customer {
    Customer { id, email_address: "ada@example.com".to_owned() }
}

fn receipt(requested_at: u64) -> SendReceipt {
    SendReceipt {
        order_id: 7,
        customer: customer(1),
        others: Some(vec![customer(2), customer(3)]),
        shipping_address: Some("Main Street 1".to_owned()),
        requested_at,
    }
}

fn shown() -> Value {
    json!({
        "order_id": 7,
        "customer": {"id": 1, "emailAddress": "[redacted]"},
        "others": [{"id": 2, "emailAddress": "[redacted]"}, {"id": 3, "emailAddress": "[redacted]"}],
        "shippedTo": "[redacted]",
        "requested_at": 1,
    })
}

#[test]
fn a_redacted_input_shows_everything_but_personal_data() {
    let input = receipt(1);
    assert_eq!(serde_json::to_value(input.redacted()).unwrap(), shown());
    assert_eq!(format!("{:?}", input.redacted()), input.redacted().to_string());
    assert!(!input.redacted().to_string().contains("ada@"));
}

#[tokio::test]
async fn people_see_inputs_once_a_worker_has_said_what_is_hidden() {
    let ratchet = Ratchet::in_memory();
    let id = id_of(send_receipt::enqueue(&ratchet, receipt(1)).await.unwrap());
    let stored = record(&ratchet, &id).await;
    assert_eq!(ratchet.redacted_input(&stored).await.unwrap(), json!("[redacted]"));
    let worker = start(&ratchet, registry![send_receipt]);
    let done = settled(&ratchet, &id).await;
    worker.stop().await;
    assert_eq!(ratchet.redacted_input(&done).await.unwrap(), shown());
    // The handler has the input as it was sent.
    assert_eq!(done.result.unwrap().decode::<String>().unwrap(), "ada@example.com");
}

#[tokio::test]
async fn parameters_are_marked_like_fields() {
    let ratchet = Ratchet::in_memory();
    let id = id_of(notify::enqueue(&ratchet, 7, "ada@example.com".to_owned(), customer(1), 1).await.unwrap());
    let again = notify::enqueue(&ratchet, 7, "ada@example.com".to_owned(), customer(1), 2).await.unwrap();
    assert!(matches!(again, Enqueued::Existing { .. }), "{again:?}");
    let other = notify::enqueue(&ratchet, 7, "bob@example.com".to_owned(), customer(1), 1).await.unwrap();
    assert_eq!(other, Enqueued::Conflict(Conflict::OtherInput));
    let worker = start(&ratchet, registry![notify]);
    let done = settled(&ratchet, &id).await;
    worker.stop().await;
    let expected = json!({
        "order_id": 7,
        "email": "[redacted]",
        "customer": {"id": 1, "emailAddress": "[redacted]"},
        "requested_at": 1,
    });
    assert_eq!(ratchet.redacted_input(&done).await.unwrap(), expected);
}

#[tokio::test]
async fn a_volatile_field_makes_no_other_action_and_everything_else_does() {
    let ratchet = Ratchet::in_memory();
    let id = id_of(send_receipt::enqueue(&ratchet, receipt(1)).await.unwrap());
    let again = send_receipt::enqueue(&ratchet, receipt(2)).await.unwrap();
    assert!(matches!(again, Enqueued::Existing { .. }), "{again:?}");
    let other = SendReceipt { shipping_address: None, ..receipt(1) };
    let answer = send_receipt::enqueue(&ratchet, other).await.unwrap();
    assert_eq!(answer, Enqueued::Conflict(Conflict::OtherInput));
    // What runs is the input that was sent first.
    let stored: SendReceipt = record(&ratchet, &id).await.input.decode().unwrap();
    assert_eq!(stored.requested_at, 1);
}
