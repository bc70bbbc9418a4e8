//! R014 inside one crate: a second operation of one name and version does not compile.
//!
//! A macro with `#[macro_export]` stands at the root of the crate, wherever it is declared, so that two of one name
//! meet, and the compiler shows both places. Across crates `registry!` compares.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::LitStr;

use crate::names::generated;

/// A macro that can be declared once in a crate.
///
/// Inside a function the compiler would warn of it (`non_local_definitions`), and a macro does not learn where it
/// stands. So it is declared where the attribute begins its line, as items of a file do, and not in the examples of a
/// documentation, which rustdoc puts into functions; `registry!` finds the others.
pub(super) fn duplicates(name: &LitStr, version: &LitStr) -> Option<TokenStream> {
    let at_the_margin = proc_macro::is_available() && Span::call_site().unwrap().column() == 1;
    (at_the_margin && !is_example()).then(|| once(name, version))
}

/// By what rustdoc tells the compiler, and the compiler's own lint goes by.
fn is_example() -> bool {
    std::env::var_os("UNSTABLE_RUSTDOC_TEST_PATH").is_some()
}

fn once(name: &LitStr, version: &LitStr) -> TokenStream {
    let span = generated(name.span());
    let guard = format!("R014_{}_version_{}_is_declared_twice", word(name), word(version));
    let guard = Ident::new(&guard, span);
    quote_spanned! {span=>
        #[doc(hidden)]
        #[macro_export]
        macro_rules! #guard {
            () => {};
        }
    }
}

/// The text as a part of an identifier. Names have no capitals, so two of them stay two.
fn word(text: &LitStr) -> String {
    text.value().replace('.', "Dot").replace('-', "Dash").replace('+', "Plus")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guard_names_operation_and_version() {
        let text = |text: &str| LitStr::new(text, Span::call_site());
        let guard = once(&text("mail.send"), &text("1-a")).to_string();
        assert!(guard.contains("macro_rules ! R014_mailDotsend_version_1Dasha_is_declared_twice"), "{guard}");
    }
}
