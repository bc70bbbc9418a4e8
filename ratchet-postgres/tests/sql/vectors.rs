//! The vectors of `spec/`, which other languages run too.

use ratchet_core::serde_json::{self, Map, Value};
use ratchet_postgres::sqlx::{self, PgConnection};
use ratchet_test_postgres::Database;

use crate::support::{POLICY, database, declared, refusal};

fn vectors(file: &str, kind: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(file).unwrap();
    let vectors = file[kind].as_array().unwrap().clone();
    assert!(!vectors.is_empty(), "{kind}");
    vectors
}

const KEYS: &str = include_str!("../../../spec/keys.json");
const FINGERPRINTS: &str = include_str!("../../../spec/fingerprints.json");

/// A connection, and the database that nobody else may be given while it is in use.
async fn connect() -> (Database<'static>, PgConnection) {
    let database = database().await;
    let _ = declared(&database, POLICY).await;
    let connection = database.connect().await;
    (database, connection)
}

/// Values by path, as the input in which they are found.
fn nested(values: &Value) -> Value {
    let mut input = Value::Object(Map::new());
    for (path, value) in values.as_object().unwrap() {
        let place = path.split('.').fold(&mut input, |place, name| {
            if place.is_null() {
                *place = Value::Object(Map::new());
            }
            &mut place[name]
        });
        *place = value.clone();
    }
    input
}

async fn key(connection: &mut PgConnection, vector: &Value) -> Result<String, sqlx::Error> {
    let values = vector.get("values").map_or_else(|| "{}".to_owned(), |values| nested(values).to_string());
    sqlx::query_scalar("SELECT ratchet.marked_key(ratchet.render_key($1, $2::json), $3, $4)")
        .bind(vector["template"].as_str())
        .bind(values)
        .bind(vector.get("generation").map_or(1, |value| value.as_i64().unwrap()))
        .bind(vector.get("step").and_then(Value::as_str))
        .fetch_one(connection)
        .await
}

#[tokio::test]
async fn rendered_keys() {
    let (_database, mut connection) = connect().await;
    for vector in vectors(KEYS, "rendered") {
        let key = key(&mut connection, &vector).await.unwrap_or_else(|error| panic!("{vector}: {error}"));
        assert_eq!(key, vector["key"], "{vector}");
    }
}

#[tokio::test]
async fn refused_values_and_templates() {
    let (_database, mut connection) = connect().await;
    for (kind, code, reason) in
        [("refused_values", "RT001", "reason"), ("refused_templates", "RT002", "code")]
    {
        for vector in vectors(KEYS, kind) {
            let error = key(&mut connection, &vector).await.expect_err(&vector.to_string());
            let expected = (code.to_owned(), vector[reason].as_str().unwrap().to_owned());
            assert_eq!(refusal(&error), expected, "{vector}");
        }
    }
}

#[tokio::test]
async fn canonical_forms_and_fingerprints() {
    const BOTH: &str = "SELECT ratchet.canonical($1::json), encode(ratchet.fingerprint($1::json), 'hex')";
    let (_database, mut connection) = connect().await;
    for vector in vectors(FINGERPRINTS, "fingerprints") {
        let input = vector["input"].as_str();
        let (canonical, sha256): (String, String) =
            sqlx::query_as(BOTH).bind(input).fetch_one(&mut connection).await.unwrap();
        assert_eq!(canonical, vector["canonical"], "{}", vector["what"]);
        assert_eq!(sha256, vector["sha256"], "{}", vector["what"]);
    }
    for vector in vectors(FINGERPRINTS, "refused") {
        let answer = sqlx::query(BOTH).bind(vector["input"].as_str()).fetch_one(&mut connection).await;
        let reason = vector["reason"].as_str().unwrap().to_owned();
        assert_eq!(refusal(&answer.unwrap_err()), ("RT003".to_owned(), reason), "{}", vector["what"]);
    }
}

/// What only readers of JSON texts meet: the code makes its documents from values.
#[tokio::test]
async fn documents_that_no_value_becomes() {
    let (_database, mut connection) = connect().await;
    for (document, reason) in [
        (r#"{"a":1,"a":1}"#, "duplicate_name"),
        (r#"["\ud800"]"#, "not_unicode"),
        (r#"["\ude00\ud83d"]"#, "not_unicode"),
        ("[1e400]", "not_a_number"),
        ("[18446744073709551616]", "integer_too_large"),
        (&format!("\"{}\"", "x".repeat(262_143)), "too_large"),
    ] {
        let answer = sqlx::query("SELECT ratchet.canonical($1::json)").bind(document);
        let error = answer.fetch_one(&mut connection).await.unwrap_err();
        assert_eq!(refusal(&error), ("RT003".to_owned(), reason.to_owned()));
    }
    // The database itself takes the ends of a double's interval for another one's.
    for (document, canonical) in [("1e23", "1e+23"), (r#""\ud83d\ude00\/""#, "\"😀/\""), ("-0", "0")] {
        let answer = sqlx::query_scalar::<_, String>("SELECT ratchet.canonical($1::json)").bind(document);
        assert_eq!(answer.fetch_one(&mut connection).await.unwrap(), canonical);
    }
}

#[tokio::test]
async fn refusals_hold_no_value() {
    let (_database, mut connection) = connect().await;
    for statement in [
        r#"SELECT ratchet.render_key('a:<id>', '{"id": "secret "}')"#,
        r#"SELECT ratchet.render_key('a:<id>', '{"id": 4711.5}')"#,
        r#"SELECT ratchet.canonical('["secret", 4711e4711]')"#,
        r#"SELECT ratchet.canonical('{"secret": 1, "secret": 4711}')"#,
        r#"SELECT ratchet.canonical('["secret\ud800"]')"#,
    ] {
        let error = sqlx::query(statement).fetch_one(&mut connection).await.unwrap_err();
        let error = format!("{:?}", error.as_database_error().unwrap());
        assert!(!error.contains("secret") && !error.contains("4711"), "{error}");
        assert!(error.contains("RT00"), "{error}");
    }
}
