//! How the function is called: what is injected, and what state a worker must have for it.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Type;

use super::handler::{Handler, Parameter};
use crate::names::{generated, last_name, local};

/// The state that the handler asks for.
pub(super) fn states(handler: &Handler) -> Option<TokenStream> {
    let mut states = handler.parameters.iter().filter_map(|parameter| match parameter {
        Parameter::State(ty) => Some(state(ty)),
        _ => None,
    });
    let first = states.next()?;
    Some(quote!(.states(&[#first.0 #(, #states.0)*])))
}

fn state(ty: &Type) -> TokenStream {
    let span = generated(last_name(ty));
    let function = quote_spanned!(span=> __r::state::<#ty>);
    quote!(#function())
}

/// The body of `call`.
pub(super) fn call(handler: &Handler) -> TokenStream {
    let ident = &handler.ident;
    let (given, value) = (local("call"), local("input"));
    let single = handler.single_input().is_some();
    let mut at = 0..;
    let arguments = handler.parameters.iter().map(|parameter| match parameter {
        Parameter::Context(ty) => {
            let context = quote_spanned!(generated(last_name(ty))=> __r::context::<#ty>);
            quote!(#context(&#given))
        }
        Parameter::State(ty) => {
            let state = state(ty);
            quote!((#state.1)(&#given))
        }
        Parameter::Input(_) if single => quote!(#value),
        Parameter::Input(_) => {
            let index = syn::Index::from(at.next().unwrap_or_default());
            quote!(#value.#index)
        }
    });
    let arguments = quote!(#(#arguments),*);
    quote!(#ident(#arguments))
}
