//! The optional arguments, as expressions of generated code.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprPath, LitStr};

use super::value::{self, WordOr};
use crate::errors::{Errors, with_help};
use crate::names::generated;

/// A reason has at least this many characters.
pub(crate) const SHORTEST_REASON: usize = 8;

/// What the attribute says beside the required arguments, with `__r` as the name of ratchet's private module.
#[derive(Default)]
pub(super) struct Settings {
    destination: Option<Destination>,
    /// `field: value` of the policy.
    policy: Vec<TokenStream>,
    pub(super) queue: Option<LitStr>,
    concurrency: Option<TokenStream>,
    priority: Option<TokenStream>,
    new_identity: Option<LitStr>,
    /// Where a tradeoff is declared.
    on_unknown: Option<Span>,
    /// The function that asks the destination what happened.
    reconcile: Option<ExprPath>,
    /// Where it is said when it asks for the first time.
    reconcile_after: Option<Span>,
    /// Where it is said how often is tried.
    retried: Option<Span>,
    /// Where it is said how long an attempt may run.
    timed: Option<Span>,
    /// Where it is said for how long records are kept or replayed.
    kept: Option<Span>,
}

/// Where the effect happens.
enum Destination {
    /// Nowhere that would recognise a repetition; the word has this place.
    None(Span),
    /// Inside named steps, each with a destination of its own.
    Steps,
    /// As a constant says.
    Contract(Expr),
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
                self.destination = Some(match value::word_or(name, expr, &["none", "steps"], CONTRACT)? {
                    WordOr::Word(word) if word == "steps" => Destination::Steps,
                    WordOr::Word(_) => Destination::None(expr.span()),
                    WordOr::Expr(expr) => Destination::Contract(expr.clone()),
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
                self.retried = Some(expr.span());
            }
            "on_unknown" => {
                // Said, if not understood: what is wrong with it is the only error.
                self.on_unknown = Some(expr.span());
                let word = value::one_of(name, expr, &["park", "may_duplicate", "may_lose"])?;
                let variant = match word.as_str() {
                    "may_duplicate" => quote!(MayDuplicate),
                    "may_lose" => quote!(MayLose),
                    _ => quote!(Park),
                };
                self.policy.push(quote!(on_unknown: __r::OnUnknown::#variant));
            }
            "reconcile" => {
                self.reconcile = Some(value::function(name, expr)?);
                self.policy.push(quote!(reconciles: true));
            }
            "reconcile_after" => {
                let wait = value::duration(name, expr)?;
                self.policy.push(quote!(reconcile_after: #wait));
                self.reconcile_after = Some(expr.span());
            }
            "timeout" => {
                let timeout = value::duration(name, expr)?;
                self.policy.push(quote!(timeout: #timeout));
                self.timed = Some(expr.span());
            }
            "retention" => {
                let retention = value::duration(name, expr)?;
                self.policy.push(quote!(retention: #retention));
                self.kept = Some(expr.span());
            }
            "replay_within" => {
                let span = value::duration(name, expr)?;
                self.policy.push(quote!(replay_within: __r::Some(#span)));
                self.kept.get_or_insert(expr.span());
            }
            "concurrency" => self.concurrency = Some(value::attempts(name, expr)?),
            "priority" => self.priority = Some(expr.to_token_stream()),
            _ => self.new_identity = Some(reason(name, expr)?),
        }
        Ok(())
    }

    /// What contradicts each other in the words alone.
    pub(super) fn judge(&self, errors: &mut Errors) {
        if let (None, Some(place)) = (&self.reconcile, self.reconcile_after) {
            let message = "R015: `reconcile_after` says when to ask, and nothing says whom";
            errors
                .at(place, with_help(message, "add `reconcile = ask_the_destination`, a function that asks"));
        }
        if let (Some(Destination::Steps), Some(ask)) = (&self.destination, &self.reconcile) {
            let message = "R015: the effects of this operation are in its steps, and it has none of its own to ask about";
            let help = "remove `reconcile`, and say it of the step: `ctx.step(\"charge\").reconcile(…)`";
            errors.on(ask, with_help(message, help));
        }
        let decided = self.on_unknown.is_some() || self.reconcile.is_some();
        if let (Some(Destination::None(place)), false) = (&self.destination, decided) {
            let message = "R011: this destination does not recognise a repeated request, and nothing says what to do when it is \
                 unknown whether one took effect";
            let help = "add `on_unknown = park` (somebody looks into it), `may_duplicate` (send again) or `may_lose` (give up); or \
                 `reconcile = ask_the_destination`, a function that finds out what happened";
            errors.at(*place, with_help(message, help));
        }
    }

    /// The specification, with what only the compiler can compare, each check at the value to look at first.
    pub(super) fn checked(&self, mut spec: TokenStream) -> TokenStream {
        let mut check = |place: Span, function: &str| {
            let span = generated(place);
            let function = Ident::new(function, span);
            spec = quote_spanned!(span=> __r::#function(#spec));
        };
        if let Some(Destination::Contract(contract)) = &self.destination {
            check(self.retried.unwrap_or_else(|| contract.span()), "checked_window");
            if self.on_unknown.is_none() && self.reconcile.is_none() {
                check(contract.span(), "checked_tradeoff");
            }
        }
        if let Some(place) = self.kept.or(self.retried).or(self.timed) {
            check(place, "checked_retention");
        }
        spec
    }

    /// The function that asks the destination what happened.
    pub(super) fn reconcile(&self) -> Option<&ExprPath> {
        self.reconcile.as_ref()
    }

    pub(super) fn has_new_identity(&self) -> bool {
        self.new_identity.is_some()
    }

    /// The calls that follow on it.
    pub(super) fn calls(&self) -> TokenStream {
        let contract = match &self.destination {
            Some(Destination::Contract(contract)) => Some(quote!(.to(#contract))),
            Some(Destination::Steps) => Some(quote!(.to(__r::Contract::STEPS))),
            Some(Destination::None(_)) | None => None,
        };
        let policy = (!self.policy.is_empty()).then(|| {
            let fields = &self.policy;
            quote!(.policy(__r::Policy { #(#fields,)* ..__r::Policy::DEFAULT }))
        });
        let (queue, concurrency, priority) =
            (self.queue.iter(), self.concurrency.iter(), self.priority.iter());
        let new_identity = self.new_identity.iter();
        quote! {
            #contract
            #policy
            #(.queue(#queue))*
            #(.concurrency(#concurrency))*
            #(.priority(#priority))*
            #(.new_identity(#new_identity))*
        }
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
