//! Identifiers and paths of generated code.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::ext::IdentExt;

/// The text of an identifier without `r#`.
pub(crate) fn unraw(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// The identifier that a name in a template stands for; `None` for the four that cannot be raw.
pub(crate) fn identifier(name: &str, span: Span) -> Option<Ident> {
    if matches!(name, "self" | "Self" | "super" | "crate" | "_" | "") {
        return None;
    }
    // What is a keyword depends on the edition; raw identifiers mean the same in all of them.
    let plain = name != "gen" && syn::parse_str::<Ident>(name).is_ok();
    Some(if plain { Ident::new(name, span) } else { Ident::new_raw(name, span) })
}

/// The same place, with names resolved where the macro is used: for the compiler it is generated code.
pub(crate) fn generated(span: Span) -> Span {
    span.resolved_at(Span::call_site())
}

/// A local name that no name of the user's can meet.
pub(crate) fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The path of the `ratchet` crate's part for generated code.
pub(crate) fn private(krate: Option<&syn::Path>) -> TokenStream {
    krate.map_or_else(|| quote!(::ratchet::__private), |path| quote!(#path::__private))
}
