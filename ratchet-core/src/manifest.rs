//! The manifest of a program: what it says about its operations to programs in other languages (`spec/manifest.md`).

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::contract::{Contract, MechanismKind, Retention};
use crate::key_part::Form;
use crate::model::{OperationName, Version};
use crate::operation::{Handler, Schemas};
use crate::registry::Registry;

/// The largest integer of an input: a larger one would be rounded by other readers of JSON, and is refused.
const LARGEST: i128 = (1 << 53) - 1;

/// What a program says about its operations; made by [`Registry::manifest`], and printed as JSON by `Display`.
///
/// ```
/// # use ratchet_core::Registry;
/// let manifest = Registry::default().manifest();
/// assert_eq!(manifest.to_string(), "{\n  \"ratchet_manifest\": 1,\n  \"operations\": []\n}");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the format.
    #[serde(rename = "ratchet_manifest")]
    pub format: u32,
    /// Its operations, by name and version.
    pub operations: Vec<DescribedOperation>,
}

impl Manifest {
    /// The version of the format that is written and read here.
    pub const FORMAT: u32 = 1;
}

impl fmt::Display for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string_pretty(self).map_err(|_| fmt::Error)?)
    }
}

/// What is said about one version of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DescribedOperation {
    /// Its name.
    pub name: OperationName,
    /// The version of its code and input.
    pub version: Version,
    /// Its key template.
    pub key: String,
    /// The values of its placeholders, in order.
    pub placeholders: Vec<Placeholder>,
    /// The JSON Schema of its input, where the operation is declared with `schema`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The JSON Schema of its result, where the operation is declared with `schema`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// How long one attempt may run, in milliseconds.
    pub timeout_ms: u64,
    /// How long a settled record is kept, in milliseconds.
    pub retention_ms: u64,
    /// What its destination promises.
    pub destination: DescribedDestination,
}

/// What a destination promises about repeated requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedDestination {
    /// What kind of mechanism it has.
    pub mechanism: MechanismKind,
    /// The name of the header, field or parameter that carries the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// How long it remembers a key, `for` in milliseconds; without a meaning where it does not deduplicate.
    pub retention: Retention,
    /// The name of its contract, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// What stands in the place of a placeholder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placeholder {
    /// The names that lead to the value in the JSON of the input, which may differ from those in Rust.
    pub path: Vec<String>,
    /// How it is written there.
    #[serde(flatten)]
    pub form: ValueForm,
}

impl From<(Vec<String>, Form)> for Placeholder {
    fn from((path, form): (Vec<String>, Form)) -> Self {
        Self { path, form: form.into() }
    }
}

/// How JSON writes the value of a placeholder, and with it the text that it has in a key. What is written otherwise is
/// refused, or one action would have two keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ValueForm {
    /// A string, which is its own text.
    Text,
    /// A string of one character, which is its own text.
    Character,
    /// A number without a fraction.
    Integer {
        /// The smallest one; at least −(2^53−1), since an input can hold no smaller one.
        least: i64,
        /// The largest one; at most 2^53−1.
        most: i64,
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
        names: BTreeMap<String, String>,
    },
    /// Only the type knows: nobody else makes keys of it.
    Opaque,
}

impl From<Form> for ValueForm {
    fn from(form: Form) -> Self {
        let within = |bound: i128| i64::try_from(bound.clamp(-LARGEST, LARGEST)).unwrap_or_default();
        match form {
            Form::Text => Self::Text,
            Form::Character => Self::Character,
            Form::Integer { least, most } => Self::Integer { least: within(least), most: within(most) },
            Form::Boolean => Self::Boolean,
            Form::Uuid => Self::Uuid,
            Form::Date => Self::Date,
            Form::Names { names } => {
                let owned = names.iter().map(|(json, text)| ((*json).to_owned(), (*text).to_owned()));
                Self::Names { names: owned.collect() }
            }
            Form::Opaque => Self::Opaque,
        }
    }
}

impl Registry {
    /// What programs in other languages have to know about these operations, as `ratchet generate` reads it.
    ///
    /// A program prints it where its build wants it, such as under an argument of its own:
    /// `println!("{}", ratchet::registry![collect_invoice].manifest())`.
    #[must_use]
    pub fn manifest(&self) -> Manifest {
        Manifest { format: Manifest::FORMAT, operations: self.handlers().map(described).collect() }
    }
}

fn described(handler: &Handler) -> DescribedOperation {
    let spec = handler.spec();
    let (input, output) =
        handler.schemas().map(|Schemas { input, output }| (Some(input), Some(output))).unwrap_or_default();
    DescribedOperation {
        name: spec.name.clone(),
        version: spec.version.clone(),
        key: spec.template.to_owned(),
        placeholders: handler.places().into_iter().map(Placeholder::from).collect(),
        input,
        output,
        timeout_ms: millis(spec.policy.timeout),
        retention_ms: millis(spec.policy.retention),
        destination: DescribedDestination::from(&spec.contract),
    }
}

impl From<&Contract> for DescribedDestination {
    fn from(contract: &Contract) -> Self {
        let terms = contract.terms();
        Self {
            mechanism: terms.mechanism(),
            place: contract.mechanism().name().map(str::to_owned),
            retention: terms.retention(),
            name: terms.name().map(str::to_owned),
        }
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_bounded_by_what_an_input_can_hold() {
        for (form, json) in [
            (
                Form::Integer { least: i64::MIN.into(), most: i128::MAX },
                r#"{"form":"integer","least":-9007199254740991,"most":9007199254740991}"#,
            ),
            (Form::Integer { least: 1, most: 255 }, r#"{"form":"integer","least":1,"most":255}"#),
            (Form::Names { names: &[("Mail", "mail")] }, r#"{"form":"names","names":{"Mail":"mail"}}"#),
            (Form::Opaque, r#"{"form":"opaque"}"#),
        ] {
            let form = ValueForm::from(form);
            assert_eq!(serde_json::to_string(&form).unwrap(), json);
            assert_eq!(serde_json::from_str::<ValueForm>(json).unwrap(), form);
        }
    }
}
