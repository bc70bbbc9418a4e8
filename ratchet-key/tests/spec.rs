//! Runs the vectors of `spec/keys.json`, which other languages run too.

use ratchet_key::{Key, KeyError, KeyWriter, PartError, Segment, Template};
use serde_json::Value;

fn vectors(kind: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(include_str!("../../spec/keys.json")).unwrap();
    assert_eq!(file["version"], 1);
    let vectors = file[kind].as_array().unwrap().clone();
    assert!(!vectors.is_empty(), "{kind}");
    vectors
}

fn render(vector: &Value) -> Result<Key, KeyError> {
    let template = Template::parse(vector["template"].as_str().unwrap()).unwrap();
    let mut key = KeyWriter::new();
    for segment in template.segments() {
        match segment {
            Segment::Literal { text, .. } => key.literal(text.clone().leak()),
            Segment::Placeholder { path, .. } => {
                let part = key.part();
                match &vector["values"][path.join(".")] {
                    Value::String(text) => part.text(text),
                    Value::Bool(value) => part.boolean(*value),
                    value => match value.as_u64() {
                        Some(value) => part.unsigned(value.into()),
                        None => part.integer(value.as_i64().unwrap().into()),
                    },
                }?;
            }
        }
    }
    let generation = vector.get("generation").map_or(1, |value| value.as_u64().unwrap());
    let step = vector.get("step").and_then(Value::as_str);
    key.finish()?.with_marks(u32::try_from(generation).unwrap(), step)
}

fn reason(error: &KeyError) -> &'static str {
    match error {
        KeyError::Part { reason: PartError::Empty, .. } => "empty",
        KeyError::Part { reason: PartError::ControlCharacter, .. } => "control_character",
        KeyError::Part { reason: PartError::SurroundingWhiteSpace, .. } => "surrounding_white_space",
        KeyError::TooLong { .. } => "too_long",
        KeyError::BadGeneration => "bad_generation",
        KeyError::BadStep => "bad_step",
        other => panic!("no vector gives {other:?}"),
    }
}

#[test]
fn rendered() {
    for vector in vectors("rendered") {
        let key = render(&vector).unwrap_or_else(|error| panic!("{vector}: {error}"));
        assert_eq!(key.as_str(), vector["key"], "{vector}");
    }
}

#[test]
fn refused_values() {
    for vector in vectors("refused_values") {
        let error = render(&vector).expect_err(&vector.to_string());
        assert_eq!(reason(&error), vector["reason"], "{vector}");
    }
}

#[test]
fn refused_templates() {
    for vector in vectors("refused_templates") {
        let text = vector["template"].as_str().unwrap();
        let findings = Template::parse(text).expect_err(text);
        assert_eq!(findings[0].code.as_str(), vector["code"], "{vector}");
        let column = findings[0].span.map(|span| text[..span.start].chars().count() + 1);
        assert_eq!(column.map(|column| column as u64), vector["column"].as_u64(), "{vector}");
    }
}
