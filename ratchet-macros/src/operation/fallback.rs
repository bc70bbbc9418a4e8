//! What stands beside the function while its attribute is wrong: the same items with the same types, so that the
//! mistake is the only error, and editors keep working.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::LitStr;

use super::args::Args;
use super::emit::{Body, Parts};
use super::handler::Handler;

/// Type, methods and implementations without anything that could fail a second time.
pub(super) fn operation(args: &Args, handler: &Handler) -> TokenStream {
    let text = |text: &str| LitStr::new(text, Span::call_site());
    let ident = &handler.ident;
    Parts::new(handler, args.krate.as_ref()).emit(&Body {
        name: text("invalid"),
        version: text("0"),
        template: text(""),
        constants: TokenStream::new(),
        spec: quote!(__r::Spec::plain::<#ident>()),
        key: quote!(__r::missing()),
        call: quote!(async { __r::missing() }),
        beside: TokenStream::new(),
    })
}
