//! Where a body gives something an identity.

use std::ops::Range;

use proc_macro2::{Delimiter, Literal};

use super::tokens::{Scope, Token, is_upper};

/// What the value becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sink {
    /// The idempotency key of a request.
    Key,
    /// The input of another operation.
    Input,
}

/// Words without which there is nothing to look for, in lower case.
const HINTS: [&str; 5] = ["idempotency", "client_token", "paypal", "enqueue", "request"];

/// Whether it is worth reading a body: most have no such word, and the compiler prints tokens faster than they are read.
pub(crate) fn are_hinted_at(code: &str) -> bool {
    let code = code.to_ascii_lowercase();
    HINTS.iter().any(|hint| code.contains(hint))
}

/// The header fields by which destinations tell a repeated request; in lower case.
const HEADERS: [&str; 4] = ["idempotency-key", "x-idempotency-key", "idempotency-token", "paypal-request-id"];

/// The methods that set the same.
const METHODS: [&str; 5] =
    ["idempotency_key", "with_idempotency_key", "set_idempotency_key", "client_token", "set_client_token"];

const FIELD: &str = "idempotency_key";

/// The arguments that become an identity, if the group at `at` is such a call, or a pair of a header's name and value.
pub(super) fn call(scope: &Scope<'_>, at: usize, args: &Scope<'_>) -> Option<(Sink, Range<usize>)> {
    if args.delimiter() != Delimiter::Parenthesis || scope.is_mark_back(at, 1, '!') {
        return None;
    }
    let name = scope.word_back(at, 1).unwrap_or_default();
    let is_method = scope.is_mark_back(at, 2, '.');
    if is_method && METHODS.contains(&name) {
        return Some((Sink::Key, 0..args.len()));
    }
    if is_method && name == "enqueue" || matches!(name, "enqueue" | "request") && of_operation(scope, at) {
        return Some((Sink::Input, 0..args.len()));
    }
    let comma = args.find(0..args.len(), &[','])?;
    names_header(args, comma).then(|| (Sink::Key, comma + 1..args.len()))
}

/// Whether what is called is `operation::name`: operations are functions, so their names are in lower case.
fn of_operation(scope: &Scope<'_>, at: usize) -> bool {
    let owner =
        at.checked_sub(1).filter(|name| scope.ends_path(*name)).and_then(|name| scope.word_back(name, 3));
    owner.is_some_and(|owner| !is_upper(owner) && !matches!(owner, "self" | "super" | "crate"))
}

/// Whether the first argument is the name of such a header: a text, a `HeaderName`, or a constant named like it.
fn names_header(args: &Scope<'_>, comma: usize) -> bool {
    let start = usize::from(args.is_mark(0, '&'));
    match args.token(start) {
        Some(Token::Text(text)) => is_header(text),
        Some(Token::Word(..)) => {
            args.word_back(comma, 1).is_some_and(|last| last.ends_with("IDEMPOTENCY_KEY"))
                || (start..comma).any(|at| args.word(at) == Some("HeaderName"))
                    && (start..comma)
                        .filter_map(|at| args.inside(at))
                        .any(|name| matches!(name.token(0), Some(Token::Text(text)) if is_header(text)))
        }
        _ => false,
    }
}

fn is_header(text: &Literal) -> bool {
    let text = text.to_string();
    let name = text.trim_start_matches(['b', 'r', '#']).trim_matches(['"', '#']);
    HEADERS.iter().any(|header| name.eq_ignore_ascii_case(header))
}

/// The value of a field that is an idempotency key, if the name at `at` is that of the field.
pub(super) fn field(scope: &Scope<'_>, at: usize) -> Option<Range<usize>> {
    if scope.word(at) != Some(FIELD) {
        return None;
    }
    let end = |marks| scope.find(at + 2..scope.len(), marks).unwrap_or(scope.len());
    if scope.is_mark_back(at, 1, '.') && scope.is_assign(at + 1) {
        return Some(at + 2..end(&[';']));
    }
    let in_struct = scope.outer().is_some_and(|(outer, at)| outer.word_back(at, 1).is_some_and(is_upper));
    if scope.delimiter() != Delimiter::Brace || !in_struct {
        return None;
    }
    let begins = at == 0 || scope.is_mark_back(at, 1, ',');
    match scope.token(at + 1) {
        Some(Token::Mark(':', _)) if begins && scope.is_colon(at + 1) => Some(at + 2..end(&[','])),
        // The variable of the same name.
        None | Some(Token::Mark(',', _)) if begins => Some(at..at + 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_looked_for_is_hinted_at() {
        for word in HEADERS.iter().chain(&METHODS).chain(&[
            FIELD,
            "IDEMPOTENCY_KEY",
            "PayPal-Request-Id",
            "a::enqueue",
            "a::request",
        ]) {
            assert!(are_hinted_at(word), "{word}");
        }
        assert!(!are_hinted_at("async fn f(input: Input) -> Result<(), Failure> { charge(input.id).await }"));
    }
}
