//! A keyword of a later edition as a field.

use ratchet::{Failure, Input};

#[derive(serde::Serialize, serde::Deserialize, Input)]
struct Order {
    r#gen: u64,
    r#async: u64,
}

#[ratchet::operation(name = "a", version = "1", key = "a:<gen>:<async>")]
async fn a(input: Order) -> Result<u64, Failure> {
    Ok(input.r#gen)
}

fn main() {
    assert_eq!(a::key(&Order { r#gen: 1, r#async: 2 }).unwrap().as_str(), "a:1:2");
    let request = a::request(Order { r#gen: 1, r#async: 2 });
    let submission = request.into_submission(&ratchet::Namespace::DEFAULT).unwrap();
    assert_eq!(submission.input.as_str(), r#"{"async":2,"gen":1}"#);
}
