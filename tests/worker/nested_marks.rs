//! Marks of nested inputs, wherever serde writes them.

use std::collections::BTreeMap;

use ratchet::{Conflict, Enqueued, Failure, Input, Ratchet, registry};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{id_of, settled, start};

#[derive(Clone, Serialize, Deserialize, Input)]
struct Customer {
    id: u64,
    #[pii]
    email: String,
    #[volatile]
    seen: u64,
}

/// A value in place of an object.
#[derive(Serialize, Deserialize, Input)]
#[serde(transparent)]
struct Recipient {
    #[pii]
    email: String,
}

#[derive(Serialize, Deserialize)]
struct Pair<T>(T, T);

const MOST: usize = 3;

#[derive(Serialize, Deserialize)]
struct AtMost<T, const N: usize>(Vec<T>);

mod as_text {
    use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _};
    use serde::ser::{Error as _, Serialize, Serializer};

    pub(super) fn serialize<T: Serialize, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&serde_json::to_string(value).map_err(S::Error::custom)?)
    }

    pub(super) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        from: D,
    ) -> Result<T, D::Error> {
        serde_json::from_str(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

#[derive(Serialize, Deserialize, Input)]
struct Visit {
    id: u64,
    #[serde(flatten)]
    place: Place,
    #[volatile]
    last: Customer,
    all: [Customer; 1],
    some: Box<[Customer]>,
    code: Box<str>,
    by_id: BTreeMap<u64, Customer>,
    rooms: BTreeMap<String, u64>,
    guests: (u64, Option<Customer>),
    pair: Pair<Customer>,
    few: AtMost<Customer, MOST>,
    #[serde(with = "as_text")]
    raw: Customer,
    to: Recipient,
}

#[derive(Serialize, Deserialize, Input)]
struct Place {
    hall: String,
    #[pii]
    note: String,
    #[volatile]
    looked_up: u64,
}

fn visit() -> Visit {
    let customer = || Customer { id: 1, email: "ada@example.com".to_owned(), seen: 5 };
    Visit {
        id: 7,
        place: Place { hall: "b2".to_owned(), note: "ada@example.com".to_owned(), looked_up: 3 },
        last: customer(),
        all: [customer()],
        some: Box::new([customer()]),
        code: "c".into(),
        by_id: [(1, customer())].into(),
        rooms: [("a".to_owned(), 1)].into(),
        guests: (1, Some(customer())),
        pair: Pair(customer(), customer()),
        few: AtMost(vec![customer()]),
        raw: customer(),
        to: Recipient { email: "ada@example.com".to_owned() },
    }
}

fn shown() -> Value {
    let customer = json!({"id": 1, "email": "[redacted]", "seen": 5});
    json!({
        "id": 7,
        "hall": "b2",
        "note": "[redacted]",
        "looked_up": 3,
        "last": customer,
        "all": [customer],
        "some": [customer],
        "code": "c",
        "by_id": "[redacted]",
        "rooms": {"a": 1},
        "guests": "[redacted]",
        "pair": "[redacted]",
        "few": "[redacted]",
        "raw": "[redacted]",
        "to": "[redacted]",
    })
}

#[ratchet::operation(name = "receive", version = "1", key = "visit:<id>:receive")]
async fn receive(_input: Visit) -> Result<(), Failure> {
    Ok(())
}

#[test]
fn an_input_hides_what_is_personal_in_every_form_of_it() {
    assert_eq!(serde_json::to_value(visit().redacted()).unwrap(), shown());
    let recipient = visit().to;
    assert_eq!(recipient.redacted().to_string(), r#""[redacted]""#);
}

#[tokio::test]
async fn a_record_hides_the_same_and_the_fingerprint_leaves_out_what_is_volatile() {
    let ratchet = Ratchet::in_memory();
    let id = id_of(receive::enqueue(&ratchet, visit()).await.unwrap());
    let mut again = visit();
    again.place.looked_up += 1;
    again.last.id += 1;
    again.all[0].seen += 1;
    let again = receive::enqueue(&ratchet, again).await.unwrap();
    assert!(matches!(again, Enqueued::Existing { .. }), "{again:?}");
    let mut other = visit();
    other.place.hall.clear();
    let other = receive::enqueue(&ratchet, other).await.unwrap();
    assert_eq!(other, Enqueued::Conflict(Conflict::OtherInput));
    let worker = start(&ratchet, registry![receive]);
    let done = settled(&ratchet, &id).await;
    worker.stop().await;
    assert_eq!(ratchet.redacted_input(&done).await.unwrap(), shown());
}
