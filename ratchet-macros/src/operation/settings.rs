//! The optional arguments, as expressions of generated code.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{Expr, LitStr};

use super::value::{self, WordOr};
use crate::errors::{Errors, with_help};

/// A reason has at least this many characters.
pub(crate) const SHORTEST_REASON: usize = 8;

/// What the attribute says beside the required arguments, with `__r` as the name of ratchet's private module.
#[derive(Default)]
pub(super) struct Settings {
    contract: Option<TokenStream>,
    /// `field: value` of the policy.
    policy: Vec<TokenStream>,
    priority: Option<TokenStream>,
    new_identity: Option<LitStr>,
}

impl Settings {
    pub(super) fn set(&mut self, name: &str, expr: &Expr, errors: &mut Errors) {
        if let Err(error) = self.try_set(name, expr) {
            errors.push(error);
        }
    }

    fn try_set(&mut self, name: &str, expr: &Expr) -> syn::Result<()> {
        match name {
            "destination" => {
                self.contract = Some(match value::word_or(name, expr, &["none"], CONTRACT)? {
                    WordOr::Word(_) => quote!(__r::Contract::NONE),
                    WordOr::Expr(expr) => expr.to_token_stream(),
                });
            }
            "retry" => {
                let words = ["standard", "aggressive", "relaxed"];
                let retry = match value::word_or(name, expr, &words, RETRY)? {
                    WordOr::Word(word) => match word.as_str() {
                        "aggressive" => quote!(__r::RetryPolicy::AGGRESSIVE),
                        "relaxed" => quote!(__r::RetryPolicy::RELAXED),
                        _ => quote!(__r::RetryPolicy::STANDARD),
                    },
                    WordOr::Expr(expr) => expr.to_token_stream(),
                };
                self.policy.push(quote!(retry: #retry));
            }
            "on_unknown" => {
                let word = value::one_of(name, expr, &["park", "may_duplicate", "may_lose"])?;
                let variant = match word.as_str() {
                    "may_duplicate" => quote!(MayDuplicate),
                    "may_lose" => quote!(MayLose),
                    _ => quote!(Park),
                };
                self.policy.push(quote!(on_unknown: __r::OnUnknown::#variant));
            }
            "timeout" => {
                let timeout = value::duration(name, expr)?;
                self.policy.push(quote!(timeout: #timeout));
            }
            "retention" => {
                let retention = value::duration(name, expr)?;
                self.policy.push(quote!(retention: #retention));
            }
            "priority" => self.priority = Some(expr.to_token_stream()),
            _ => self.new_identity = Some(reason(name, expr)?),
        }
        Ok(())
    }

    /// The argument of `Spec::of`.
    pub(super) fn contract(&self) -> TokenStream {
        self.contract.clone().unwrap_or_else(|| quote!(__r::Contract::NONE))
    }

    /// What is said beside name, version and template where versions are compared.
    pub(super) fn declares(&self) -> TokenStream {
        self.new_identity.as_ref().map(|_| quote!(.with_new_identity())).unwrap_or_default()
    }

    /// The calls that follow on it.
    pub(super) fn calls(&self) -> TokenStream {
        let policy = (!self.policy.is_empty()).then(|| {
            let fields = &self.policy;
            quote!(.policy(__r::Policy { #(#fields,)* ..__r::Policy::DEFAULT }))
        });
        let priority = self.priority.iter();
        let new_identity = self.new_identity.iter();
        quote!(#policy #(.priority(#priority))* #(.new_identity(#new_identity))*)
    }
}

const CONTRACT: &str = "a constant of type `Contract`";
const RETRY: &str = "a constant of type `RetryPolicy`";

/// A reason: long enough to say something.
pub(crate) fn reason(name: &str, expr: &Expr) -> syn::Result<LitStr> {
    let text = value::text(name, expr)?;
    if text.value().trim().chars().count() < SHORTEST_REASON {
        let message = format!("R015: `{name}` needs a reason that says something to the next reader");
        let help = format!("write one, of at least {SHORTEST_REASON} characters");
        return Err(syn::Error::new(expr.span(), with_help(message, help)));
    }
    Ok(text)
}
