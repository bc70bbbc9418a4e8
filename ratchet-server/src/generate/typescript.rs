//! TypeScript for the client in `clients/typescript`.

use std::fmt::Write as _;

use super::names::{camel, is_identifier};
use super::types::{Body, Definition, Field, Type};
use super::{Generated, Module};

const HEAD: &str =
    "// Made by `ratchet generate typescript` of a manifest. Make it again where the operations change.

import { Operation } from 'ratchet-client';
";

pub(super) fn write(module: &Module<'_>) -> String {
    let mut text = HEAD.to_owned();
    for definition in &module.definitions {
        text.push('\n');
        text.push_str(&self::definition(definition));
    }
    for generated in &module.operations {
        text.push('\n');
        text.push_str(&operation(generated));
    }
    text
}

fn definition(Definition { name, comment, body }: &Definition) -> String {
    let mut text = documented(comment, "");
    match body {
        Body::Alias(ty) => {
            let _ = writeln!(text, "export type {name} = {};", written(ty));
        }
        Body::Object(fields) => {
            let _ = writeln!(text, "export interface {name} {{");
            for field in fields {
                text.push_str(&self::field(field));
            }
            text.push_str("}\n");
        }
    }
    text
}

fn field(Field { name, ty, required, comment }: &Field) -> String {
    let name = if is_identifier(name) { name.clone() } else { string(name) };
    let mark = if *required { "" } else { "?" };
    format!("{}  {name}{mark}: {};\n", documented(comment, "  "), written(ty))
}

fn operation(generated: &Generated<'_>) -> String {
    let Generated { operation, name, input, output } = generated;
    let input = input.as_ref().map_or_else(|| "Record<string, unknown>".to_owned(), written);
    let output = output.as_ref().map_or_else(|| "unknown".to_owned(), written);
    let placeholders: Vec<String> =
        operation.placeholders.iter().map(|one| serde_json::to_string(one).unwrap_or_default()).collect();
    format!(
        "{}export const {} = new Operation<{input}, {output}>({{\n  name: {},\n  version: {},\n  key: {},\n  placeholders: [{}],\n}});\n",
        documented(&generated.comment(), ""),
        variable(name),
        string(operation.name.as_str()),
        string(operation.version.as_str()),
        string(&operation.key),
        placeholders.join(", "),
    )
}

/// Words that cannot be the name of a constant in a module.
const KEYWORDS: [&str; 48] = [
    "arguments",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

fn variable(name: &str) -> String {
    let name = camel(name);
    if KEYWORDS.contains(&name.as_str()) { format!("{name}_") } else { name }
}

fn written(ty: &Type) -> String {
    let list = |types: &[Type], between: &str| types.iter().map(written).collect::<Vec<_>>().join(between);
    match ty {
        Type::Any => "unknown".to_owned(),
        Type::Null => "null".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::Integer | Type::Number => "number".to_owned(),
        Type::String => "string".to_owned(),
        Type::Literal(value) => value.to_string(),
        Type::Array(items) if matches!(**items, Type::Union(_)) => format!("({})[]", written(items)),
        Type::Array(items) => format!("{}[]", written(items)),
        Type::Tuple(items) => format!("[{}]", list(items, ", ")),
        Type::Map(members) => format!("Record<string, {}>", written(members)),
        Type::Union(choices) => list(choices, " | "),
        Type::Named(name) => name.clone(),
    }
}

/// A JSON string is one of TypeScript's.
fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A comment from which no text of a schema's leads out.
fn documented(lines: &[String], indent: &str) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let harmless = |line: &String| {
        let line =
            line.replace(|char: char| char.is_control() || matches!(char, '\u{2028}' | '\u{2029}'), " ");
        line.replace("*/", "*\\/")
    };
    if let [line] = lines {
        return format!("{indent}/** {} */\n", harmless(line));
    }
    let mut text = format!("{indent}/**\n");
    for line in lines {
        let _ = writeln!(text, "{indent} * {}", harmless(line));
    }
    text + indent + " */\n"
}
