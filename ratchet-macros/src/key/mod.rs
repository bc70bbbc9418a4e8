//! The key template of an operation: read, judged, and matched with the parameters.

mod allow;
mod judge;
mod matching;

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use ratchet_key::{Code, Finding, Segment, Template, inspect};
use syn::LitStr;

use crate::errors::{Errors, list};
use crate::operation::{Args, Handler, Input};

pub(crate) use allow::{Allowances, wrong_form};

/// A sound key.
pub(crate) struct Key {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) distinction: Distinction,
    /// The literal.
    pub(crate) span: Span,
    /// A field that is marked as personal may stand in it.
    pub(crate) personal: bool,
    /// Statements that make the compiler warn.
    pub(crate) warnings: Vec<TokenStream>,
}

/// One piece of a key.
pub(crate) enum Piece {
    Literal(String),
    Part {
        /// Which of the inputs, counted from 0.
        input: usize,
        /// The fields that lead to the value within it.
        fields: Vec<Ident>,
        /// Where a type is refused: the placeholder, or the parameter's type.
        span: Span,
    },
}

/// Whether the types must show that some part tells records apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distinction {
    Required,
    /// A reason is given why not.
    Waived,
}

/// Reads the key and reports everything that is wrong with it; `None` if something is.
pub(crate) fn read(args: &Args, handler: &Handler, errors: &mut Errors) -> Option<Key> {
    let literal = args.key.as_ref()?;
    let text = literal.value();
    let mut allow = args.allow.clone();
    let mut report = Report { literal, text: &text, errors, warnings: Vec::new(), failed: false };
    let template = Template::parse(&text);
    let judged = template.is_ok();
    let key = match template {
        Ok(template) => {
            judge::judge(&template, handler, &mut allow, &mut report);
            matching::pieces(&template, handler, literal, &mut report)
        }
        Err(mut findings) => {
            name_parameters(&mut findings, handler);
            constant(findings, &text, &mut allow, &mut report)
        }
    };
    let distinction = allow.take(Code::R006).map_or(Distinction::Required, |()| Distinction::Waived);
    // Whether a field is marked as personal only the compiler knows.
    let personal = judged && handler.single_input().is_some() && allow.take_unused(Code::R004);
    let (sound, warnings) = (!report.failed, report.warnings);
    if judged {
        // Of a template outside the grammar it is not known what there would be to allow.
        allow.report_unused(report.errors);
    }
    let pieces = key.filter(|_| sound)?;
    Some(Key { pieces, distinction, span: literal.span(), personal, warnings })
}

/// Reports what the template alone gives away, where there is no signature to match it with.
pub(crate) fn read_alone(args: &Args, errors: &mut Errors) {
    let Some(literal) = args.key.as_ref() else { return };
    let text = literal.value();
    let mut allow = args.allow.clone();
    let findings = Template::parse(&text).map_or_else(|findings| findings, |template| inspect(&template));
    let mut report = Report { literal, text: &text, errors, warnings: Vec::new(), failed: false };
    for finding in findings.iter().filter(|finding| allow.take(finding.code).is_none()) {
        report.finding(finding);
    }
}

/// What could be named, where nothing is and the names are at hand.
fn name_parameters(findings: &mut [Finding], handler: &Handler) {
    let names: Vec<String> = handler.inputs().filter_map(Input::name).collect();
    if handler.single_input().is_some() || names.is_empty() {
        return;
    }
    for finding in findings.iter_mut().filter(|finding| finding.code == Code::R006) {
        let names = list(names.iter().map(String::as_str));
        finding.help = format!("name what identifies the action, all of it: there are {names}");
    }
}

/// A template that does not parse; one without placeholders is a key if that is allowed.
fn constant(
    findings: Vec<Finding>,
    text: &str,
    allow: &mut Allowances,
    report: &mut Report<'_>,
) -> Option<Vec<Piece>> {
    if findings.iter().all(|finding| finding.code == Code::R006) && allow.take(Code::R006).is_some() {
        return Some(vec![Piece::Literal(text.to_owned())]);
    }
    for finding in findings {
        report.finding(&finding);
    }
    None
}

/// Where findings on the template go.
struct Report<'a> {
    literal: &'a LitStr,
    text: &'a str,
    errors: &'a mut Errors,
    /// Statements that make the compiler warn.
    warnings: Vec<TokenStream>,
    failed: bool,
}

impl Report<'_> {
    fn finding(&mut self, finding: &Finding) {
        let span =
            finding.span.map_or_else(|| self.literal.span(), |span| place(self.literal, self.text, span));
        self.error(span, &finding.render(self.text));
    }

    fn on(&mut self, tokens: impl ToTokens, message: &str) {
        self.failed = true;
        self.errors.on(tokens, message);
    }

    fn error(&mut self, span: Span, message: &str) {
        self.failed = true;
        self.errors.at(span, message);
    }
}

/// The place within the literal where the compiler can tell, and the whole literal where it cannot.
fn place(literal: &LitStr, text: &str, span: ratchet_key::Span) -> Span {
    let token = literal.token();
    let written = token.to_string();
    // Escapes move what follows, so the text must stand there as it is.
    let inside = written.find(text).filter(|_| !text.is_empty());
    inside
        .and_then(|offset| token.subspan(offset + span.start..offset + span.end))
        .unwrap_or_else(|| literal.span())
}

/// The placeholders of a template.
fn placeholders(template: &Template) -> impl Iterator<Item = (&[String], ratchet_key::Span)> {
    template.segments().iter().filter_map(|segment| match segment {
        Segment::Placeholder { path, span } => Some((path.as_slice(), *span)),
        Segment::Literal { .. } => None,
    })
}
