//! Whatever the input is, the database and the code give one key and one fingerprint.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ratchet_core::serde_json::{Value, json};
use ratchet_core::{KeyError, Payload};
use ratchet_key::{KeyWriter, PartError, Segment, Template};
use ratchet_postgres::sqlx::{self, PgConnection};
use tokio::runtime::Runtime;

use crate::support::{POLICY, database, declared, refusal};

/// Runs the property with a connection to a database that has the functions.
pub(crate) fn check<T: std::fmt::Debug>(
    cases: u32,
    any: &impl Strategy<Value = T>,
    mut property: impl FnMut(&Runtime, &mut PgConnection, T) -> Result<(), TestCaseError>,
) {
    let runtime = Runtime::new().unwrap();
    let database = runtime.block_on(database());
    drop(runtime.block_on(declared(&database, POLICY)));
    let connection = std::cell::RefCell::new(runtime.block_on(database.connect()));
    let property = std::cell::RefCell::new(&mut property);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let run = |case| (property.borrow_mut())(&runtime, &mut connection.borrow_mut(), case);
    runner.run(any, run).unwrap_or_else(|error| panic!("{error}"));
}

/// Texts of all sorts of characters: controls, both sides of the surrogates, the last one.
fn any_text() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        '\0',
        '\u{1}',
        '\u{2}',
        '\\',
        '"',
        '/',
        '\n',
        '\u{7f}',
        '\u{80}',
        '\u{d7ff}',
        '\u{e000}',
        '\u{ffff}',
        '\u{10000}',
        '\u{10ffff}',
        'u',
        '0',
        ' ',
        '\u{a0}',
    ]);
    prop::collection::vec(prop_oneof![odd, any::<char>(), prop::char::range('a', 'e')], 0..7)
        .prop_map(|characters| characters.into_iter().collect())
}

fn any_document() -> impl Strategy<Value = Value> {
    let number = prop::num::f64::ANY.prop_filter("JSON has no other", |number| number.is_finite());
    let power = (-330_i32..308, 1_u32..1000)
        .prop_map(|(ten, start)| format!("{start}e{ten}").parse::<f64>().unwrap());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-(1_i64 << 53) - 2..(1 << 53) + 2).prop_map(Value::from),
        number.prop_map(Value::from),
        power.prop_filter("JSON has no other", |number| number.is_finite()).prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(any_text(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

#[test]
fn one_canonical_form_and_one_fingerprint() {
    const BOTH: &str = "SELECT ratchet.canonical($1::json), encode(ratchet.fingerprint($1::json), 'hex')";
    check(400, &any_document(), |runtime, connection, document| {
        let query = sqlx::query_as::<_, (String, String)>(BOTH).bind(document.to_string());
        let told = runtime.block_on(query.fetch_one(connection));
        match (Payload::from_value(&document, Payload::LARGEST_INPUT), told) {
            (Ok(payload), Ok(told)) => {
                let expected = (payload.as_str().to_owned(), payload.fingerprint().to_string());
                prop_assert_eq!(told, expected);
            }
            (Err(_), Err(error)) => prop_assert_eq!(refusal(&error).1, "integer_too_large"),
            (payload, told) => prop_assert!(false, "{payload:?} and {told:?}"),
        }
        Ok(())
    });
}

/// Doubles between which and their neighbours the fewest digits lie at the very end of an interval.
#[test]
fn doubles_print_as_ecmascript_prints_them() {
    let exact = (0_u64..1 << 53, -60_i32..1000).prop_map(|(start, two)| {
        #[allow(clippy::cast_precision_loss, reason = "it has 53 bits")]
        let start = start as f64;
        start * 2_f64.powi(two)
    });
    let ends =
        (1_u64..1000, 15_i32..40).prop_map(|(start, ten)| format!("{start}e{ten}").parse::<f64>().unwrap());
    let any = prop::collection::vec(prop_oneof![exact, ends, prop::num::f64::NORMAL], 50);
    check(40, &any, |runtime, connection, numbers| {
        let numbers: Vec<f64> = numbers.into_iter().filter(|number| number.is_finite()).collect();
        let document = json!(numbers).to_string();
        let query = sqlx::query_scalar::<_, String>("SELECT ratchet.canonical($1::json)").bind(document);
        let told = runtime.block_on(query.fetch_one(connection)).unwrap();
        let expected = Payload::encode(&numbers, Payload::LARGEST_INPUT).unwrap();
        prop_assert_eq!(told.as_str(), expected.as_str());
        Ok(())
    });
}

const TEMPLATES: [&str; 4] = ["a:<x>:v1", "<x>", "o/<x>-x/<y.z>", "n:<y.z>/<x>:<y.z>"];

fn rendered(template: &str, x: &Value, z: &Value) -> Result<String, KeyError> {
    let mut key = KeyWriter::new();
    for segment in Template::parse(template).unwrap().segments() {
        match segment {
            Segment::Literal { text, .. } => key.literal(text.clone().leak()),
            Segment::Placeholder { path, .. } => {
                let value = if path.len() == 1 { x } else { z };
                match (value, value.as_i64()) {
                    (Value::String(text), _) => key.part().text(text)?,
                    (Value::Bool(value), _) => key.part().boolean(*value)?,
                    (_, number) => key.part().integer(number.unwrap().into())?,
                }
            }
        }
    }
    Ok(key.finish()?.as_str().to_owned())
}

fn reason(error: &KeyError) -> &'static str {
    match error {
        KeyError::Part { reason: PartError::Empty, .. } => "empty",
        KeyError::Part { reason: PartError::ControlCharacter, .. } => "control_character",
        KeyError::Part { reason: PartError::SurroundingWhiteSpace, .. } => "surrounding_white_space",
        KeyError::TooLong { .. } => "too_long",
        other => panic!("no value gives {other:?}"),
    }
}

#[test]
fn one_key() {
    let value = || {
        prop_oneof![
            3 => any_text().prop_map(Value::from),
            3 => "[ -~é]{0,90}".prop_map(Value::from),
            1 => any::<i64>().prop_map(Value::from),
            1 => any::<bool>().prop_map(Value::from),
        ]
    };
    let any = (prop::sample::select(TEMPLATES.to_vec()), value(), value(), any_document());
    check(400, &any, |runtime, connection, (template, x, z, other)| {
        let input = json!({ "x": x, "y": { "z": z }, "other": other });
        let query = sqlx::query_scalar::<_, String>("SELECT ratchet.render_key($1, $2::json)");
        let told = runtime.block_on(query.bind(template).bind(input.to_string()).fetch_one(connection));
        match (rendered(template, &x, &z), told) {
            (Ok(key), Ok(told)) => prop_assert_eq!(told, key),
            (Err(error), Err(told)) => {
                prop_assert_eq!(refusal(&told), ("RT001".to_owned(), reason(&error).to_owned()));
            }
            (key, told) => prop_assert!(false, "{key:?} and {told:?}"),
        }
        Ok(())
    });
}
