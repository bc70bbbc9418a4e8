//! Takes `#[key]`, `#[pii]` and `#[volatile]` off the parameters: they are no attributes to the compiler.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::input::MARKS;

/// The item without the marks on its parameters; all else is as it was, to the last span.
pub(super) fn without_marks(item: &TokenStream) -> TokenStream {
    let mut in_signature = true;
    let strip = |token| {
        let TokenTree::Group(group) = &token else { return token };
        in_signature &= group.delimiter() != Delimiter::Brace;
        match parameters(group).filter(|_| in_signature) {
            Some(stripped) => TokenTree::Group(stripped),
            None => token,
        }
    };
    item.clone().into_iter().map(strip).collect()
}

/// The parameters without marks, if there are marks.
fn parameters(group: &Group) -> Option<Group> {
    let marked = |token| is_mark(&token);
    if group.delimiter() != Delimiter::Parenthesis || !group.stream().into_iter().any(marked) {
        return None;
    }
    let mut kept = Vec::new();
    let mut tokens = group.stream().into_iter().peekable();
    while let Some(token) = tokens.next() {
        let hash = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#');
        if hash && tokens.next_if(is_mark).is_some() {
            continue;
        }
        kept.push(token);
    }
    let mut stripped = Group::new(Delimiter::Parenthesis, kept.into_iter().collect());
    stripped.set_span(group.span());
    Some(stripped)
}

/// A conditional attribute may hold a mark. It is refused, so nothing else depends on it.
fn is_mark(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else { return false };
    let Some(TokenTree::Ident(first)) = group.stream().into_iter().next() else { return false };
    let is_known = first == "cfg_attr" || MARKS.iter().any(|mark| first == mark);
    group.delimiter() == Delimiter::Bracket && is_known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_parameters_go_and_everything_else_stays() {
        let written = "#[key] pub(in a) fn f(#[pii] #[cfg(x)] #[cfg_attr(x, pii)] a: u8, #[volatile] (b, c): (#[pii] u8, u8)) { g(#[pii] 1) }";
        let kept = "#[key] pub(in a) fn f(#[cfg(x)] a: u8, (b, c): (#[pii] u8, u8)) { g(#[pii] 1) }";
        let item: TokenStream = written.parse().unwrap();
        let expected: TokenStream = kept.parse().unwrap();
        assert_eq!(without_marks(&item).to_string(), expected.to_string());
    }
}
