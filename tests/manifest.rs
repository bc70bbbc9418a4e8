//! The manifest that `spec/` shows, and the keys that its operations give: the clients of other languages run the same
//! vectors.

#![allow(clippy::unused_async, reason = "a handler is async, whether it waits or not")]

use expect_test::expect_file;
use ratchet::{Contract, Failure, Input, Key, KeyError, KeyPart, Operation};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

const PAYMENTS: Contract = Contract::header("Idempotency-Key").named("bank::PAYMENTS");

/// An invoice that is due.
#[derive(Serialize, Deserialize, JsonSchema, Input)]
struct CollectInvoice {
    /// As the books have it.
    invoice_id: String,
    amount_cents: u64,
    currency: Currency,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Currency {
    Eur,
    Usd,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Receipt {
    charge_id: String,
}

#[ratchet::operation(
    name = "collect_invoice",
    version = "1",
    key = "invoice:<invoice_id>:collect:v1",
    destination = PAYMENTS,
    schema
)]
async fn collect_invoice(input: CollectInvoice) -> Result<Receipt, Failure> {
    Ok(Receipt { charge_id: format!("ch_{}", input.invoice_id) })
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Customer {
    id: Uuid,
    channel: Channel,
    address: Option<Address>,
}

#[derive(Serialize, Deserialize, JsonSchema, KeyPart)]
#[serde(rename_all = "kebab-case")]
enum Channel {
    Mail,
    PushMessage,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Address {
    Street { street: String, number: u32 },
    Box { number: u32 },
}

#[ratchet::operation(
    name = "notify_customer",
    version = "2",
    key = "customer:<customer.id>/<customer.channel>/<day>:<grade>/<is_trial>/<line>:notify:v1",
    retention = "30d",
    schema
)]
async fn notify_customer(
    customer: Customer,
    day: chrono::NaiveDate,
    grade: char,
    is_trial: bool,
    line: i32,
    tags: Vec<String>,
) -> Result<(), Failure> {
    drop((customer, day, grade, is_trial, line, tags));
    Ok(())
}

/// JSON has other names than Rust.
#[derive(Serialize, Deserialize, JsonSchema, Input)]
#[serde(rename_all = "camelCase")]
struct ArchiveOrder {
    order_id: u64,
}

#[ratchet::operation(name = "archive_order", version = "1", key = "order:<order_id>:archive:v1", schema)]
async fn archive_order(input: ArchiveOrder) -> Result<u64, Failure> {
    Ok(input.order_id)
}

/// How its key is written is known to the type alone, so no other language makes it.
#[derive(Serialize, Deserialize, Input)]
struct ForgetOrder {
    #[serde(with = "as_text")]
    order_id: u64,
}

mod as_text {
    use serde::{Deserialize as _, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
    pub(super) fn serialize<S: Serializer>(id: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(id)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[ratchet::operation(name = "forget_order", version = "1", key = "order:<order_id>:forget:v1")]
async fn forget_order(input: ForgetOrder) -> Result<u64, Failure> {
    Ok(input.order_id)
}

#[test]
fn the_manifest_is_the_one_of_the_specification() {
    let manifest =
        ratchet::registry![collect_invoice, notify_customer, archive_order, forget_order].manifest();
    expect_file!["../spec/manifest.json"].assert_eq(&format!("{manifest}\n"));
    assert_eq!(serde_json::from_str::<ratchet::Manifest>(&manifest.to_string()).unwrap(), manifest);
}

fn key_of<O: Operation<Input: DeserializeOwned>>(input: &Value) -> Result<Key, KeyError> {
    O::render(&serde_json::from_value(input.clone()).expect("an input of the operation"))
}

#[test]
fn keys_are_those_of_the_vectors() {
    let vectors: Value = serde_json::from_str(include_str!("../spec/manifest-keys.json")).unwrap();
    let vectors = vectors["keys"].as_array().unwrap();
    assert_eq!(vectors.len(), 5);
    for vector in vectors {
        let input = &vector["input"];
        let key = match vector["operation"].as_str().unwrap() {
            "archive_order" => key_of::<archive_order>(input),
            "collect_invoice" => key_of::<collect_invoice>(input),
            // Its input is a tuple in Rust, and an object by parameter name in JSON.
            "notify_customer" => {
                let of = |name: &str| input[name].clone();
                let parts = ["customer", "day", "grade", "is_trial", "line", "tags"].map(of);
                key_of::<notify_customer>(&Value::from(parts.to_vec()))
            }
            other => panic!("no operation {other}"),
        };
        assert_eq!(key.unwrap().as_str(), vector["key"], "{input}");
    }
}
