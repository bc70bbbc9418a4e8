//! Python for the published client `getratchet`, with the package in `clients/python`.

use std::fmt::Write as _;

use serde_json::Value;

use super::names::{is_identifier, snake};
use super::types::{Body, Definition, Field, Type};
use super::{Generated, Module};

const HEAD: &str =
    "# Made by `ratchet generate python` of a manifest. Make it again where the operations change.

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from ratchet_runtime import Operation
";

/// Words that cannot be the name of a field in a class, or of a variable.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

pub(super) fn write(module: &Module<'_>) -> String {
    let mut text = HEAD.to_owned();
    for definition in &module.definitions {
        text.push_str("\n\n");
        text.push_str(&self::definition(definition));
    }
    for generated in &module.operations {
        text.push_str("\n\n");
        text.push_str(&operation(generated));
    }
    text
}

fn definition(Definition { name, comment, body }: &Definition) -> String {
    let mut text = commented(comment, "");
    match body {
        // In quotes, since it may name what comes later.
        Body::Alias(ty) => {
            let _ = writeln!(text, "{name}: TypeAlias = {}", string(&written(ty)));
        }
        Body::Object(fields) if fields.iter().all(|field| is_name(&field.name)) => {
            let _ = writeln!(text, "class {name}(TypedDict):");
            if fields.is_empty() {
                text.push_str("    pass\n");
            }
            for field in fields {
                let _ = writeln!(
                    text,
                    "{}    {}: {}",
                    commented(&field.comment, "    "),
                    field.name,
                    of_field(field)
                );
            }
        }
        Body::Object(fields) => {
            let _ = writeln!(text, "{name} = TypedDict(\n    {},\n    {{", string(name));
            for field in fields {
                let ty = string(&of_field(field));
                let _ = writeln!(text, "        {}: {ty},", string(&field.name));
            }
            text.push_str("    },\n)\n");
        }
    }
    text
}

fn of_field(Field { ty, required, .. }: &Field) -> String {
    if *required { written(ty) } else { format!("NotRequired[{}]", written(ty)) }
}

fn operation(generated: &Generated<'_>) -> String {
    let Generated { operation, name, input, output } = generated;
    let input = input.as_ref().map_or_else(|| "dict[str, Any]".to_owned(), written);
    let output = output.as_ref().map_or_else(|| "Any".to_owned(), written);
    let written = |one| value(&serde_json::to_value(one).unwrap_or_default());
    let placeholders: Vec<String> = operation.placeholders.iter().map(written).collect();
    let mut name = snake(name);
    // The annotations of the module name these.
    if !is_name(&name) || ["bool", "dict", "float", "int", "list", "str"].contains(&name.as_str()) {
        name.push('_');
    }
    format!(
        "{}{name}: Operation[{input}, {output}] = Operation(\n    {},\n    {},\n    key={},\n    placeholders=[{}],\n)\n",
        commented(&generated.comment(), ""),
        string(operation.name.as_str()),
        string(operation.version.as_str()),
        string(&operation.key),
        placeholders.join(", "),
    )
}

fn written(ty: &Type) -> String {
    let list = |types: &[Type], between: &str| types.iter().map(written).collect::<Vec<_>>().join(between);
    match ty {
        Type::Any => "Any".to_owned(),
        Type::Null => "None".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::Integer => "int".to_owned(),
        Type::Number => "float".to_owned(),
        Type::String => "str".to_owned(),
        // A float is none of Python's literal types.
        Type::Literal(Value::Number(number)) if !(number.is_i64() || number.is_u64()) => "float".to_owned(),
        Type::Literal(literal) => format!("Literal[{}]", value(literal)),
        Type::Array(items) => format!("list[{}]", written(items)),
        // JSON has lists alone.
        Type::Tuple(items) => format!("list[{}]", list(items, " | ")),
        Type::Map(members) => format!("dict[str, {}]", written(members)),
        Type::Union(choices) => list(choices, " | "),
        Type::Named(name) => name.clone(),
    }
}

fn is_name(text: &str) -> bool {
    is_identifier(text) && !KEYWORDS.contains(&text) && !text.starts_with("__")
}

/// A JSON value as Python writes it.
fn value(json: &Value) -> String {
    match json {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => string(text),
        Value::Array(items) => format!("[{}]", items.iter().map(value).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(name, member)| format!("{}: {}", string(name), value(member))).collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

/// A JSON string is one of Python's.
fn string(text: &str) -> String {
    Value::from(text).to_string()
}

/// Comments, and no documentation strings: no text of a schema's leads out of a line.
fn commented(lines: &[String], indent: &str) -> String {
    let harmless = |line: &String| {
        line.replace(|char: char| char.is_control() || matches!(char, '\u{2028}' | '\u{2029}'), " ")
    };
    let mut text = String::new();
    for line in lines {
        let _ = writeln!(text, "{indent}# {}", harmless(line));
    }
    text
}
