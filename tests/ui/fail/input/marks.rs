//! Marks on fields, and what they say about the key.
#![allow(unused)]

use ratchet::{Failure, Input};
use serde::{Deserialize, Serialize};

// These two are warnings.
#[derive(Serialize, Deserialize, Input)]
struct Customer {
    id: u64,
    email: String,
    card_number: String,
    #[pii]
    phone: String,
    #[ratchet(allow(R013 = "the name of a paper form"))]
    birthday: String,
    #[ratchet(allow(R013 = "there is nothing here"))]
    amount: u64,
}

#[derive(Serialize, Deserialize, Input)]
struct Mistakes {
    #[key]
    #[volatile]
    order_id: u64,
    #[pii(name)]
    note: String,
    #[pii]
    #[pii]
    remark: String,
    #[serde(flatten)]
    #[pii]
    customer: Customer,
}

#[derive(Serialize, Deserialize, Clone, Input)]
#[serde(into = "(u64, String)", from = "(u64, String)")]
struct Note {
    id: u64,
    #[pii]
    text: String,
}

impl From<Note> for (u64, String) {
    fn from(note: Note) -> Self {
        (note.id, note.text)
    }
}

impl From<(u64, String)> for Note {
    fn from((id, text): (u64, String)) -> Self {
        Self { id, text }
    }
}

#[derive(Serialize, Deserialize, Input)]
#[pii]
struct Whole {
    #[key]
    #[serde(skip)]
    order_id: u64,
    note: String,
}

#[derive(Serialize, Deserialize, Input)]
struct Order {
    #[key]
    order_id: u64,
    #[key]
    tenant_id: u64,
}

#[ratchet::operation(name = "ship", version = "1", key = "ship:<order_id>:v1")]
async fn ship(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[derive(Serialize, Deserialize, Input)]
#[serde(rename_all = "camelCase")]
struct Parcel {
    parcel_id: u64,
    #[pii]
    sent_to: String,
    #[volatile]
    round: u64,
}

#[ratchet::operation(name = "label", version = "1", key = "label:<parcel_id>:<sent_to>")]
async fn label(_input: Parcel) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "weigh", version = "1", key = "weigh:<parcel_id>:<round>")]
async fn weigh(_input: Parcel) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(
    name = "send", version = "1", key = "send:<parcel_id>:<sent_to>", allow(R004 = "the code of a pick-up point")
)]
async fn send(_input: Parcel) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "pack", version = "1", key = "pack:<parcel_id>", allow(R004 = "nothing is there"))]
async fn pack(_input: Parcel) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
