//! What a variable stands for: the nearest `let` before it. Whatever is less certain is unclear, and nothing is said.

use std::ops::Range;

use proc_macro2::Delimiter;

use super::tokens::{Scope, Token};

pub(super) enum Binding<'a> {
    /// The value that it was given.
    Value(&'a Scope<'a>, Range<usize>),
    /// A pattern takes something apart, or another function begins.
    Unclear,
}

/// What `name` means before the token at `before`; `None` if nothing in the body binds it.
pub(super) fn binding<'a>(mut scope: &'a Scope<'a>, mut before: usize, name: &str) -> Option<Binding<'a>> {
    loop {
        if let Some(found) = scope.binders(before).find_map(|at| bound_at(scope, at, before, name)) {
            return Some(found);
        }
        let (outer, at) = scope.outer()?;
        if is_function(outer, at) || outer.is_arrow(at + 1) {
            return Some(Binding::Unclear);
        }
        (scope, before) = (outer, at);
    }
}

fn bound_at<'a>(scope: &'a Scope<'a>, at: usize, before: usize, name: &str) -> Option<Binding<'a>> {
    let unclear = |pattern| mentions(scope, pattern, name).then_some(Binding::Unclear);
    match scope.token(at)? {
        Token::Word(_, word) if word == "let" => bound_by_let(scope, at, before, name),
        Token::Word(_, word) if word == "for" => {
            let end = (at..scope.len()).find(|end| scope.word(*end) == Some("in"))?;
            unclear(at + 1..end)
        }
        Token::Word(_, word) if word == name && scope.begins_assign(at) => {
            let end = scope.find(at + 2..before, &[';'])?;
            Some(Binding::Value(scope, at + 2..end))
        }
        // The parameters of a closure.
        Token::Mark('|', _) => {
            let end = scope.find(at + 1..scope.len(), &['|', ';']).filter(|end| scope.is_mark(*end, '|'))?;
            unclear(at + 1..end).filter(|_| !scope.is_mark_back(at, 1, '|'))
        }
        // The pattern of a `match`.
        Token::Mark('=', _) if scope.is_arrow(at) => {
            let ends = |at: &usize| scope.is_mark(*at, ',') || scope.has_group(*at, Delimiter::Brace);
            let start = (0..at).rev().find(ends).map_or(0, |end| end + 1);
            unclear(start..at)
        }
        _ => None,
    }
}

fn bound_by_let<'a>(scope: &'a Scope<'a>, at: usize, before: usize, name: &str) -> Option<Binding<'a>> {
    let end = (at + 1..scope.len()).find(|end| scope.is_assign(*end) || scope.is_mark(*end, ';'))?;
    if !mentions(scope, at + 1..end, name) {
        return None;
    }
    let mutable = scope.word(at + 1) == Some("mut");
    let variable = at + 1 + usize::from(mutable);
    let whole = scope.word(variable) == Some(name) && (variable + 1 == end || scope.is_colon(variable + 1));
    // `if let`, `while let`, and the later ones of a chain.
    let conditional =
        matches!(scope.word_back(at, 1), Some("if" | "while")) || scope.is_mark_back(at, 1, '&');
    if !whole || conditional || scope.is_mark(end, ';') || before <= end {
        return Some(Binding::Unclear);
    }
    // Within its own value, a name has the meaning that it had before.
    let semicolon = scope.find(end + 1..before, &[';'])?;
    if mutable && (semicolon..before).any(|at| assigns(scope, at, name)) {
        return Some(Binding::Unclear);
    }
    Some(Binding::Value(scope, end + 1..semicolon))
}

/// Whether a block in between may have changed the variable.
fn assigns(scope: &Scope<'_>, at: usize, name: &str) -> bool {
    let block = scope.inside(at).filter(|block| block.delimiter() == Delimiter::Brace);
    block.is_some_and(|block| {
        (0..block.len())
            .any(|at| block.word(at) == Some(name) && block.begins_assign(at) || assigns(&block, at, name))
    })
}

/// Whether the braces are the body of a function within the body.
fn is_function(scope: &Scope<'_>, at: usize) -> bool {
    let ends = |at: &usize| scope.is_mark(*at, ';') || scope.has_group(*at, Delimiter::Brace);
    let start = (0..at).rev().find(ends).map_or(0, |end| end + 1);
    scope.has_group(at, Delimiter::Brace) && (start..at).any(|at| scope.word(at) == Some("fn"))
}

fn mentions(scope: &Scope<'_>, mut range: Range<usize>, name: &str) -> bool {
    range.any(|at| scope.token(at).is_some_and(|token| holds(token, name)))
}

fn holds(token: &Token, name: &str) -> bool {
    match token {
        Token::Word(_, word) => word == name,
        Token::Group(_, tokens) => tokens.iter().any(|token| holds(token, name)),
        _ => false,
    }
}
