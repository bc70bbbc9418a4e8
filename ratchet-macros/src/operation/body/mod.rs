//! R012: a value that differs between attempts is sent as an idempotency key, or enqueued.
//!
//! The body is read as tokens, not as code: it may be half typed or newer than this crate, so nothing here fails, and
//! what is not understood is passed over. What is made in place is an error. What comes through a variable was
//! concluded, so it is a warning.

mod bindings;
mod search;
mod sinks;
mod sources;
mod tokens;

#[cfg(test)]
mod tests;

use std::ops::Range;

use proc_macro2::TokenStream;
use ratchet_key::Code;
use syn::spanned::Spanned;

use self::search::{Hit, Search};
use self::sinks::Sink;
pub(super) use self::sinks::are_hinted_at;
use self::tokens::Scope;
pub(super) use self::tokens::{Token, read, skip};
use super::Handler;
use crate::errors::{Errors, warning, with_help};
use crate::key::Allowances;
use crate::names::unraw;

/// Reports what is made in place; gives the warnings about what comes through variables.
pub(super) fn inspect(handler: &Handler, allow: &mut Allowances, errors: &mut Errors) -> TokenStream {
    let context = handler.context.as_ref().map(unraw);
    let mut inspection = Inspection { context: context.as_deref(), findings: Vec::new() };
    inspection.walk(&Scope::whole(&handler.body));
    if inspection.findings.is_empty() || allow.take(Code::R012).is_some() {
        return TokenStream::new();
    }
    let mut warnings = TokenStream::new();
    for (sink, hit) in &inspection.findings {
        let text = text(*sink, hit, context.as_deref());
        if hit.variable.is_some() {
            let text = format!("{}: {text}; if it is right here: `allow({0} = \"why\")`", Code::R012);
            warnings.extend(warning(hit.tokens.span(), "FRESH_VALUE", &text));
        } else {
            errors.on(&hit.tokens, format!("{}: {text}", Code::R012));
        }
    }
    warnings
}

struct Inspection<'a> {
    context: Option<&'a str>,
    findings: Vec<(Sink, Hit)>,
}

impl Inspection<'_> {
    fn walk(&mut self, scope: &Scope<'_>) {
        for at in 0..scope.len() {
            match scope.token(at) {
                Some(Token::Word(..)) => {
                    if let Some(value) = sinks::field(scope, at) {
                        self.judge(scope, value, Sink::Key);
                    }
                }
                Some(Token::Group(..)) => {
                    let Some(inner) = scope.inside(at) else { continue };
                    let found = sinks::call(scope, at, &inner)
                        .is_some_and(|(sink, args)| self.judge(&inner, args, sink));
                    // One value is one finding, also within two calls.
                    if !found {
                        self.walk(&inner);
                    }
                }
                _ => {}
            }
        }
    }

    fn judge(&mut self, scope: &Scope<'_>, range: Range<usize>, sink: Sink) -> bool {
        let hits = Search::new(self.context).hits(scope, range);
        let found = !hits.is_empty();
        self.findings.extend(hits.into_iter().map(|hit| (sink, hit)));
        found
    }
}

/// What is said of a finding, without its code.
fn text(sink: Sink, hit: &Hit, context: Option<&str>) -> String {
    let made = match &hit.variable {
        Some(variable) => format!("`{variable}` comes from `{}`, which {}", hit.source.text, hit.source.why),
        None => format!("`{}` {}", hit.source.text, hit.source.why),
    };
    let key = format!("`{}.key()`", context.unwrap_or("ctx"));
    match sink {
        Sink::Key => {
            let message =
                format!("{made}: as an idempotency key it lets the destination act once for each attempt");
            let take = if context.is_some() { "" } else { "take a `ctx: Context`, and " };
            with_help(message, format!("{take}send {key}, which is the same on every attempt"))
        }
        Sink::Input => {
            let message = format!("{made}: a second attempt would enqueue something else");
            let help = format!(
                "take it from the input, derive it from {key}, or store it before the first attempt and read it back"
            );
            with_help(message, help)
        }
    }
}
