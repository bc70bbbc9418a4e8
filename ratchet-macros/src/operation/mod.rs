//! `#[operation]`: reads arguments and function, judges key and body, emits.

mod args;
mod body;
mod check;
mod emit;
mod fallback;
mod guard;
mod handler;
mod settings;
mod strip;
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
    let mut args = Args::parse(args, &mut errors);
    let handler = Handler::parse(item.clone(), &mut errors);
    let marked = handler.as_ref().is_some_and(Handler::is_marked);
    // Before the key, which says what was allowed without a need. What is wrong in the body is nothing to fall back for.
    let mut in_body = Errors::default();
    let warnings = handler.as_ref().map(|handler| body::inspect(handler, &mut args.allow, &mut in_body));
    let beside = handler.map(|handler| beside(&args, &handler, &mut errors));
    if beside.is_none() {
        key::read_alone(&args, &mut errors);
    }
    errors.extend(in_body);
    let report = errors.report();
    let item = if marked { strip::without_marks(item.clone()) } else { item.clone() };
    quote!(#item #beside #warnings #report)
}

fn beside(args: &Args, handler: &Handler, errors: &mut Errors) -> TokenStream {
    let key = key::read(args, handler, errors);
    match (args.complete(), key) {
        (Some(complete), Some(key)) if errors.is_empty() => emit::operation(&complete, handler, &key),
        _ => fallback::operation(args, handler),
    }
}
