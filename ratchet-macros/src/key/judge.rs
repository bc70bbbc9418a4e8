//! Judges names and types in a template.

use ratchet_key::{Code, Finding, NameFinding, Template, inspect, judge_field, judge_name, judge_type};
use syn::Type;

use super::allow::Allowances;
use super::{Report, placeholders};
use crate::errors::with_help;
use crate::input::{Marks, personal, stored};
use crate::names::written;
use crate::operation::Handler;

/// Reports what names and types give away, unless it is allowed.
pub(super) fn judge(template: &Template, handler: &Handler, allow: &mut Allowances, report: &mut Report<'_>) {
    let mut findings = inspect(template);
    if let Some(input) = handler.single_input() {
        findings.extend(by_entity(template, &type_name(&input.ty), &findings));
    }
    findings.sort_by_key(|finding| finding.span.map_or(0, |span| span.start));
    for finding in findings {
        if allow.take(finding.code).is_none() {
            report.finding(&finding);
        }
    }
    if handler.single_input().is_none() {
        by_type(template, handler, allow, report);
        in_payload(template, handler, allow, report);
    }
}

/// Parameters are stored and shown to operators, in the key or not.
fn in_payload(template: &Template, handler: &Handler, allow: &mut Allowances, report: &mut Report<'_>) {
    for input in handler.inputs() {
        let (Some(ident), Some(name)) = (&input.ident, input.name()) else { continue };
        let in_key = placeholders(template).any(|(path, _)| path.first() == Some(&name));
        marked(&name, &input.marks, in_key, allow, report);
        // What is in the key has been judged there.
        let found = judge_field(None, &name, Some(&written(&input.ty))).filter(|_| !in_key);
        let Some(found) = found else { continue };
        if found.code == Code::R005 {
            if allow.take(Code::R005).is_none() {
                report.error(ident.span(), &stored("parameter", &name, &found, "allow(R005 = \"why\")"));
            }
        } else if input.marks.pii.is_none() && allow.take(Code::R013).is_none() {
            report.warnings.push(personal(ident.span(), "parameter", &name, &found, "allow(R013 = \"why\")"));
        }
    }
}

/// What the marks of a parameter say about the key.
fn marked(name: &str, marks: &Marks, in_key: bool, allow: &mut Allowances, report: &mut Report<'_>) {
    if let Some(place) = marks.key.filter(|_| !in_key) {
        let message = format!("R007: `{name}` is marked `#[key]`, and the key template does not name it");
        report
            .error(place, &with_help(message, format!("add `<{name}>` to the template, or remove `#[key]`")));
    }
    if let Some(place) = marks.volatile.filter(|_| in_key) {
        let message = format!(
            "R015: `{name}` is marked `#[volatile]` and stands in the key: what differs from one attempt to the next \
             gives each another key"
        );
        report.error(
            place,
            &with_help(message, format!("remove `<{name}>` from the template, or `#[volatile]`")),
        );
    }
    if let Some(place) = marks.pii.filter(|_| in_key && allow.take(Code::R004).is_none()) {
        let message = format!(
            "R004: `{name}` is marked `#[pii]` and stands in the key, which is copied into logs and the records of the \
             destination"
        );
        report.error(place, &with_help(message, "name an opaque id from your own records in its place"));
    }
}

/// Fields of the input in the light of its name: the `name` of a `CustomerInput` is personal.
fn by_entity(template: &Template, entity: &str, known: &[Finding]) -> Vec<Finding> {
    let judged = |span| known.iter().any(|finding| finding.span == Some(span));
    placeholders(template)
        .filter(|(_, span)| !judged(*span))
        .filter_map(|(path, span)| match path {
            [name] => judge_name(Some(entity), name).map(|found| in_entity(entity, name, span, found)),
            _ => None,
        })
        .collect()
}

fn in_entity(entity: &str, name: &str, span: ratchet_key::Span, found: NameFinding) -> Finding {
    let NameFinding { code, word, category, why, help } = found;
    Finding {
        code,
        span: Some(span),
        message: format!("`{name}` of `{entity}` in the key {why}"),
        help: format!("replace `<{name}>`; {help}"),
        word: Some(word),
        category,
        placeholder: Some(name.to_owned()),
    }
}

/// Parameters whose type is known to be unfit by its name. The trait has the last word on all others.
fn by_type(template: &Template, handler: &Handler, allow: &mut Allowances, report: &mut Report<'_>) {
    for (path, _) in placeholders(template) {
        let [name] = path else { continue };
        let Some(input) = handler.inputs().find(|input| input.name().as_deref() == Some(name)) else {
            continue;
        };
        let Some(NameFinding { code, word, why, help, .. }) = judge_type(&written(&input.ty)) else {
            continue;
        };
        // Whether such a type has a text form at all is then for the trait to say.
        if code != Code::R008 && allow.take(code).is_some() {
            continue;
        }
        let text =
            format!("{code}: `{word}` cannot be the type of `<{name}>` in the key: it {why}\nhelp: {help}");
        report.on(&input.ty, &text);
    }
}

/// The last segment of the type's path.
fn type_name(ty: &Type) -> String {
    match ty {
        Type::Group(group) => type_name(&group.elem),
        Type::Paren(paren) => type_name(&paren.elem),
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default(),
        _ => String::new(),
    }
}
