use serde_json::Value;

use super::*;
use crate::contract::KeyFormat;
use crate::model::{Fingerprint, Generation, OperationName};

const UUIDS: Contract = Contract::header("Idempotency-Key").key(KeyFormat::UUID);

fn secret(id: &str, bytes: &[u8]) -> WireSecrets {
    WireSecrets::new(vec![(id.to_owned(), bytes.to_vec())]).unwrap()
}

fn id(namespace: &str, operation: &str, key: &str, generation: u32) -> RecordId {
    RecordId {
        namespace: Namespace::new(namespace).unwrap(),
        operation: OperationName::new(operation).unwrap(),
        key: ratchet_key::Key::parse(key).unwrap(),
        generation: Generation::new(generation).unwrap(),
    }
}

/// The key of an identity, with the secret of these tests.
fn key_of(id: &RecordId, step: Option<&str>, scope: &Scope, contract: &Contract) -> WireKey {
    let step = step.map(|step| StepName::new(step).unwrap());
    let text = id.as_text(step.as_ref()).unwrap();
    let request = RequestFingerprint::from(Fingerprint::of(b""));
    let of = Identity { id, step: step.as_ref(), text: &text, scope, request: &request };
    make(of, contract, secret("1", &[7; 32]).newest()).unwrap()
}

#[test]
fn the_vectors_of_the_specification() {
    let all: Value = serde_json::from_str(include_str!("../../../spec/wire-keys.json")).unwrap();
    let vectors = all["wire_keys"].as_array().unwrap();
    assert!(vectors.len() >= 8);
    for vector in vectors {
        let text = |name: &str| vector[name].as_str().unwrap();
        let given = |name: &str| (!text(name).is_empty()).then(|| text(name).to_owned());
        let id = id(
            text("namespace"),
            text("operation"),
            text("key"),
            u32::try_from(vector["generation"].as_u64().unwrap()).unwrap(),
        );
        let step = given("step").map(|step| StepName::new(step).unwrap());
        let scope = Scope {
            destination: "not part of it".to_owned(),
            account: given("account"),
            region: given("region"),
            route: Some(text("route").to_owned()),
        };
        let shape = if vector["version"] == 4 { Shape::UuidV4 } else { Shape::Uuid };
        let contract = UUIDS.key(KeyFormat::UUID.shaped(shape));
        let as_text = id.as_text(step.as_ref()).unwrap();
        let request = RequestFingerprint::from(Fingerprint::of(b""));
        let of = Identity { id: &id, step: step.as_ref(), text: &as_text, scope: &scope, request: &request };
        let secrets = secret("1", text("secret").as_bytes());
        let made = make(of, &contract, secrets.newest()).unwrap();
        assert_eq!(made.text, text("wire_key"), "{}", text("what"));
        assert_eq!((made.recipe, made.secret), (Recipe::KEYED, Some(SecretId::from_static("1"))));
    }
}

#[test]
fn a_key_is_sent_as_it_is_only_in_the_default_namespace_and_where_it_fits() {
    let scope = Scope::of("https://bank.example");
    let key = "invoice:inv_2048:collect:v1";
    let any = Contract::header("Idempotency-Key");
    let made = key_of(&id("default", "collect", key, 1), None, &scope, &any);
    assert_eq!((made.text.as_str(), made.recipe, made.secret), (key, Recipe::VERBATIM, None));
    let staging = key_of(&id("staging", "collect", key, 1), None, &scope, &any);
    let narrow = any.key(KeyFormat::up_to(40).alphanumeric_and("-_"));
    let refused = key_of(&id("default", "collect", key, 1), None, &scope, &narrow);
    for made in [staging, refused] {
        assert_eq!((made.text.len(), made.recipe), (36, Recipe::KEYED));
    }
    // Nothing is sent, so no secret is needed.
    let unsent = key_of(&id("staging", "collect", key, 1), None, &scope, &Contract::NONE);
    assert_eq!(unsent.recipe, Recipe::VERBATIM);
}

#[test]
fn every_part_of_the_identity_and_what_the_destination_forgets_make_another_key() {
    let here = Scope::of("x");
    let keys = [
        key_of(&id("default", "collect", "a:1", 1), None, &here, &UUIDS),
        key_of(&id("staging", "collect", "a:1", 1), None, &here, &UUIDS),
        key_of(&id("default", "collect2", "a:1", 1), None, &here, &UUIDS),
        key_of(&id("default", "collect", "2a:1", 1), None, &here, &UUIDS),
        key_of(&id("default", "collect", "a:1", 2), None, &here, &UUIDS),
        key_of(&id("default", "collect", "a:1", 1), Some("charge"), &here, &UUIDS),
        key_of(&id("default", "collect", "a:1", 1), Some("refund"), &here, &UUIDS),
        key_of(&id("default", "collect", "a:1", 1), None, &here.clone().account("a"), &UUIDS),
        key_of(&id("default", "collect", "a:1", 1), None, &here.clone().region("a"), &UUIDS),
        key_of(&id("default", "collect", "a:1", 1), None, &here.clone().route("a"), &UUIDS),
    ];
    let distinct: std::collections::BTreeSet<_> = keys.iter().map(|key| key.text.clone()).collect();
    assert_eq!(distinct.len(), keys.len());
    // What the destination keeps apart by itself is left to it.
    let apart = UUIDS.kept_apart_by(&[ScopePart::Account, ScopePart::Region, ScopePart::Route]);
    let of = |scope| key_of(&id("default", "collect", "a:1", 1), None, &scope, &apart).text;
    assert_eq!(
        of(here.clone().account("a").region("b").route("c")),
        of(here.account("x").region("y").route("z"))
    );
}

#[test]
fn without_a_secret_there_is_no_key_and_a_weak_one_is_refused() {
    let id = id("default", "collect", "a:1", 1);
    let (scope, request) = (Scope::of("x"), RequestFingerprint::from(Fingerprint::of(b"")));
    let of = Identity { id: &id, step: None, text: "a:1", scope: &scope, request: &request };
    assert!(make(of, &UUIDS, None).is_err_and(|error| error == NoSecret));
    let refused = |secrets: &[(&str, usize)]| {
        let secrets = secrets.iter().map(|(id, bytes)| ((*id).to_owned(), vec![b's'; *bytes]));
        WireSecrets::new(secrets).unwrap_err().to_string()
    };
    assert_eq!(refused(&[("1", 31)]), "the secret `1` has fewer than 32 bytes: take 32 random ones");
    assert_eq!(
        refused(&[("1", 32), ("1", 32)]),
        "there are two secrets `1`: give the new one a name of its own"
    );
    assert!(refused(&[("Not A Name", 32)]).starts_with("the name of a secret is refused"));
}

#[test]
fn the_newest_secret_is_the_last_and_none_is_shown() {
    let secrets =
        WireSecrets::new(vec![("2025".to_owned(), vec![b'a'; 32]), ("2026".to_owned(), vec![b'b'; 32])])
            .unwrap();
    assert_eq!(secrets.newest().unwrap().id().as_str(), "2026");
    assert_eq!(format!("{secrets:?}"), "WireSecrets([WireSecret(2025), WireSecret(2026)])");
}

#[test]
fn a_worker_needs_a_secret_where_a_key_may_not_fit() {
    let any = Contract::header("Idempotency-Key");
    let staging = Namespace::from_static("staging");
    assert!(!needs_secret(&any, &Namespace::DEFAULT) && needs_secret(&any, &staging));
    assert!(needs_secret(&UUIDS, &Namespace::DEFAULT));
    for keyless in [Contract::NONE, Contract::DATABASE, Contract::STEPS] {
        assert!(!needs_secret(&keyless, &staging));
    }
}
