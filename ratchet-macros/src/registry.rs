//! `registry![…]`: the operations of a worker, checked while compiling.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{Parse, ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Expr, Path, Token};

use crate::errors::{Errors, with_help};
use crate::names::{crate_path, generated, private};

pub(crate) fn expand(tokens: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    match parse.parse2(tokens) {
        Err(error) => {
            let report = error.to_compile_error();
            quote!({ #report ::ratchet::Registry::default() })
        }
        Ok((krate, paths)) => emit(krate.as_ref(), &unique(paths, &mut errors), &errors),
    }
}

fn parse(input: ParseStream<'_>) -> syn::Result<(Option<Path>, Vec<Path>)> {
    let mut krate = None;
    if input.peek(Token![crate]) && input.peek2(Token![=]) {
        input.parse::<Token![crate]>()?;
        input.parse::<Token![=]>()?;
        krate = Some(crate_path(input)?);
        input.parse::<Token![;]>()?;
    }
    let entries = input.parse_terminated(Expr::parse, Token![,]).map_err(|error| {
        let message = format!("a registry is a list of operations with commas between them: {error}");
        syn::Error::new(
            error.span(),
            with_help(message, "write it as `registry![collect_invoice, mail::send_receipt]`"),
        )
    })?;
    let paths: syn::Result<Vec<Path>> = entries.into_iter().map(path).collect();
    Ok((krate, paths?))
}

/// An entry as the path that it has to be.
fn path(entry: Expr) -> syn::Result<Path> {
    match entry {
        Expr::Path(path) if path.attrs.is_empty() && path.qself.is_none() => Ok(path.path),
        Expr::Group(group) => path(*group.expr),
        Expr::Call(call) => Err(expected(&call, &format!("write `{}`", call.func.to_token_stream()))),
        other => Err(expected(&other, "write its name, such as `collect_invoice`")),
    }
}

fn expected(found: &impl ToTokens, help: &str) -> syn::Error {
    let message = "expected the path of a function with #[ratchet::operation]";
    syn::Error::new_spanned(found, with_help(message, help))
}

/// The paths without repetitions, which are reported.
fn unique(paths: Vec<Path>, errors: &mut Errors) -> Vec<Path> {
    let mut seen = BTreeSet::new();
    let mut kept = Vec::with_capacity(paths.len());
    for path in paths {
        let text = path.to_token_stream().to_string().replace(' ', "");
        if seen.insert(text.clone()) {
            kept.push(path);
        } else {
            let message = format!("R014: `{text}` is in this registry already");
            errors.on(&path, with_help(message, "remove one of the two"));
        }
    }
    kept
}

fn emit(krate: Option<&Path>, paths: &[Path], errors: &Errors) -> TokenStream {
    let private = private(krate);
    let report = errors.report();
    let handlers = paths.iter().map(|path| quote!(<#path as __r::Operation>::HANDLER));
    // One check for each, so that the error stands where the second of two that clash is named.
    let checks = paths.iter().enumerate().skip(1).map(
        |(at, path)| quote_spanned!(generated(path.span())=> const _: () = __r::require_apart(ALL, #at);),
    );
    quote!({
        #report
        use #private as __r;
        const ALL: &[__r::Handler] = &[#(#handlers),*];
        #(#checks)*
        __r::registry(ALL)
    })
}
