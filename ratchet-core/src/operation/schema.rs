//! JSON Schemas of inputs and outputs, for programs in other languages.

use serde_json::{Map, Value, json};

/// What JSON an operation takes and leaves, as JSON Schema (draft 2020-12).
///
/// They describe what serde writes, since another spelling of the same value has another fingerprint.
#[derive(Debug, Clone, PartialEq)]
pub struct Schemas {
    /// Its input.
    pub input: Value,
    /// What a successful attempt leaves.
    pub output: Value,
}

/// The types that have a JSON Schema: those with `#[derive(schemars::JsonSchema)]`.
#[cfg_attr(
    feature = "schema",
    diagnostic::on_unimplemented(
        message = "`{Self}` has no JSON Schema, which `schema` asks for",
        label = "needs `schemars::JsonSchema`, of schemars 1",
        note = "add #[derive(schemars::JsonSchema)] to the type, or remove `schema` from the operation"
    )
)]
#[cfg_attr(
    not(feature = "schema"),
    diagnostic::on_unimplemented(
        message = "`schema` needs the feature `schema` of `ratchet`",
        label = "no type has a JSON Schema without it",
        note = "write `ratchet = {{ …, features = [\"schema\"] }}` in Cargo.toml, or remove `schema` from the operation"
    )
)]
pub trait Described {
    /// Its schema; definitions that it refers to are added to the generator.
    fn describe(generator: &mut Generator) -> Value;
}

/// What holds the definitions while a schema is made.
#[derive(Debug)]
pub struct Generator {
    #[cfg(feature = "schema")]
    inner: schemars::SchemaGenerator,
}

impl Generator {
    fn new() -> Self {
        Self {
            // What is written, not what could be read: a field with a default is always there.
            #[cfg(feature = "schema")]
            inner: schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator(),
        }
    }

    #[cfg(feature = "schema")]
    fn definitions(&self) -> Map<String, Value> {
        self.inner.definitions().clone()
    }

    #[cfg(not(feature = "schema"))]
    #[allow(clippy::unused_self, reason = "it is the same function with the feature")]
    fn definitions(&self) -> Map<String, Value> {
        Map::new()
    }

    /// The schema with the definitions that it refers to.
    fn finish(&self, mut schema: Value) -> Value {
        let definitions = self.definitions();
        if let Some(schema) = schema.as_object_mut().filter(|_| !definitions.is_empty()) {
            schema.insert("$defs".to_owned(), definitions.into());
        }
        schema
    }
}

// What of schemars is lacking is no error of its own.
#[cfg(feature = "schema")]
#[diagnostic::do_not_recommend]
impl<T: schemars::JsonSchema> Described for T {
    fn describe(generator: &mut Generator) -> Value {
        generator.inner.subschema_for::<T>().to_value()
    }
}

/// The schema of a type.
#[must_use]
pub fn schema_of<T: Described>() -> Value {
    let mut generator = Generator::new();
    let schema = T::describe(&mut generator);
    generator.finish(schema)
}

/// One parameter: its name, and how it is described.
#[derive(Debug)]
pub struct DescribedParameter {
    name: &'static str,
    describe: fn(&mut Generator) -> Value,
}

/// The parameter `name` of type `T`.
#[must_use]
pub const fn described<T: Described>(name: &'static str) -> DescribedParameter {
    DescribedParameter { name, describe: T::describe }
}

/// The schema of an object with a member for each parameter. All of them are always written.
#[must_use]
pub fn schema_of_parameters(parameters: &[DescribedParameter]) -> Value {
    let mut generator = Generator::new();
    let mut properties = Map::new();
    for DescribedParameter { name, describe } in parameters {
        properties.insert((*name).to_owned(), describe(&mut generator));
    }
    let required: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
    generator.finish(json!({ "type": "object", "properties": properties, "required": required }))
}

#[cfg(all(test, feature = "schema"))]
mod tests {
    use super::*;

    #[derive(schemars::JsonSchema, serde::Serialize)]
    struct Address {
        city: String,
        #[serde(default)]
        floor: i32,
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    }

    #[test]
    fn what_is_always_written_is_required_and_types_are_referred_to() {
        let address = json!({
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "floor": {"type": "integer", "format": "int32", "default": 0},
                "note": {"type": ["string", "null"]},
            },
            "required": ["city", "floor"],
        });
        let schema =
            schema_of_parameters(&[described::<Option<u8>>("line"), described::<Vec<Address>>("to")]);
        assert_eq!(schema["required"], json!(["line", "to"]));
        assert_eq!(schema["properties"]["to"]["items"], json!({"$ref": "#/$defs/Address"}));
        assert_eq!(schema["$defs"]["Address"], address);
        assert_eq!(schema_of::<bool>(), json!({"type": "boolean"}));
    }
}
