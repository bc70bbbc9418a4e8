//! `#[key]`, `#[pii]` and `#[volatile]` on a field or a parameter.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, GenericArgument, Meta, PathArguments, Type};

use crate::errors::{Errors, with_help};
use crate::names::{generated, last_name};

/// The marks that there are.
pub(crate) const MARKS: [&str; 3] = ["key", "pii", "volatile"];

/// What a field or a parameter is marked as, with the places of the marks.
#[derive(Default)]
pub(crate) struct Marks {
    pub(crate) key: Option<Span>,
    pub(crate) pii: Option<Span>,
    pub(crate) volatile: Option<Span>,
}

impl Marks {
    pub(crate) fn read(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut marks = Self::default();
        for attr in attrs {
            let (place, name) = match attr.path().get_ident() {
                Some(ident) if ident == "key" => (&mut marks.key, "key"),
                Some(ident) if ident == "pii" => (&mut marks.pii, "pii"),
                Some(ident) if ident == "volatile" => (&mut marks.volatile, "volatile"),
                _ => continue,
            };
            if !matches!(attr.meta, Meta::Path(_)) {
                let message = format!("R015: `#[{name}]` takes no arguments");
                errors.on(&attr.meta, with_help(message, format!("write `#[{name}]`")));
            } else if place.is_some() {
                let message = format!("R015: `#[{name}]` is given twice");
                errors.on(attr, with_help(message, "remove one of the two"));
            }
            *place = Some(attr.path().span());
        }
        marks.contradiction(errors);
        marks
    }

    fn contradiction(&self, errors: &mut Errors) {
        if let (Some(_), Some(volatile)) = (self.key, self.volatile) {
            let message = "R015: `#[volatile]` and `#[key]` contradict each other: what differs from one attempt to the next gives each another key";
            errors.at(volatile, with_help(message, "remove one of the two"));
        }
    }

    /// Whether the value under it has another treatment than the rest.
    pub(crate) fn matters(&self) -> bool {
        self.pii.is_some() || self.volatile.is_some()
    }

    /// `Mark::field("email").personal()`; `None` where there is nothing to say.
    pub(crate) fn emit(&self, field: &str, written: &str, ty: &Type) -> Option<TokenStream> {
        let inner = holder_of_marks(ty).filter(|_| !self.matters());
        if !self.matters() && inner.is_none() {
            return None;
        }
        let personal = self.pii.map(|_| quote!(.personal()));
        let volatile = self.volatile.map(|_| quote!(.volatile()));
        let inner = inner.map(|ty| {
            let span = generated(last_name(ty));
            quote_spanned!(span=> .inner(|| __r::Inner::<#ty>::MARKS))
        });
        let written = (written != field).then(|| quote!(.written(#written)));
        Some(quote!(__r::Mark::field(#field) #written #personal #volatile #inner))
    }
}

/// `const MARKS`, if there are any.
pub(crate) fn constant(marks: &[TokenStream]) -> Option<TokenStream> {
    (!marks.is_empty()).then(|| {
        quote! {
            const MARKS: &'static [__r::Mark] = {
                use __r::Unmarked as _;
                &[#(#marks),*]
            };
        }
    })
}

/// The type within options, lists and boxes, if it may have marked fields of its own.
fn holder_of_marks(ty: &Type) -> Option<&Type> {
    let path = match ty {
        Type::Group(group) => return holder_of_marks(&group.elem),
        Type::Paren(paren) => return holder_of_marks(&paren.elem),
        Type::Path(path) => path,
        _ => return None,
    };
    let last = path.path.segments.last()?;
    match &last.arguments {
        PathArguments::None if PLAIN.iter().any(|plain| last.ident == plain) => None,
        PathArguments::None => Some(ty),
        PathArguments::AngleBracketed(arguments) if HOLDERS.iter().any(|holder| last.ident == holder) => {
            arguments.args.iter().find_map(|argument| match argument {
                GenericArgument::Type(held) => holder_of_marks(held),
                _ => None,
            })
        }
        _ => None,
    }
}

/// Types whose JSON is that of what they hold, or a list of it.
const HOLDERS: [&str; 5] = ["Option", "Vec", "VecDeque", "Box", "Arc"];

/// Types that everyone knows to have no marks: nothing is asked of them, which keeps the common input quick to compile.
const PLAIN: [&str; 30] = [
    "bool",
    "char",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "usize",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "isize",
    "f32",
    "f64",
    "String",
    "Uuid",
    "Date",
    "NaiveDate",
    "DateTime",
    "NaiveDateTime",
    "OffsetDateTime",
    "SystemTime",
    "Timestamp",
    "Zoned",
    "Duration",
    "Decimal",
    "Value",
    "Bytes",
];
