//! Collects mistakes, so that all of them are reported at once.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::Error;

/// What is wrong, in the order in which it was found.
#[derive(Default)]
pub(crate) struct Errors(Vec<Error>);

impl Errors {
    pub(crate) fn push(&mut self, error: Error) {
        self.0.push(error);
    }

    pub(crate) fn at(&mut self, span: Span, message: impl Display) {
        self.push(Error::new(span, message));
    }

    /// At all of the tokens, not only the first.
    pub(crate) fn on(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.push(Error::new_spanned(tokens, message));
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One `compile_error!` for each.
    pub(crate) fn report(&self) -> TokenStream {
        self.0.iter().map(Error::to_compile_error).collect()
    }
}

/// Makes the compiler warn.
///
/// On stable Rust a macro warns by using something deprecated, whose name is part of the message; in upper case no lint on
/// names has to be silenced, which a user may have forbidden.
pub(crate) fn warning(span: Span, constant: &str, text: &str) -> TokenStream {
    let constant = Ident::new(constant, Span::call_site());
    let mut usage = constant.clone();
    // At the user's own tokens: of those of a macro the compiler says nothing.
    usage.set_span(span);
    quote! {
        const _: () = {
            #[deprecated(note = #text)]
            const #constant: () = ();
            #usage
        };
    }
}

/// A mistake with its repair on a line of its own.
pub(crate) fn with_help(message: impl Display, help: impl Display) -> String {
    format!("{message}\nhelp: {help}")
}

/// Runs an attribute; if it panics, which is a fault of this crate, the item is still there.
pub(crate) fn guarded(item: &TokenStream, expand: impl FnOnce(&TokenStream) -> TokenStream) -> TokenStream {
    catch_unwind(AssertUnwindSafe(|| expand(item))).unwrap_or_else(|_| {
        let fault = fault();
        quote!(#item #fault)
    })
}

/// The same for macros that add something or nothing.
pub(crate) fn guarded_derive(expand: impl FnOnce() -> TokenStream) -> TokenStream {
    catch_unwind(AssertUnwindSafe(expand)).unwrap_or_else(|_| fault())
}

fn fault() -> TokenStream {
    let text = "a macro of ratchet failed on this item; this is a fault of ratchet, please report it";
    Error::new(Span::call_site(), text).to_compile_error()
}

/// The candidate that was probably meant.
pub(crate) fn closest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = typed.chars().count().div_ceil(3);
    candidates
        .into_iter()
        .map(|candidate| (distance(typed, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many characters must be inserted, removed, replaced or swapped with the next.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    let mut previous = None;
    for (row, char) in one.chars().enumerate() {
        let mut line = vec![row + 1];
        for (column, target) in other.iter().enumerate() {
            let at = |line: &[usize], place: usize| line.get(place).copied().unwrap_or(usize::MAX / 2);
            let replaced = at(&last, column) + usize::from(char != *target);
            let mut best = replaced.min(at(&last, column + 1) + 1).min(at(&line, column) + 1);
            let swapped = previous == Some(*target) && column > 0 && other.get(column - 1) == Some(&char);
            if swapped {
                best = best.min(at(&before, column - 1) + 1);
            }
            line.push(best);
        }
        before = std::mem::replace(&mut last, line);
        previous = Some(char);
    }
    last.last().copied().unwrap_or_default()
}

/// `` `a`, `b` and `c` ``.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.pop() {
        None => String::new(),
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} and {last}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_and_far_ones_are_not() {
        let names = ["name", "version", "key"];
        assert_eq!(closest("versoin", names), Some("version"));
        assert_eq!(closest("nme", names), Some("name"));
        assert_eq!(closest("queue", names), None);
        assert_eq!(closest("", names), None);
    }

    #[test]
    fn a_panic_leaves_the_item() {
        let item: TokenStream = "fn f() {}".parse().unwrap();
        let out = guarded(&item, |_| panic!("on purpose"));
        assert!(out.to_string().starts_with("fn f () { }"), "{out}");
    }

    #[test]
    fn names_are_listed_as_people_write_them() {
        assert_eq!(list(["a"]), "`a`");
        assert_eq!(list(["a", "b", "c"]), "`a`, `b` and `c`");
    }
}
