//! Which input, and which field of it, a placeholder names.

use proc_macro2::{Ident, Span};
use ratchet_key::{Code, Finding, Segment, Template};
use syn::LitStr;

use super::{Piece, Report, place};
use crate::errors::{closest, list};
use crate::names::{generated, identifier, last_name, unraw};
use crate::operation::{Handler, Input};

/// The pieces of the key; `None` if a placeholder names nothing.
pub(super) fn pieces(
    template: &Template,
    handler: &Handler,
    literal: &LitStr,
    report: &mut Report<'_>,
) -> Option<Vec<Piece>> {
    let pieces: Vec<Option<Piece>> = template
        .segments()
        .iter()
        .map(|segment| match segment {
            Segment::Literal { text, .. } => Some(Piece::Literal(text.clone())),
            Segment::Placeholder { path, span } => part(path, *span, handler, literal, report),
        })
        .collect();
    pieces.into_iter().collect()
}

fn part(
    path: &[String],
    span: ratchet_key::Span,
    handler: &Handler,
    literal: &LitStr,
    report: &mut Report<'_>,
) -> Option<Piece> {
    let here = place(literal, report.text, span);
    if let Some(input) = handler.single_input() {
        if let Some(finding) = from_the_parameter(path, span, input) {
            report.finding(&finding);
            return None;
        }
        let fields = fields(path, span, here, report)?;
        return Some(Piece::Part { input: 0, fields, span: here });
    }
    let (head, rest) = path.split_first()?;
    let Some((at, input)) = named(head, handler) else {
        report.finding(&unknown(head, path, span, handler));
        return None;
    };
    let fields = fields(rest, span, here, report)?;
    // The type has a place of its own; what it is made of has not.
    let here = if fields.is_empty() { last_name(&input.ty) } else { here };
    Some(Piece::Part { input: at, fields, span: here })
}

/// A path that begins at the one input in place of its fields. A field may have any other name of a parameter.
fn from_the_parameter(path: &[String], span: ratchet_key::Span, input: &Input) -> Option<Finding> {
    let (head, rest) = path.split_first()?;
    let named = input.name()?;
    if head != "input" || named.trim_start_matches('_') != head || rest.is_empty() {
        return None;
    }
    let message = "with one input, placeholders begin at its fields".to_owned();
    Some(syntax(path, span, message, format!("write `<{}>`", rest.join("."))))
}

fn named<'a>(name: &str, handler: &'a Handler) -> Option<(usize, &'a Input)> {
    handler
        .inputs()
        .enumerate()
        .find(|(_, input)| input.ident.as_ref().is_some_and(|ident| unraw(ident) == name))
}

fn fields(
    path: &[String],
    span: ratchet_key::Span,
    here: Span,
    report: &mut Report<'_>,
) -> Option<Vec<Ident>> {
    // As generated code: what the compiler would suggest to write in its place would overwrite the attribute.
    let fields: Option<Vec<Ident>> = path.iter().map(|name| identifier(name, generated(here))).collect();
    if fields.is_none() {
        report.finding(&syntax(
            path,
            span,
            "this is a word of the language, and no field can have it as its name".to_owned(),
            "name a field of the input".to_owned(),
        ));
    }
    fields
}

fn unknown(head: &str, path: &[String], span: ratchet_key::Span, handler: &Handler) -> Finding {
    let names: Vec<String> = handler.inputs().filter_map(Input::name).collect();
    let known = list(names.iter().map(String::as_str));
    let help = match closest(head, names.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean `<{meant}>`? The parameters that a key can name are {known}"),
        None => format!("the parameters that a key can name are {known}"),
    };
    syntax(path, span, format!("the operation has no parameter `{head}`"), help)
}

fn syntax(path: &[String], span: ratchet_key::Span, message: String, help: String) -> Finding {
    Finding {
        code: Code::R007,
        span: Some(span),
        placeholder: Some(path.join(".")),
        word: None,
        category: None,
        message,
        help,
    }
}
