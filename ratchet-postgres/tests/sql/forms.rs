//! A value is rendered by the database only if the code would give it the same text.

use std::num::NonZeroU32;

use proptest::prelude::*;
use ratchet_core::ledger::Declaration;
use ratchet_core::serde_json::{self, Value, json};
use ratchet_core::{Form, KeyError, KeyPart, Ledger as _, PartWriter, Version};
use ratchet_key::KeyWriter;
use ratchet_postgres::PostgresLedger;
use ratchet_postgres::sqlx::{self, PgConnection};
use serde::{Deserialize, Serialize};

use crate::properties::check;
use crate::support::{OPERATION, POLICY, TEMPLATE, database, declared, refusal};

async fn key(
    connection: &mut PgConnection,
    template: &str,
    input: &Value,
    forms: &[Form],
) -> Result<String, sqlx::Error> {
    sqlx::query_scalar("SELECT ratchet.render_key($1, $2::json, $3::jsonb)")
        .bind(template)
        .bind(input.to_string())
        .bind(serde_json::to_string(forms).unwrap())
        .fetch_one(connection)
        .await
}

const BYTE: Form = u8::FORM;
const LARGE: Form = u128::FORM;
const NAMES: Form = Form::Names { names: &[("PushMessage", "push_message"), ("e-mail", "mail")] };
const ID: &str = "a1a2a3a4-b1b2-c1c2-d1d2-d3d4d5d6d7d8";

/// Rendered where there is a text, else refused.
fn values() -> Vec<(Form, Value, Option<&'static str>)> {
    vec![
        (Form::Text, json!("11497"), Some("11497")),
        (Form::Text, json!(11497), None),
        (Form::Text, json!(true), None),
        (Form::Character, json!("ü"), Some("%C3%BC")),
        (Form::Character, json!("üb"), None),
        (Form::Character, json!(1), None),
        (BYTE, json!(0), Some("0")),
        (BYTE, json!(255), Some("255")),
        (BYTE, json!(256), None),
        (BYTE, json!(-1), None),
        (BYTE, json!("7"), None),
        (LARGE, json!(u64::MAX), Some("18446744073709551615")),
        (LARGE, json!(false), None),
        (NonZeroU32::FORM, json!(0), None),
        (Form::Boolean, json!(true), Some("true")),
        (Form::Boolean, json!("true"), None),
        (Form::Boolean, json!(1), None),
        (Form::Uuid, json!(ID), Some(ID)),
        (Form::Uuid, json!(ID.to_uppercase()), None),
        (Form::Uuid, json!(ID.replace('-', "")), None),
        (Form::Uuid, json!(format!("{{{ID}}}")), None),
        (Form::Uuid, json!(format!("{ID}\n")), None),
        (Form::Date, json!("2024-02-29"), Some("2024-02-29")),
        (Form::Date, json!("9999-12-31"), Some("9999-12-31")),
        (Form::Date, json!("2026-02-29"), None),
        (Form::Date, json!("2026-11-00"), None),
        (Form::Date, json!("9999-12-99"), None),
        (Form::Date, json!("2026-13-01"), None),
        (Form::Date, json!("0000-01-01"), None),
        (Form::Date, json!("20261129"), None),
        (Form::Date, json!("2026-11-29T00:00:00"), None),
        (Form::Date, json!("29.11.2026"), None),
        (NAMES, json!("PushMessage"), Some("push_message")),
        (NAMES, json!("e-mail"), Some("mail")),
        (NAMES, json!("push_message"), None),
        (NAMES, json!("pushmessage"), None),
        (NAMES, json!(0), None),
    ]
}

#[tokio::test]
async fn each_form_has_one_spelling() {
    let database = database().await;
    drop(declared(&database, POLICY).await);
    let mut connection = database.connect().await;
    for (form, value, text) in values() {
        let answer = key(&mut connection, "a:<x>:v1", &json!({ "x": value }), &[form]).await;
        if let Some(text) = text {
            assert_eq!(answer.expect("a key"), format!("a:{text}:v1"), "{form:?} {value}");
        } else {
            let refusal = refusal(&answer.expect_err(&format!("{form:?} {value}")));
            assert_eq!(refusal, ("RT001".to_owned(), "other_form".to_owned()), "{form:?} {value}");
        }
    }
    let digits = format!(r#"{{"x": 1{}}}"#, "0".repeat(150_000));
    let forms = serde_json::to_string(&[BYTE]).unwrap();
    let call = sqlx::query("SELECT ratchet.render_key('<x>', $1::json, $2::jsonb)").bind(digits).bind(forms);
    assert_eq!(refusal(&call.fetch_one(&mut connection).await.unwrap_err()).1, "other_form");
}

#[tokio::test]
async fn a_value_is_found_out_before_its_form() {
    let database = database().await;
    drop(declared(&database, POLICY).await);
    let mut connection = database.connect().await;
    for (input, form, reason) in [
        (json!({}), Form::Text, "missing"),
        (json!({ "x": null }), Form::Text, "not_a_key_part"),
        (json!({ "x": 1.5 }), BYTE, "not_an_integer"),
        (json!({ "x": "" }), Form::Text, "empty"),
        (json!({ "x": " a" }), Form::Text, "surrounding_white_space"),
        (json!({}), Form::Opaque, "opaque"),
        (json!({ "x": "a" }), Form::Opaque, "opaque"),
    ] {
        let error = key(&mut connection, "a:<x>", &input, &[form]).await.unwrap_err();
        assert_eq!(refusal(&error), ("RT001".to_owned(), reason.to_owned()), "{input} {form:?}");
    }
    // Each placeholder has the form at its place, and one without is not known.
    let input = json!({ "x": "1", "y": 1 });
    let forms = [Form::Text, BYTE];
    assert_eq!(
        key(&mut connection, "<x>/<y>/<x>", &input, &[forms[0], forms[1], forms[0]]).await.unwrap(),
        "1/1/1"
    );
    let error = key(&mut connection, "<x>/<y>/<x>", &input, &forms).await.unwrap_err();
    assert_eq!(refusal(&error).1, "opaque");
}

#[tokio::test]
async fn what_is_enqueued_has_the_declared_forms() {
    const ENQUEUE: &str = "SELECT (ratchet.enqueue('collect_invoice', $1, $2::json)).key";
    const KEY: &str = "SELECT ratchet.key('collect_invoice', $1, $2::json)";
    let database = database().await;
    let ledger = PostgresLedger::open(&database.url()).await.unwrap();
    let version = |version, forms| Declaration {
        forms,
        ..Declaration::new(OPERATION, Version::from_static(version), TEMPLATE)
    };
    let declare =
        async |forms| ledger.declare(vec![version("1", forms), version("2", vec![])]).await.unwrap();
    let mut connection = database.connect().await;
    let mut ask = async |version: &str, id: Value| {
        let input = json!({ "id": id }).to_string();
        let mut answers = Vec::new();
        for call in [ENQUEUE, KEY] {
            let answer = sqlx::query_scalar::<_, String>(call).bind(version).bind(&input);
            answers.push(answer.fetch_one(&mut connection).await.map_err(|error| refusal(&error).1));
        }
        assert_eq!(answers[0], answers[1]);
        answers.remove(0)
    };
    declare(vec![Form::Text]).await;
    assert_eq!(ask("1", json!("7")).await.unwrap(), "invoice:7:collect:v1");
    assert_eq!(ask("1", json!(7)).await.unwrap_err(), "other_form");
    assert_eq!(ask("2", json!("7")).await.unwrap_err(), "opaque");
    // The last declaration counts.
    declare(vec![BYTE]).await;
    assert_eq!(ask("1", json!("7")).await.unwrap_err(), "other_form");
    assert_eq!(ask("1", json!(7)).await.unwrap(), "invoice:7:collect:v1");
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Channel {
    Mail,
    PushMessage,
}

impl KeyPart for Channel {
    const FORM: Form = Form::Names { names: &[("MAIL", "mail"), ("PUSH_MESSAGE", "push_message")] };

    fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
        part.text(match self {
            Self::Mail => "mail",
            Self::PushMessage => "push_message",
        })
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct All {
    text: String,
    letter: char,
    small: i8,
    counted: NonZeroU32,
    flag: bool,
    id: uuid::Uuid,
    day: jiff::civil::Date,
    channel: Channel,
}

const ALL: &str = "<text>/<letter>/<small>/<counted>/<flag>/<id>/<day>/<channel>";
const FORMS: [Form; 8] = [
    String::FORM,
    char::FORM,
    i8::FORM,
    NonZeroU32::FORM,
    bool::FORM,
    uuid::Uuid::FORM,
    jiff::civil::Date::FORM,
    Channel::FORM,
];

impl All {
    fn key(&self) -> Result<String, KeyError> {
        let mut key = KeyWriter::new();
        self.text.write(key.part())?;
        key.literal("/");
        self.letter.write(key.part())?;
        key.literal("/");
        self.small.write(key.part())?;
        key.literal("/");
        self.counted.write(key.part())?;
        key.literal("/");
        self.flag.write(key.part())?;
        key.literal("/");
        self.id.write(key.part())?;
        key.literal("/");
        self.day.write(key.part())?;
        key.literal("/");
        self.channel.write(key.part())?;
        Ok(key.finish()?.as_str().to_owned())
    }
}

/// What a type may have, and what it nearly has.
fn any_value() -> impl Strategy<Value = Value> {
    let hexadecimal = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";
    let names =
        prop::sample::select(vec!["MAIL", "PUSH_MESSAGE", "mail", "Mail", "PushMessage", "push_message"]);
    prop_oneof![
        "[ -~é]{0,3}".prop_map(Value::from),
        (-300_i64..300).prop_map(Value::from),
        (-300_i64..300).prop_map(|number| number.to_string().into()),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        hexadecimal.prop_map(Value::from),
        "[0-9a-f]{32}".prop_map(Value::from),
        "(urn:uuid:|\\{)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\}?".prop_map(Value::from),
        "[1-9][0-9]{3}-[01][0-9]-[0-3][0-9](T00:00)?".prop_map(Value::from),
        "[1-9][0-9]{3}[01][0-9][0-3][0-9]".prop_map(Value::from),
        names.prop_map(Value::from),
    ]
}

#[test]
fn a_key_of_the_database_is_that_of_the_code() {
    let sound = || {
        json!({ "text": "a", "letter": "b", "small": 1, "counted": 2, "flag": true, "id": ID,
            "day": "2026-11-29", "channel": "MAIL" })
    };
    let fields: Vec<String> = sound().as_object().unwrap().keys().cloned().collect();
    let changes = prop::collection::vec((prop::sample::select(fields), any_value()), 1..3);
    let mut rendered = 0;
    check(600, &changes, |runtime, connection, changes| {
        let mut input = sound();
        for (field, value) in changes {
            input[field] = value;
        }
        let told = runtime.block_on(key(connection, ALL, &input, &FORMS));
        match (serde_json::from_value::<All>(input.clone()), told) {
            (Ok(all), Ok(told)) => {
                rendered += 1;
                prop_assert_eq!(all.key(), Ok(told));
                prop_assert_eq!(serde_json::to_value(&all).unwrap(), input, "one fingerprint");
            }
            (Ok(all), Err(_)) => {
                let is_as_written = serde_json::to_value(&all).unwrap() == input;
                prop_assert!(!is_as_written || all.key().is_err(), "refused: {input}");
            }
            (Err(_), Err(_)) => {}
            (Err(error), Ok(told)) => prop_assert!(false, "{told}, and {error}"),
        }
        Ok(())
    });
    assert!(rendered > 20, "{rendered} of 600 were rendered");
}
