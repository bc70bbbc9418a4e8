//! The vectors of `spec/fingerprints.json`, and that the order of names does not matter.

use proptest::prelude::*;
use ratchet_core::{Payload, PayloadError};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;

fn vectors(list: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../../spec/fingerprints.json")).unwrap();
    all[list].as_array().unwrap().clone()
}

fn encode(vector: &Value) -> Result<Payload, PayloadError> {
    let input: Value = serde_json::from_str(vector["input"].as_str().unwrap()).unwrap();
    Payload::from_value(&input, Payload::LARGEST_INPUT)
}

#[test]
fn canonical_forms_and_fingerprints() {
    for vector in vectors("fingerprints") {
        let payload = encode(&vector).unwrap();
        assert_eq!(payload.as_str(), vector["canonical"], "{}", vector["what"]);
        assert_eq!(payload.fingerprint().to_string(), vector["sha256"], "{}", vector["what"]);
    }
}

#[test]
fn refused_inputs() {
    for vector in vectors("refused") {
        let expected = match vector["reason"].as_str().unwrap() {
            "integer_too_large" => PayloadError::IntegerTooLarge,
            "too_deep" => PayloadError::TooDeep,
            other => panic!("unknown reason {other}"),
        };
        assert_eq!(encode(&vector), Err(expected), "{}", vector["what"]);
    }
}

#[test]
fn what_is_accepted_is_read_back() {
    let deepest: Value = serde_json::from_str(&format!("{}{}", "[".repeat(63), "]".repeat(63))).unwrap();
    let payload = Payload::from_value(&deepest, Payload::LARGEST_INPUT).unwrap();
    assert_eq!(payload.decode::<Value>().unwrap(), deepest);
}

#[test]
fn a_payload_that_is_too_large_says_how_large_it_may_be() {
    let error = Payload::encode("x".repeat(100).as_str(), 99).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the value has 102 bytes of JSON, the limit is 99: store it elsewhere and pass its id"
    );
}

#[derive(serde::Serialize)]
enum Shape {
    Newtype(f64),
    Tuple(u8, f32),
    Struct { at: Option<f64> },
}

#[derive(serde::Serialize)]
struct Everywhere {
    list: Vec<(u8, f64)>,
    map: std::collections::BTreeMap<u8, Shape>,
}

#[test]
fn a_float_that_is_no_number_is_refused_wherever_it_stands() {
    let holding =
        |shape: Shape, last: f64| Everywhere { list: vec![(1, 0.5), (2, last)], map: [(7, shape)].into() };
    let sound = Payload::encode(&holding(Shape::Struct { at: None }, 1.0), 1_000).unwrap();
    assert_eq!(sound.as_str(), r#"{"list":[[1,0.5],[2,1]],"map":{"7":{"Struct":{"at":null}}}}"#);
    for odd in [
        holding(Shape::Newtype(f64::NAN), 1.0),
        holding(Shape::Tuple(1, f32::INFINITY), 1.0),
        holding(Shape::Struct { at: Some(f64::NEG_INFINITY) }, 1.0),
        holding(Shape::Struct { at: None }, f64::NAN),
    ] {
        assert_eq!(Payload::encode(&odd, 1_000), Err(PayloadError::NotANumber));
    }
}

/// Writes its members in the order given.
struct InThisOrder(Vec<(String, i32)>);

impl Serialize for InThisOrder {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

proptest! {
    #[test]
    fn the_order_of_names_does_not_matter(
        (given, shuffled) in proptest::collection::btree_map(".{0,4}", any::<i32>(), 0..8)
            .prop_map(|members| members.into_iter().collect::<Vec<_>>())
            .prop_flat_map(|members| (Just(members.clone()), Just(members).prop_shuffle()))
    ) {
        let one = Payload::encode(&InThisOrder(given), 10_000).unwrap();
        let other = Payload::encode(&InThisOrder(shuffled), 10_000).unwrap();
        prop_assert_eq!(one.fingerprint(), other.fingerprint());
    }

    #[test]
    fn another_value_has_another_fingerprint(a in any::<i64>(), b in any::<i64>()) {
        let text = |number: i64| Payload::encode(&number.to_string(), 100).unwrap().fingerprint();
        prop_assert_eq!(text(a) == text(b), a == b);
    }
}
