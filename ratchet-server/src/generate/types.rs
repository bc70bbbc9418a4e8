//! The types that JSON Schemas describe, without the words of a language.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::names::{Names, pascal};

/// A type.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Type {
    /// Whatever the schema says, it is not said in types.
    Any,
    Null,
    Boolean,
    Integer,
    Number,
    String,
    /// One value: a string, a number or a boolean.
    Literal(Value),
    Array(Box<Type>),
    Tuple(Vec<Type>),
    /// An object whose members have any name.
    Map(Box<Type>),
    Union(Vec<Type>),
    /// One of the definitions.
    Named(String),
}

/// A type with a name.
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) comment: Vec<String>,
    pub(super) body: Body,
}

pub(super) enum Body {
    Object(Vec<Field>),
    Alias(Type),
}

pub(super) struct Field {
    pub(super) name: String,
    pub(super) ty: Type,
    /// Whether it is always written.
    pub(super) required: bool,
    pub(super) comment: Vec<String>,
}

/// The definitions that were made so far.
pub(super) struct Types {
    names: Names,
    definitions: Vec<Definition>,
    /// What each `$defs` entry became, by its name and by all that it says.
    shared: BTreeMap<(String, String), String>,
}

/// What means something in one of the languages.
const MEANINGFUL: [&str; 10] = [
    "Any",
    "False",
    "Literal",
    "None",
    "NotRequired",
    "Operation",
    "Record",
    "True",
    "TypeAlias",
    "TypedDict",
];

/// Where a schema stands.
struct Place<'a> {
    root: &'a Value,
    /// What a type without a name of its own is called.
    name: String,
    /// The operation.
    owner: &'a str,
}

impl Types {
    pub(super) fn new() -> Self {
        Self { names: Names::without(&MEANINGFUL), definitions: Vec::new(), shared: BTreeMap::new() }
    }

    /// The type of a whole schema, under this name.
    pub(super) fn root(&mut self, name: &str, owner: &str, schema: &Value) -> Type {
        let place = Place { root: schema, name: name.to_owned(), owner };
        let name = self.names.reserve(name);
        self.define(&name, follow(schema, schema), &place);
        Type::Named(name)
    }

    pub(super) fn into_definitions(self) -> Vec<Definition> {
        self.definitions
    }

    fn define(&mut self, name: &str, schema: &Value, place: &Place<'_>) {
        let here = Place { name: name.to_owned(), ..*place };
        // In its place before those that it leads to.
        let at = self.definitions.len();
        let comment = comment(schema);
        let name = name.to_owned();
        self.definitions.push(Definition { name, comment, body: Body::Alias(Type::Any) });
        let body = match fields(schema) {
            Some(properties) => Body::Object(self.fields(properties, schema, &here)),
            None => Body::Alias(self.of(schema, &here)),
        };
        if let Some(definition) = self.definitions.get_mut(at) {
            definition.body = body;
        }
    }

    fn fields(&mut self, properties: &Map<String, Value>, schema: &Value, place: &Place<'_>) -> Vec<Field> {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &String| required.is_some_and(|names| names.iter().any(|other| other == name));
        let field = |(name, schema): (&String, &Value)| {
            let inner = Place { name: format!("{}{}", place.name, pascal(name)), ..*place };
            let ty = self.of(schema, &inner);
            Field { name: name.clone(), ty, required: is_required(name), comment: comment(schema) }
        };
        properties.iter().map(field).collect()
    }

    fn of(&mut self, schema: &Value, place: &Place<'_>) -> Type {
        let Some(object) = schema.as_object() else { return Type::Any };
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            return self.referred(reference, place);
        }
        if let Some(value) = object.get("const") {
            return literal(value);
        }
        if let Some(values) = object.get("enum").and_then(Value::as_array) {
            return union(values.iter().map(literal).collect());
        }
        for word in ["oneOf", "anyOf"] {
            if let Some(choices) = object.get(word).and_then(Value::as_array) {
                // What stands beside the choices would have to be said of each.
                return if object.contains_key("properties") {
                    Type::Any
                } else {
                    self.choices(choices, place)
                };
            }
        }
        match object.get("type") {
            Some(Value::String(name)) => self.of_kind(name, schema, place),
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                union(names.map(|name| self.of_kind(name, schema, place)).collect())
            }
            _ => Type::Any,
        }
    }

    fn choices(&mut self, choices: &[Value], place: &Place<'_>) -> Type {
        let numbered = |(nth, choice): (usize, &Value)| {
            let own = tag(choice).unwrap_or_else(|| (nth + 1).to_string());
            let inner = Place { name: format!("{}{own}", place.name), ..*place };
            self.of(choice, &inner)
        };
        union(choices.iter().enumerate().map(numbered).collect())
    }

    fn of_kind(&mut self, kind: &str, schema: &Value, place: &Place<'_>) -> Type {
        match kind {
            "null" => Type::Null,
            "boolean" => Type::Boolean,
            "integer" => Type::Integer,
            "number" => Type::Number,
            "string" => Type::String,
            "array" => self.array(schema, place),
            "object" if fields(schema).is_some() => {
                let name = self.names.reserve(&place.name);
                self.define(&name, schema, place);
                Type::Named(name)
            }
            "object" => {
                let members = schema.get("additionalProperties").unwrap_or(&Value::Null);
                Type::Map(Box::new(self.of(members, place)))
            }
            _ => Type::Any,
        }
    }

    fn array(&mut self, schema: &Value, place: &Place<'_>) -> Type {
        if let Some(items) = schema.get("prefixItems").and_then(Value::as_array) {
            return Type::Tuple(items.iter().map(|item| self.of(item, place)).collect());
        }
        let items = schema.get("items").unwrap_or(&Value::Null);
        Type::Array(Box::new(self.of(items, place)))
    }

    /// A definition of the schema. Operations share those that say the same under the same name.
    fn referred(&mut self, reference: &str, place: &Place<'_>) -> Type {
        let Some((own_name, schema)) = definition(place.root, reference) else { return Type::Any };
        let key = (own_name.to_owned(), says(place.root, schema));
        if let Some(name) = self.shared.get(&key) {
            return Type::Named(name.clone());
        }
        let mut wanted = pascal(own_name);
        if self.names.contains(&wanted) {
            wanted = format!("{}{wanted}", place.owner);
        }
        let name = self.names.reserve(&wanted);
        self.shared.insert(key, name.clone());
        self.define(&name, schema, place);
        Type::Named(name)
    }
}

/// The named members of an object; `None` where it has none, or says more than them.
fn fields(schema: &Value) -> Option<&Map<String, Value>> {
    let object = schema.as_object()?;
    let more = ["oneOf", "anyOf", "allOf", "$ref"].iter().any(|word| object.contains_key(*word));
    object.get("properties").and_then(Value::as_object).filter(|_| !more)
}

/// What a choice calls itself: the one text that a member of it always is, as serde's `tag` writes it.
fn tag(choice: &Value) -> Option<String> {
    let members = choice.get("properties")?.as_object()?.values();
    let mut texts = members.filter_map(|member| member.get("const")?.as_str());
    let text = texts.next()?;
    texts.next().is_none().then(|| pascal(text))
}

/// Each type once.
fn union(types: Vec<Type>) -> Type {
    let mut kept: Vec<Type> = Vec::new();
    for ty in types {
        if !kept.contains(&ty) {
            kept.push(ty);
        }
    }
    if kept.contains(&Type::Any) || kept.is_empty() {
        return Type::Any;
    }
    if kept.len() == 1 { kept.swap_remove(0) } else { Type::Union(kept) }
}

fn literal(value: &Value) -> Type {
    match value {
        Value::Null => Type::Null,
        Value::String(_) | Value::Bool(_) | Value::Number(_) => Type::Literal(value.clone()),
        _ => Type::Any,
    }
}

fn comment(schema: &Value) -> Vec<String> {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The definition that a reference names, with its own name.
fn definition<'a>(root: &'a Value, reference: &str) -> Option<(&'a str, &'a Value)> {
    let name = reference.strip_prefix("#/$defs/")?.replace("~1", "/").replace("~0", "~");
    let (name, schema) = root.get("$defs")?.as_object()?.get_key_value(&name)?;
    Some((name, schema))
}

/// The schema that stands here, or that this place refers to.
pub(super) fn follow<'a>(root: &'a Value, place: &'a Value) -> &'a Value {
    let mut place = place;
    // A circle of references leads nowhere.
    for _ in 0..16 {
        let reference = place.get("$ref").and_then(Value::as_str);
        match reference.and_then(|reference| definition(root, reference)) {
            Some((_, next)) => place = next,
            None => break,
        }
    }
    place
}

/// The schema of a member.
pub(super) fn member<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.get("properties")?.get(name)
}

/// A schema with all that it refers to, as a text to compare.
fn says(root: &Value, schema: &Value) -> String {
    let mut seen = BTreeMap::new();
    collect(root, schema, &mut seen);
    let referred: Vec<String> = seen.iter().map(|(name, schema)| format!("{name}: {schema}")).collect();
    format!("{schema}\n{}", referred.join("\n"))
}

fn collect<'a>(root: &'a Value, schema: &'a Value, seen: &mut BTreeMap<&'a str, &'a Value>) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| collect(root, item, seen)),
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            if let Some((name, next)) = reference.and_then(|reference| definition(root, reference))
                && seen.insert(name, next).is_none()
            {
                collect(root, next, seen);
            }
            members.values().for_each(|member| collect(root, member, seen));
        }
        _ => {}
    }
}
