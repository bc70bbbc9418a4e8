//! Puts a text into a field of a JSON body, and leaves everything else as it was written.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// Why a field cannot be put into a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// The body, or what leads to the field, is no JSON object.
    NoObject,
    /// The field has another value.
    Taken,
}

impl Misfit {
    pub(crate) fn explain(self, path: &str) -> String {
        match self {
            Self::NoObject => format!(
                "the contract puts the identity into the field `{path}` of the body, which has to be a JSON object: give it \
                 with `.json(…)`"
            ),
            Self::Taken => format!(
                "the field `{path}` of the body was set by hand to something else, and carries the identity: leave it to \
                 `.idempotent(&ctx)`"
            ),
        }
    }
}

type Members<'a> = BTreeMap<String, &'a RawValue>;

/// The body with this text in the field; dots lead into objects, which are made where there are none.
pub(crate) fn put_field(body: &[u8], path: &str, text: &str) -> Result<String, Misfit> {
    let body = std::str::from_utf8(body).map_err(|_| Misfit::NoObject)?;
    put(body, path, text)
}

fn put(object: &str, path: &str, text: &str) -> Result<String, Misfit> {
    let mut members: Members<'_> = serde_json::from_str(object).map_err(|_| Misfit::NoObject)?;
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let present = members.get(name).map(|value| value.get());
    let member = match (rest, present) {
        (Some(rest), inner) => put(inner.unwrap_or("{}"), rest, text)?,
        (None, Some(present)) if serde_json::from_str::<String>(present).is_ok_and(|set| set == text) => {
            present.to_owned()
        }
        (None, Some(_)) => return Err(Misfit::Taken),
        (None, None) => serde_json::Value::from(text).to_string(),
    };
    let member = RawValue::from_string(member).map_err(|_| Misfit::NoObject)?;
    members.insert(name.to_owned(), &member);
    serde_json::to_string(&members).map_err(|_| Misfit::NoObject)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_key(body: &str, path: &str) -> Result<String, Misfit> {
        put_field(body.as_bytes(), path, "k\"1")
    }

    #[test]
    fn the_field_is_added_and_the_rest_stays() {
        let body = r#"{"amount":1.10,"n":12345678901234567890123}"#;
        let expected = r#"{"amount":1.10,"key":"k\"1","n":12345678901234567890123}"#;
        assert_eq!(with_key(body, "key").unwrap(), expected);
        assert_eq!(with_key("{}", "headers.key").unwrap(), r#"{"headers":{"key":"k\"1"}}"#);
        let nested = with_key(r#"{"headers":{"x":1}}"#, "headers.key").unwrap();
        assert_eq!(nested, r#"{"headers":{"key":"k\"1","x":1}}"#);
    }

    #[test]
    fn the_same_value_stays_once_and_another_one_is_refused() {
        assert_eq!(with_key(r#"{"key":"k\"1"}"#, "key").unwrap(), r#"{"key":"k\"1"}"#);
        for taken in [r#"{"key":"other"}"#, r#"{"key":1}"#, r#"{"key":null}"#] {
            assert_eq!(with_key(taken, "key"), Err(Misfit::Taken), "{taken}");
        }
        for no_object in ["", "[]", "7", "null", "key=1", r#"{"headers":1}"#] {
            assert_eq!(with_key(no_object, "headers.key"), Err(Misfit::NoObject), "{no_object}");
        }
        assert_eq!(put_field(&[0xff], "key", "k"), Err(Misfit::NoObject));
    }
}
