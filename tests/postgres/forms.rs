//! What the derives declare about values in keys: programs in other languages get the key of the code, or none.

use ratchet::{Failure, Form, Input, KeyError, KeyPart, PartWriter, Ratchet};
use ratchet_test_postgres::{Database, shared};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};

#[derive(Debug, Serialize, Deserialize, KeyPart)]
struct InvoiceId(u32);

#[derive(Debug, Serialize, Deserialize, KeyPart)]
#[serde(transparent)]
struct Customer {
    number: Box<str>,
}

#[derive(Debug, Serialize, Deserialize, KeyPart)]
#[serde(rename_all = "camelCase")]
enum Channel {
    PushMessage,
    #[serde(rename = "E-Mail", alias = "post")]
    Mail,
    HTTPCall,
}

/// Its text is changed when it is read.
#[derive(Debug, Serialize, Deserialize, KeyPart)]
#[serde(from = "String")]
struct Sku(String);

impl From<String> for Sku {
    fn from(text: String) -> Self {
        Self(text.to_lowercase())
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Stated(String);

impl KeyPart for Stated {
    const FORM: Form = Form::Text;

    fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
        part.text(&self.0)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Unstated(String);

impl KeyPart for Unstated {
    fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
        part.text(&self.0.to_uppercase())
    }
}

fn trimmed<'de, D: serde::Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    Ok(String::deserialize(value)?.trim().to_owned())
}

#[derive(Debug, Serialize, Deserialize, Input)]
struct Bill {
    invoice: InvoiceId,
    customer: Customer,
    channel: Channel,
    sku: Sku,
    #[serde(deserialize_with = "trimmed")]
    place: String,
    #[serde(rename = "total")]
    cents: u64,
    /// Its name in the JSON is that of another field in Rust.
    #[serde(rename = "cents")]
    paid: u64,
}

#[ratchet::operation(name = "plain", version = "1", key = "bill:<customer>/<invoice>:<channel>")]
async fn plain(input: Bill) -> Result<u32, Failure> {
    Ok(input.invoice.0)
}

#[ratchet::operation(name = "read_otherwise", version = "1", key = "read:<sku>")]
async fn read_otherwise(_input: Bill) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "field_otherwise", version = "1", key = "field:<place>")]
async fn field_otherwise(_input: Bill) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "swapped", version = "1", key = "swapped:<cents>")]
async fn swapped(_input: Bill) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "stated", version = "1", key = "by_hand:<one>:<line>")]
async fn stated(one: Stated, line: u8) -> Result<u8, Failure> {
    Ok(line + u8::from(one.0.is_empty()))
}

#[ratchet::operation(name = "unstated", version = "1", key = "unknown:<one>:<line>")]
async fn unstated(one: Unstated, line: u8) -> Result<u8, Failure> {
    Ok(line + u8::from(one.0.is_empty()))
}

struct Producer<'d> {
    _database: Database<'d>,
    connection: PgConnection,
}

impl Producer<'_> {
    async fn new() -> Self {
        let database = shared().database().await;
        let ratchet = Ratchet::open(&database.url()).await.unwrap();
        let all = ratchet::registry![plain, read_otherwise, field_otherwise, swapped, stated, unstated];
        ratchet.declare(&all).await.unwrap();
        let connection = PgConnection::connect(&database.url()).await.unwrap();
        Self { _database: database, connection }
    }

    /// The key, or why there is none.
    async fn enqueue(&mut self, operation: &str, input: &Value) -> Result<String, String> {
        let call = "SELECT (ratchet.enqueue($1, '1', $2::json)).key";
        let call = sqlx::query_scalar(call).bind(operation).bind(input.to_string());
        call.fetch_one(&mut self.connection).await.map_err(|error| {
            let error = error.into_database_error().unwrap();
            let error = error.downcast_ref::<sqlx::postgres::PgDatabaseError>();
            error.detail().unwrap_or(error.message()).to_owned()
        })
    }
}

fn bill() -> Value {
    json!({ "invoice": 7, "customer": "c1", "channel": "E-Mail", "sku": "A1", "place": "here",
        "total": 1, "cents": 2 })
}

fn with(field: &str, value: Value) -> Value {
    let mut bill = bill();
    bill[field] = value;
    bill
}

#[tokio::test]
async fn newtypes_and_enums_have_the_key_of_the_code() {
    let mut producer = Producer::new().await;
    for (channel, text) in [("E-Mail", "mail"), ("pushMessage", "push_message"), ("hTTPCall", "http_call")] {
        let input = with("channel", json!(channel));
        let key = producer.enqueue("plain", &input).await.unwrap();
        assert_eq!(key, format!("bill:c1/7:{text}"));
        let read: Bill = serde_json::from_value(input).unwrap();
        assert_eq!(plain::key(&read).unwrap().as_str(), key);
    }
    for (field, value) in [
        ("channel", json!("post")),
        ("channel", json!("mail")),
        ("channel", json!("PushMessage")),
        ("invoice", json!("7")),
        ("invoice", json!(-7)),
        ("invoice", json!(4_294_967_296_u64)),
        ("customer", json!(1)),
    ] {
        let input = with(field, value);
        assert_eq!(producer.enqueue("plain", &input).await.unwrap_err(), "other_form", "{input}");
    }
}

#[tokio::test]
async fn what_only_the_code_can_know_is_left_to_it() {
    let mut producer = Producer::new().await;
    let mut answers = Vec::new();
    for operation in ["read_otherwise", "field_otherwise", "swapped"] {
        answers.push(producer.enqueue(operation, &bill()).await);
    }
    assert_eq!(answers, ["opaque"; 3].map(|why| Err(why.to_owned())));
    let input = json!({ "one": "a", "line": 1 });
    assert_eq!(producer.enqueue("stated", &input).await.unwrap(), "by_hand:a:1");
    assert_eq!(producer.enqueue("unstated", &input).await.unwrap_err(), "opaque");
}
