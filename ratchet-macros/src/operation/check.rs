//! What the signature of an operation cannot be.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Attribute, PatType, ReturnType, Safety, Signature, Type};

use crate::errors::{Errors, with_help};
use crate::input::MARKS;

/// What an operation's function cannot be. Gives whether the types of the signature can be used elsewhere.
pub(super) fn qualifiers(sig: &Signature, errors: &mut Errors) -> bool {
    let mut refuse = |tokens: &dyn ToTokens, message: &str, help: &str| {
        errors.on(tokens.to_token_stream(), with_help(message, help));
    };
    if let Some(token) = &sig.constness {
        refuse(token, "an operation is an `async fn`, which cannot be `const`", "remove `const`");
    } else if sig.asyncness.is_none() {
        refuse(&sig.fn_token, "an operation is an `async fn`", "write `async fn`");
    }
    if let Safety::Unsafe(token) = &sig.safety {
        let help = "remove `unsafe`, and keep the unsafe part inside with its reasons";
        refuse(token, "an operation is called by a worker, so it cannot be `unsafe`", help);
    }
    if let Some(abi) = &sig.abi {
        refuse(abi, "an operation is called by a worker, so it has no foreign ABI", "remove `extern`");
    }
    if let Some(variadic) = &sig.variadic {
        refuse(variadic, "an operation has a fixed number of parameters", "remove `...`");
    }
    if is_generic(sig) {
        let clause = &sig.generics.where_clause;
        let params = &sig.generics.params;
        let place: &dyn ToTokens = if params.is_empty() { clause } else { params };
        let help = "write one function for each type, and let them call a shared one";
        refuse(
            place,
            "an operation cannot be generic: one name on record stands for one type of input",
            help,
        );
    }
    !is_generic(sig) && sig.variadic.is_none()
}

pub(super) fn is_generic(sig: &Signature) -> bool {
    !sig.generics.params.is_empty() || sig.generics.where_clause.is_some()
}

pub(super) fn attributes(parameter: &PatType, errors: &mut Errors) {
    let conditional = |attr: &&Attribute| attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr");
    if let Some(attr) = parameter.attrs.iter().find(conditional) {
        let message =
            "a parameter of an operation cannot depend on the configuration: records outlive the build";
        errors.on(attr, with_help(message, "take it always"));
    }
}

/// Whether it is an attribute that only ratchet knows.
pub(super) fn is_mark(attr: &Attribute) -> bool {
    MARKS.iter().any(|mark| attr.path().is_ident(mark))
}

/// Marks where they say nothing.
pub(super) fn no_marks(attrs: &[Attribute], why: &str, help: &str, errors: &mut Errors) {
    for attr in attrs.iter().filter(|attr| is_mark(attr)) {
        let message = format!("R015: `#[{}]` says nothing here: {why}", attr.path().to_token_stream());
        errors.on(attr, with_help(message, help));
    }
}

/// Inputs are stored and come back later, so they borrow nothing, and their types can be written elsewhere.
pub(super) fn input_type(ty: &Type, errors: &mut Errors) -> Option<()> {
    match ty {
        Type::Group(group) => input_type(&group.elem, errors),
        Type::Paren(paren) => input_type(&paren.elem, errors),
        Type::Reference(reference) if let Some(what) = super::handler::injected_name(&reference.elem) => {
            errors.on(ty, with_help(format!("an operation takes {what} by value"), "remove the `&`"));
            None
        }
        Type::Reference(reference) => {
            let message =
                "an operation takes its input by value: it is stored, and read back for every attempt";
            let owned = match reference.elem.as_ref() {
                Type::Slice(slice) => format!("Vec<{}>", slice.elem.to_token_stream()),
                Type::Path(path) if path.path.is_ident("str") => "String".to_owned(),
                other => other.to_token_stream().to_string(),
            };
            errors.on(ty, with_help(message, format!("take `{owned}`")));
            None
        }
        _ if holds_impl(ty.to_token_stream()) => {
            let message = "an operation cannot be generic: one name on record stands for one type of input";
            errors.on(ty, with_help(message, "name a type"));
            None
        }
        _ => match lifetime(ty.to_token_stream()) {
            Some(span) => {
                let message = "an input borrows nothing: it is stored, and read back for every attempt";
                errors.at(span, with_help(message, "use a type that owns its data"));
                None
            }
            None => Some(()),
        },
    }
}

/// Types that everyone knows to be no struct of the user's.
const PLAIN: [&str; 21] = [
    "bool", "char", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize",
    "f32", "f64", "String", "Vec", "Option", "HashMap", "Uuid",
];

/// Whether it is one of these.
fn is_plain(ty: &Type) -> bool {
    match ty {
        Type::Group(group) => is_plain(&group.elem),
        Type::Paren(paren) => is_plain(&paren.elem),
        Type::Path(path) => {
            path.path.segments.last().is_some_and(|last| PLAIN.iter().any(|name| last.ident == name))
        }
        Type::Tuple(_) | Type::Array(_) | Type::Never(_) => true,
        _ => false,
    }
}

/// Whether the one input can be a struct with fields.
pub(super) fn is_struct(ty: &Type, errors: &mut Errors) -> bool {
    let plain = is_plain(ty);
    if plain {
        let message =
            "an operation takes one struct, whose fields the key names, or two or more plain parameters";
        let help = "put it into a struct with `#[derive(serde::Serialize, serde::Deserialize, ratchet::Input)]`, and take that";
        errors.on(ty, with_help(message, help));
    }
    !plain
}

/// Whether `impl Trait` stands in a type, however deep.
fn holds_impl(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == "impl",
        TokenTree::Group(group) => holds_impl(group.stream()),
        _ => false,
    })
}

/// The first lifetime in a type that is not `'static`.
fn lifetime(tokens: TokenStream) -> Option<Span> {
    let mut after_quote = false;
    for token in tokens {
        match (&token, std::mem::take(&mut after_quote)) {
            (TokenTree::Ident(ident), true) if ident != "static" => return Some(ident.span()),
            (TokenTree::Punct(punct), _) if punct.as_char() == '\'' => after_quote = true,
            (TokenTree::Group(group), _) => {
                if let Some(span) = lifetime(group.stream()) {
                    return Some(span);
                }
            }
            _ => {}
        }
    }
    None
}

const RESULT: &str = "an operation returns a `Result`, which says what is known about its effect";

pub(super) fn output(sig: &Signature, errors: &mut Errors) -> Option<Type> {
    match &sig.output {
        ReturnType::Default => {
            errors.at(sig.ident.span(), with_help(RESULT, "add `-> Result<(), ratchet::Failure>`"));
            None
        }
        ReturnType::Type(_, ty) => {
            let ty = ty.as_ref();
            if holds_impl(ty.to_token_stream()) {
                let message = "an operation returns a type with a name: its value is stored";
                errors.on(ty, with_help(message, "write `Result<T, ratchet::Failure>`"));
                return None;
            }
            if let Some(span) = lifetime(ty.to_token_stream()) {
                let message = "what an operation returns borrows nothing: it is stored";
                errors.at(span, with_help(message, "use a type that owns its data"));
                return None;
            }
            if is_plain(ty) {
                let value = if matches!(ty, Type::Never(_)) { quote!(()) } else { ty.to_token_stream() };
                let help = format!("write `Result<{value}, ratchet::Failure>`");
                errors.on(ty, with_help(RESULT, help));
                return None;
            }
            Some(ty.clone())
        }
    }
}
