//! Both forms, with every kind of pattern.

use ratchet::{Context, Failure, Input, KeyPart, State};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Input)]
struct Order {
    id: u64,
    customer: Customer,
    r#type: Kind,
}

#[derive(Serialize, Deserialize)]
struct Customer {
    id: CustomerId,
}

#[derive(Serialize, Deserialize, KeyPart)]
struct CustomerId {
    text: String,
}

#[derive(Serialize, Deserialize, KeyPart)]
enum Kind {
    WholeSale,
    Retail,
}

fn order() -> Order {
    Order { id: 3, customer: Customer { id: CustomerId { text: "a/b".into() } }, r#type: Kind::WholeSale }
}

#[ratchet::operation(name = "take_apart", version = "1", key = "order:<customer.id>:<type>:<id>")]
async fn take_apart(
    State(client): State<String>,
    Order { id, .. }: Order,
    _: ratchet::Context,
) -> Result<u64, Failure> {
    Ok(id + client.len() as u64)
}

#[ratchet::operation(name = "ignored", version = "1", key = "order:<id>")]
async fn ignored(_: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "several", version = "1", key = "order:<r>/<type>/<customer.id>")]
async fn several(
    mut r: u64,
    _ctx: Context,
    r#type: Kind,
    customer: Customer,
    client: u8,
) -> Result<u64, Failure> {
    r += u64::from(client);
    let _ = (customer.id.text, matches!(r#type, Kind::Retail));
    Ok(r)
}

#[ratchet::operation(
    name = "allowed",
    version = "1",
    key = "slot:<created_at>",
    allow(R002 = "the slot is the scheduled time, stored on the booking")
)]
async fn allowed(created_at: u64, note: String) -> Result<String, Failure> {
    let _ = created_at;
    Ok(note)
}

#[ratchet::operation(
    name = "once",
    version = "1",
    key = "migration:v1",
    allow(R006 = "there is one such action")
)]
async fn once(a: u64, b: u64) -> Result<u64, Failure> {
    Ok(a + b)
}

#[ratchet::operation(
    name = "one_of_two",
    version = "1",
    key = "day:<open>",
    allow(R006 = "there are two such actions")
)]
async fn one_of_two(open: bool, b: u64) -> Result<u64, Failure> {
    Ok(b + u64::from(open))
}

fn main() {
    assert_eq!(take_apart::key(&order()).unwrap().as_str(), "order:a%2Fb:whole_sale:3");
    assert_eq!(ignored::key(&order()).unwrap().as_str(), "order:3");
    let customer = order().customer;
    assert_eq!(several::key(&1, &Kind::Retail, &customer, &0).unwrap().as_str(), "order:1/retail/a%2Fb");
    assert_eq!(allowed::key(&5, &String::new()).unwrap().as_str(), "slot:5");
    assert_eq!(once::key(&1, &2).unwrap().as_str(), "migration:v1");
    assert_eq!(one_of_two::key(&true, &2).unwrap().as_str(), "day:true");
    assert_eq!(
        several::request(1, Kind::Retail, customer, 0),
        several::request(1, Kind::Retail, order().customer, 0)
    );
    let registry = ratchet::registry![take_apart, ignored, several, allowed, once, one_of_two];
    assert_eq!(registry.served().count(), 6);
}
