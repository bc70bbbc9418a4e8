//! `#[operation]`: reads arguments and function, judges key and body, emits.

mod args;
mod body;
mod call;
mod check;
mod emit;
mod fallback;
mod guard;
mod handler;
mod settings;
mod strip;
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
    let mut args = Args::parse(args, &mut errors);
    let mut attributed = true;
    let (beside, in_body) = match Handler::parse(item.clone(), &mut errors) {
        Ok(handler) => {
            attributed = handler.attributed;
            // Before the key, which says what was allowed without a need. What is wrong in the body is nothing to fall
            // back for.
            let mut in_body = Errors::default();
            let warnings = body::inspect(&handler, &mut args.allow, &mut in_body);
            let beside = beside(&args, &handler, &mut errors);
            (Some(quote!(#beside #warnings)), in_body)
        }
        Err(stub) => {
            key::read_alone(&args, &mut errors);
            (stub.map(|stub| stub::operation(&args, &stub)), Errors::default())
        }
    };
    errors.extend(in_body);
    let report = errors.report();
    let item = if attributed { strip::without_marks(item) } else { item.clone() };
    quote!(#item #beside #report)
}

fn beside(args: &Args, handler: &Handler, errors: &mut Errors) -> TokenStream {
    let key = key::read(args, handler, errors);
    match (args.complete(), key) {
        (Some(complete), Some(key)) if errors.is_empty() => emit::operation(&complete, handler, &key),
        _ => fallback::operation(args, handler),
    }
}
