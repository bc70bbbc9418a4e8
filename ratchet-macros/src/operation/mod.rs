//! `#[operation]`: reads arguments and function, judges the key, emits.

mod args;
mod check;
mod emit;
mod fallback;
mod handler;
mod settings;
mod stub;
mod value;

#[cfg(test)]
mod tests;

use proc_macro2::TokenStream;
use quote::quote;

use crate::errors::Errors;
use crate::key;
pub(crate) use args::Args;
pub(crate) use handler::{Handler, Input};
pub(crate) use settings::reason;

/// The function, unchanged, and what stands beside it. Whatever is wrong, the function is there.
pub(crate) fn expand(args: TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let args = Args::parse(args, &mut errors);
    let beside = match Handler::parse(item.clone(), &mut errors) {
        Ok(handler) => Some(beside(&args, &handler, &mut errors)),
        Err(stub) => {
            key::read_alone(&args, &mut errors);
            stub.map(|stub| stub::operation(&args, &stub))
        }
    };
    let report = errors.report();
    quote!(#item #beside #report)
}

fn beside(args: &Args, handler: &Handler, errors: &mut Errors) -> TokenStream {
    let key = key::read(args, handler, errors);
    match (args.complete(), key) {
        (Some(complete), Some(key)) if errors.is_empty() => emit::operation(&complete, handler, &key),
        _ => fallback::operation(args, handler),
    }
}
