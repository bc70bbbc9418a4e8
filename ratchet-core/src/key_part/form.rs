//! How JSON writes a value that stands in a key, for programs that do not know its type.

use serde::{Serialize, Serializer};

/// The form in which serde writes the values of a type, and with it the text that they have in a key.
///
/// Programs in other languages enqueue JSON (`ratchet.enqueue` in `PostgreSQL`). Their key is made from the JSON alone, so it
/// is the key of the code only if the value is written exactly as serde writes it. What has another form is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "form", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Form {
    /// A string, which is its own text.
    Text,
    /// A string of one character, which is its own text.
    Character,
    /// A number without a fraction.
    Integer {
        /// The smallest one.
        least: i128,
        /// The largest one.
        most: i128,
    },
    /// `true` or `false`.
    Boolean,
    /// A string: a UUID with hyphens, in lower case.
    Uuid,
    /// A string: a calendar date of the years 1 to 9999, as `2026-11-29`.
    Date,
    /// A string that is one of few.
    Names {
        /// Each as serde writes it, with its text in a key.
        #[serde(serialize_with = "as_object")]
        names: &'static [(&'static str, &'static str)],
    },
    /// Only the type knows: nobody else makes keys of it.
    Opaque,
}

fn as_object<S: Serializer>(names: &[(&str, &str)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(names.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read_by_its_name() {
        for (form, json) in [
            (Form::Text, r#"{"form":"text"}"#),
            (
                Form::Integer { least: -1, most: i128::MAX },
                r#"{"form":"integer","least":-1,"most":170141183460469231731687303715884105727}"#,
            ),
            (Form::Names { names: &[("Mail", "mail")] }, r#"{"form":"names","names":{"Mail":"mail"}}"#),
        ] {
            assert_eq!(serde_json::to_string(&form).unwrap(), json);
        }
    }
}
