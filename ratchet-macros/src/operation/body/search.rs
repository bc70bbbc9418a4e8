//! Looks for values that differ between attempts in an expression that must not hold any.

use std::cell::Cell;
use std::ops::Range;

use proc_macro2::{Delimiter, TokenStream};
use quote::{ToTokens, quote};

use super::bindings::{Binding, binding};
use super::sources::{self, Source};
use super::tokens::{Scope, Token, is_upper};

/// Variables that are looked up for one expression; after that nothing is said.
const MOST_LOOKUPS: usize = 100;

/// Something that differs between attempts.
pub(super) struct Hit {
    pub(super) source: Source,
    /// Where it stands.
    pub(super) tokens: TokenStream,
    /// The variable that holds it, if it was not made in place.
    pub(super) variable: Option<String>,
}

/// How far to look into an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Everything in it.
    Whole,
    /// What its value certainly consists of: not the arguments of a call, whose answer may be any.
    Value,
}

pub(super) struct Search<'s> {
    /// The parameter that is the context of the attempt.
    context: Option<&'s str>,
    lookups: Cell<usize>,
}

impl<'s> Search<'s> {
    pub(super) fn new(context: Option<&'s str>) -> Self {
        Self { context, lookups: Cell::new(MOST_LOOKUPS) }
    }

    /// Everything in the range that differs between attempts.
    pub(super) fn hits(&self, scope: &Scope<'_>, range: Range<usize>) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.expression(scope, range, Reach::Whole, &mut hits);
        hits
    }

    fn expression(&self, scope: &Scope<'_>, range: Range<usize>, reach: Reach, hits: &mut Vec<Hit>) {
        for piece in scope.pieces(range) {
            // What is awaited is an answer, whatever was sent to get it.
            let awaited =
                piece.clone().any(|at| scope.word(at) == Some("await") && scope.is_mark_back(at, 1, '.'));
            let mut at = piece.start;
            // One reason is enough to say of a variable that it differs.
            while at < piece.end && !awaited && (reach == Reach::Whole || hits.is_empty()) {
                at = self.token(scope, at, reach, hits) + 1;
            }
        }
    }

    /// Judges what begins at `at`, and gives the place of its last token.
    fn token(&self, scope: &Scope<'_>, at: usize, reach: Reach, hits: &mut Vec<Hit>) -> usize {
        match scope.token(at) {
            Some(Token::Group(..)) if reach == Reach::Whole || is_part_of_value(scope, at) => {
                if let Some(inner) = scope.inside(at) {
                    self.expression(&inner, 0..inner.len(), reach, hits);
                }
            }
            Some(Token::Word(ident, name)) => {
                if let Some((source, end)) = self.made_here(scope, at, name) {
                    hits.push(Hit { source, tokens: from_to(scope, at, end), variable: None });
                    return end;
                }
                if is_variable(scope, at) && !takes_field(scope, at) {
                    hits.extend(self.held(scope, at, name, ident));
                }
            }
            Some(Token::Text(text)) if scope.macro_name().is_some() => {
                for name in captured(&text.to_string()) {
                    let named = |at: usize| scope.word(at) == Some(name) && scope.is_assign(at + 1);
                    if !(0..scope.len()).any(named) {
                        hits.extend(self.held(scope, at, name, text));
                    }
                }
            }
            _ => {}
        }
        at
    }

    fn made_here(&self, scope: &Scope<'_>, at: usize, name: &str) -> Option<(Source, usize)> {
        let generator = || {
            let unbound = |_: &_| is_variable(scope, at) && self.binding(scope, at, name).is_none();
            sources::of_generator(scope, at).filter(unbound)
        };
        let context = || sources::of_context(scope, at).filter(|_| self.is_context(scope, at, name));
        sources::path(scope, at).or_else(generator).or_else(context)
    }

    /// What the variable holds, if that differs between attempts.
    fn held(&self, scope: &Scope<'_>, at: usize, name: &str, place: &dyn ToTokens) -> Option<Hit> {
        let Binding::Value(scope, range) = self.binding(scope, at, name)? else { return None };
        if !is_plain(scope, &range) {
            return None;
        }
        let mut hits = Vec::new();
        self.expression(scope, range, Reach::Value, &mut hits);
        let source = hits.into_iter().next()?.source;
        Some(Hit { source, tokens: place.to_token_stream(), variable: Some(name.to_owned()) })
    }

    /// The context, or a copy of it.
    fn is_context(&self, scope: &Scope<'_>, at: usize, name: &str) -> bool {
        if !is_variable(scope, at) {
            return false;
        }
        match self.binding(scope, at, name) {
            None => self.context == Some(name),
            Some(Binding::Unclear) => false,
            Some(Binding::Value(scope, range)) => {
                let start = range.start + usize::from(scope.is_mark(range.start, '&'));
                let copied = start + 1 == range.end || scope.word(start + 2) == Some("clone");
                let original = scope.word(start).filter(|_| copied);
                original.is_some_and(|original| self.is_context(scope, start, original))
            }
        }
    }

    fn binding<'a>(&self, scope: &'a Scope<'a>, at: usize, name: &str) -> Option<Binding<'a>> {
        let Some(left) = self.lookups.get().checked_sub(1) else { return Some(Binding::Unclear) };
        self.lookups.set(left);
        binding(scope, at, name)
    }
}

/// Whether a name stands for a variable here: it is no field, method, function, module, macro or type.
fn is_variable(scope: &Scope<'_>, at: usize) -> bool {
    let Some(name) = scope.word(at) else { return false };
    let follows = scope.is_path(at + 1)
        || scope.is_colon(at + 1)
        || scope.is_mark(at + 1, '!') && !scope.is_mark(at + 2, '=')
        || scope.is_assign(at + 1)
        || scope.is_arrow(at + 1)
        || scope.has_group(at + 1, Delimiter::Parenthesis);
    let preceded = ['.', '\''].iter().any(|mark| scope.is_mark_back(at, 1, *mark)) || scope.ends_path(at);
    !follows && !preceded && !is_upper(name)
}

/// Whether only one field of the variable at `at` is used, and what differs may stand in another.
fn takes_field(scope: &Scope<'_>, at: usize) -> bool {
    let named = matches!(scope.token(at + 2), Some(Token::Word(..) | Token::Text(_)));
    named
        && scope.is_mark(at + 1, '.')
        && !scope.is_path(at + 3)
        && !scope.has_group(at + 3, Delimiter::Parenthesis)
}

/// Whether the value is written in one line, so to say: no choice, no loop, no closure.
fn is_plain(scope: &Scope<'_>, range: &Range<usize>) -> bool {
    match scope.token(range.start) {
        Some(Token::Word(_, word)) => {
            !matches!(word.as_str(), "async" | "for" | "if" | "loop" | "match" | "move" | "unsafe" | "while")
        }
        Some(Token::Mark('|', _)) => false,
        _ => true,
    }
}

/// Whether what is in the brackets at `at` is in the value: they only group, or build a text, a struct or a list.
fn is_part_of_value(scope: &Scope<'_>, at: usize) -> bool {
    let Some(Token::Group(delimiter, _)) = scope.token(at) else { return false };
    if scope.is_mark_back(at, 1, '!') {
        return matches!(scope.word_back(at, 2), Some("concat" | "format" | "format_args" | "vec"));
    }
    match (*delimiter, scope.back(at, 1)) {
        (Delimiter::None, _) => true,
        (Delimiter::Brace, Some(Token::Word(_, name))) => is_upper(name),
        (Delimiter::Parenthesis, Some(Token::Word(_, name))) => {
            let is_made = matches!(name.as_str(), "from" | "from_str" | "new" | "try_from");
            is_upper(name) || is_made && scope.is_mark_back(at, 2, ':')
        }
        // After anything but these they are a block, an index, or the arguments of a call.
        (Delimiter::Brace, _) | (_, Some(Token::Mark('>' | '?', _))) => false,
        (_, before) => matches!(before, None | Some(Token::Mark(..))),
    }
}

/// The first and the last name, which is all that a place consists of.
fn from_to(scope: &Scope<'_>, start: usize, end: usize) -> TokenStream {
    let name = |at| match scope.token(at) {
        Some(Token::Word(ident, _)) => Some(ident),
        _ => None,
    };
    let (first, last) = (name(start), name(end));
    quote!(#first #last)
}

/// The variables that a format string names.
fn captured(literal: &str) -> Vec<&str> {
    // Two braces stand for one, and `{{{name}}}` names a variable all the same.
    let opened = literal.split("{{").flat_map(|part| part.split('{').skip(1));
    opened.filter_map(|rest| rest.split(['}', ':']).next()).map(str::trim).collect()
}
