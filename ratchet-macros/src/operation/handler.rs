//! The signature of the function. Its body stays tokens.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, FnArg, GenericArgument, Pat, PatType, PathArguments, Receiver, Signature, Type,
    Visibility,
};

use super::stub::Stub;
use super::{body, check};
use crate::errors::{Errors, with_help};
use crate::input::Marks;
use crate::names::unraw;

/// The most parameters beside the injected ones.
const MOST_INPUTS: usize = 8;

/// What is generated from.
pub(crate) struct Handler {
    pub(crate) vis: Visibility,
    pub(crate) ident: Ident,
    pub(crate) parameters: Vec<Parameter>,
    /// `None` if the function has none, or one that cannot be named.
    pub(crate) output: Option<Type>,
    pub(crate) deprecated: Option<Attribute>,
    /// The name of the parameter that is the context.
    pub(crate) context: Option<Ident>,
    /// What follows on the signature.
    pub(super) body: Vec<body::Token>,
    /// Whether parameters have attributes, some of which may be ours.
    pub(super) attributed: bool,
}

/// One parameter, in the order of the signature.
pub(crate) enum Parameter {
    Context(Type),
    State(Type),
    Input(Input),
}

/// A parameter that is part of the payload.
pub(crate) struct Input {
    /// Its name, if the pattern has one.
    pub(crate) ident: Option<Ident>,
    pub(crate) ty: Type,
    pub(crate) marks: Marks,
}

impl Handler {
    /// The function's signature.
    ///
    /// # Errors
    ///
    /// What is left of it if it cannot be that of an operation; `None` if nothing can stand beside it.
    pub(crate) fn parse(item: TokenStream, errors: &mut Errors) -> Result<Self, Option<Box<Stub>>> {
        let body_matters = body::are_hinted_at(&item.to_string());
        let parse = |input: ParseStream<'_>| {
            let attrs = input.call(Attribute::parse_outer)?;
            let vis: Visibility = input.parse()?;
            let signature = signature(input)?;
            let read = if body_matters { body::read } else { body::skip };
            let body = input.step(|cursor| Ok(read(*cursor)))?;
            Ok((attrs, vis, signature, body))
        };
        match parse.parse2(item) {
            Err(error) => {
                errors.push(error);
                Err(None)
            }
            // The compiler has reported it: it reads an item before it hands it to an attribute.
            Ok((_, _, None, _)) => Err(None),
            Ok((attrs, vis, Some(signature), body)) => Self::check(attrs, vis, &signature, body, errors),
        }
    }

    fn check(
        attrs: Vec<Attribute>,
        vis: Visibility,
        sig: &Signature,
        body: Vec<body::Token>,
        errors: &mut Errors,
    ) -> Result<Self, Option<Box<Stub>>> {
        let usable = check::qualifiers(sig, errors);
        // All of them are judged before one that is wrong ends it.
        let found: Vec<Option<Parameter>> =
            sig.inputs.iter().map(|parameter| classify(parameter, check::is_generic(sig), errors)).collect();
        let whole = found.iter().all(Option::is_some);
        let handler = Self {
            vis,
            ident: sig.ident.clone(),
            parameters: found.into_iter().flatten().collect(),
            output: check::output(sig, errors),
            deprecated: attrs.into_iter().find(|attr| attr.path().is_ident("deprecated")),
            context: sig.inputs.iter().find_map(context),
            body,
            attributed: sig.inputs.iter().any(|parameter| {
                let (FnArg::Typed(PatType { attrs, .. }) | FnArg::Receiver(Receiver { attrs, .. })) =
                    parameter;
                !attrs.is_empty()
            }),
        };
        let sound = whole && handler.check_count(sig, errors) && usable;
        if sound { Ok(handler) } else { Err(handler.left(sig)) }
    }

    /// What can still be used of a signature that was refused.
    fn left(self, sig: &Signature) -> Option<Box<Stub>> {
        // In an `impl`, no type can stand beside the function.
        if sig.receiver().is_some() {
            return None;
        }
        let generic = check::is_generic(sig);
        let known = |ty: &Type| {
            (!generic && check::input_type(ty, &mut Errors::default()).is_some()).then(|| ty.clone())
        };
        let inputs = sig.inputs.iter().filter_map(|parameter| match parameter {
            FnArg::Typed(parameter) if !is_injected(&parameter.ty) => Some(known(&parameter.ty)),
            _ => None,
        });
        let inputs = inputs.collect();
        let Self { vis, ident, output, deprecated, .. } = self;
        Some(Box::new(Stub { vis, ident, deprecated, inputs, output: output.filter(|_| !generic) }))
    }

    /// The parameters that are not injected.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Input> {
        self.parameters.iter().filter_map(|parameter| match parameter {
            Parameter::Input(input) => Some(input),
            Parameter::Context(_) | Parameter::State(_) => None,
        })
    }

    /// The input, if it is one value; `None` for several parameters.
    pub(crate) fn single_input(&self) -> Option<&Input> {
        let mut inputs = self.inputs();
        let first = inputs.next()?;
        inputs.next().is_none().then_some(first)
    }

    fn check_count(&self, sig: &Signature, errors: &mut Errors) -> bool {
        let contexts = self.parameters.iter().filter_map(|parameter| match parameter {
            Parameter::Context(ty) => Some(ty),
            _ => None,
        });
        if let Some(second) = contexts.skip(1).last() {
            let message = "an operation takes one `Context`";
            errors.on(second, with_help(message, "remove one of the two"));
        }
        match self.inputs().count() {
            0 => {
                let message =
                    "an operation needs an input: without one there is nothing that a key could name";
                let help = "add a parameter: a struct with #[derive(Input)], or two or more plain values";
                errors.at(sig.ident.span(), with_help(message, help));
                false
            }
            1 => {
                for parameter in &sig.inputs {
                    if let FnArg::Typed(parameter) = parameter {
                        let why = "the one input of an operation is a struct";
                        check::no_marks(&parameter.attrs, why, "mark its fields", errors);
                    }
                }
                self.inputs().all(|input| check::is_struct(&input.ty, errors))
            }
            many if many > MOST_INPUTS => {
                let message = format!(
                    "an operation takes at most {MOST_INPUTS} plain parameters, and this one has {many}"
                );
                let help = "put them into one struct with #[derive(Serialize, Deserialize, Input)]";
                errors.at(sig.ident.span(), with_help(message, help));
                false
            }
            _ => self.check_names(errors),
        }
    }

    /// Several parameters are stored by name.
    fn check_names(&self, errors: &mut Errors) -> bool {
        let mut named = true;
        for input in self.inputs().filter(|input| input.ident.is_none()) {
            let message = "this parameter has no name, and several parameters are stored by name";
            let help = "give it a name and take it apart in the body";
            errors.on(&input.ty, with_help(message, help));
            named = false;
        }
        named
    }
}

/// The signature; `None` if it is that of a function and cannot be read.
fn signature(input: ParseStream<'_>) -> syn::Result<Option<Signature>> {
    let rest: TokenStream = input.fork().parse()?;
    let qualifies = |token: &TokenTree| match token {
        TokenTree::Ident(ident) => {
            ["const", "async", "unsafe", "safe", "extern"].iter().any(|word| ident == word)
        }
        // The ABI of `extern "C"`.
        TokenTree::Literal(_) => true,
        _ => false,
    };
    // A constant of type `fn()` has a `fn` too, and other tokens before it.
    let first = rest.into_iter().find(|token| !qualifies(token));
    if !matches!(first, Some(TokenTree::Ident(ident)) if ident == "fn") {
        let text = with_help("#[ratchet::operation] stands on a function", "put it on a free `async fn`");
        return Err(Error::new(input.span(), text));
    }
    Ok(input.parse().ok())
}

fn classify(parameter: &FnArg, generic: bool, errors: &mut Errors) -> Option<Parameter> {
    let parameter = match parameter {
        FnArg::Typed(parameter) => parameter,
        FnArg::Receiver(receiver) => {
            let message = "an operation is a free function: a worker has no `self` to call it on";
            let help = "move it out of the `impl`, and take what it needs as `State<T>`";
            errors.at(receiver.self_token.span(), with_help(message, help));
            return None;
        }
    };
    check::attributes(parameter, errors);
    let marks = Marks::read(&parameter.attrs, errors);
    let ty = parameter.ty.as_ref();
    if let Some(injected) = injected(ty) {
        check::no_marks(&parameter.attrs, "an injected parameter is not stored", "remove the mark", errors);
        return Some(match injected {
            Injected::Context => Parameter::Context(ty.clone()),
            Injected::State => Parameter::State(ty.clone()),
        });
    }
    // What a generic parameter borrows is no further mistake.
    if !generic {
        check::input_type(ty, errors)?;
    }
    Some(Parameter::Input(Input { ident: binding(&parameter.pat), ty: ty.clone(), marks }))
}

/// The name of the parameter, if it is the context.
fn context(parameter: &FnArg) -> Option<Ident> {
    match parameter {
        FnArg::Typed(parameter) if matches!(injected(&parameter.ty), Some(Injected::Context)) => {
            binding(&parameter.pat)
        }
        _ => None,
    }
}

enum Injected {
    Context,
    State,
}

/// What a type is to an operation that injects it.
pub(super) fn injected_name(ty: &Type) -> Option<&'static str> {
    injected(ty).map(|injected| match injected {
        Injected::Context => "the context",
        Injected::State => "its state",
    })
}

/// Whether a worker passes it, by value or as the mistake of a reference.
fn is_injected(ty: &Type) -> bool {
    match ty {
        Type::Reference(reference) => injected(&reference.elem).is_some(),
        other => injected(other).is_some(),
    }
}

/// By the last path segment; whether it is the right type is for the compiler to say.
fn injected(ty: &Type) -> Option<Injected> {
    match ty {
        Type::Group(group) => injected(&group.elem),
        Type::Paren(paren) => injected(&paren.elem),
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            match (last.ident.to_string().as_str(), &last.arguments) {
                ("Context", PathArguments::None) => Some(Injected::Context),
                ("State", PathArguments::AngleBracketed(generics)) => {
                    let mut types =
                        generics.args.iter().filter(|arg| matches!(arg, GenericArgument::Type(_)));
                    types.next().filter(|_| generics.args.len() == 1).map(|_| Injected::State)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The name that a pattern binds as a whole.
fn binding(pat: &Pat) -> Option<Ident> {
    match pat {
        Pat::Ident(pat) if pat.subpat.is_none() && pat.by_ref.is_none() => Some(pat.ident.clone()),
        Pat::Paren(paren) => binding(&paren.pat),
        _ => None,
    }
}

impl Input {
    /// The name under which a value of it is stored.
    pub(crate) fn name(&self) -> Option<String> {
        self.ident.as_ref().map(unraw)
    }
}
