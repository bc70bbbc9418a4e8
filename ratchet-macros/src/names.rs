//! Identifiers and paths of generated code.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::spanned::Spanned;
use syn::{LitStr, Path, Type};

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

/// The type as it is written, without the spaces that tokens have.
pub(crate) fn written(ty: &Type) -> String {
    match ty {
        Type::Group(group) => written(&group.elem),
        Type::Paren(paren) => written(&paren.elem),
        other => other.to_token_stream().to_string().replace(' ', ""),
    }
}

/// Where the compiler names a type that does not fit: at the last segment of its path.
pub(crate) fn last_name(ty: &Type) -> Span {
    match ty {
        Type::Path(path) => path.path.segments.last().map_or_else(|| ty.span(), |last| last.ident.span()),
        other => other.span(),
    }
}

/// The path after `crate =`; some write it as a text, as serde has it.
pub(crate) fn crate_path(input: ParseStream<'_>) -> syn::Result<Path> {
    if input.peek(LitStr) {
        return input.parse::<LitStr>()?.parse_with(Path::parse_mod_style);
    }
    input.call(Path::parse_mod_style)
}

/// `PushMessage` as `push_message`, `HTTPCall` as `http_call`.
pub(crate) fn snake_case(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut text = String::new();
    for (at, char) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| chars.get(before));
        let after_small = before.is_some_and(|before| before.is_lowercase() || before.is_ascii_digit());
        let ends_capitals = before.is_some_and(|before| before.is_uppercase())
            && chars.get(at + 1).is_some_and(|next| next.is_lowercase());
        if char.is_uppercase() && (after_small || ends_capitals) {
            text.push('_');
        }
        text.extend(char.to_lowercase());
    }
    text
}

/// A local name that no name of the user's can meet.
pub(crate) fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The path of the `ratchet` crate's part for generated code.
pub(crate) fn private(krate: Option<&Path>) -> TokenStream {
    krate.map_or_else(|| quote!(::ratchet::__private), |path| quote!(#path::__private))
}

#[cfg(test)]
mod tests {
    use super::snake_case;

    #[test]
    fn variants_are_written_in_snake_case() {
        for (name, text) in [
            ("Mail", "mail"),
            ("PushMessage", "push_message"),
            ("HTTPCall", "http_call"),
            ("V2", "v2"),
            ("V2Beta", "v2_beta"),
            ("USD", "usd"),
        ] {
            assert_eq!(snake_case(name), text);
        }
    }
}
