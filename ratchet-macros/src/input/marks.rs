//! `#[key]`, `#[pii]` and `#[volatile]` on a field or a parameter.

use proc_macro2::{Ident, Span, TokenStream};
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

    /// `Mark::field("email").personal()`; nothing where there is nothing to say.
    pub(crate) fn emit(&self, field: &str, place: &Place, ty: &Type) -> Vec<TokenStream> {
        let written = match &place.name {
            None => Some(quote!(.flattened())),
            Some(name) => (name != field).then(|| quote!(.written(#name))),
        };
        let field = quote!(__r::Mark::field(#field) #written);
        let volatile = self.volatile.map(|_| quote!(.volatile()));
        if self.pii.is_some() {
            return vec![quote!(#field.personal() #volatile)];
        }
        let mut held = Vec::new();
        find_held(ty, place.is_rewritten, &mut held);
        if held.is_empty() {
            return volatile.map(|volatile| quote!(#field #volatile)).into_iter().collect();
        }
        let mark = |held: Held<'_>| {
            let (ty, method) = (held.ty, if held.is_scattered { "scattered" } else { "inner" });
            let span = generated(last_name(ty));
            let method = Ident::new(method, span);
            quote_spanned!(span=> #field #volatile .#method(|| __r::Inner::<#ty>::MARKS))
        };
        held.into_iter().map(mark).collect()
    }
}

/// Where the value of a field or a parameter stands in the JSON.
pub(crate) struct Place {
    /// `None` if its fields stand among those around it.
    pub(crate) name: Option<String>,
    /// Whether code of the user's writes it, in a form of its own.
    pub(crate) is_rewritten: bool,
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

/// A type that may have marked fields of its own.
struct Held<'a> {
    ty: &'a Type,
    /// Whether it is not known where in the JSON its fields stand, as in a map.
    is_scattered: bool,
}

fn find_held<'a>(ty: &'a Type, is_scattered: bool, held: &mut Vec<Held<'a>>) {
    let path = match ty {
        Type::Group(group) => return find_held(&group.elem, is_scattered, held),
        Type::Paren(paren) => return find_held(&paren.elem, is_scattered, held),
        Type::Array(array) => return find_held(&array.elem, is_scattered, held),
        Type::Slice(slice) => return find_held(&slice.elem, is_scattered, held),
        Type::Tuple(tuple) => return tuple.elems.iter().for_each(|ty| find_held(ty, true, held)),
        Type::Path(path) => path,
        _ => return,
    };
    let Some(last) = path.path.segments.last() else { return };
    match &last.arguments {
        PathArguments::None if PLAIN.iter().any(|plain| last.ident == plain) => {}
        PathArguments::AngleBracketed(arguments) => {
            let is_list = HOLDERS.iter().any(|holder| last.ident == holder);
            for argument in &arguments.args {
                if let GenericArgument::Type(ty) = argument
                    && (is_list || !may_be_constant(ty))
                {
                    find_held(ty, is_scattered || !is_list, held);
                }
            }
        }
        _ => held.push(Held { ty, is_scattered }),
    }
}

/// Whether it is written like a constant, as `MAX` in `ArrayVec<u8, MAX>`: among generic arguments only the compiler knows.
fn may_be_constant(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    let last = path.path.segments.last();
    last.is_some_and(|last| !last.ident.to_string().contains(char::is_lowercase))
}

/// Types whose JSON is that of what they hold, or a list of it.
const HOLDERS: [&str; 7] = ["Option", "Vec", "VecDeque", "Box", "Arc", "BTreeSet", "HashSet"];

/// Types that everyone knows to have no marks: nothing is asked of them, which keeps the common input quick to compile.
const PLAIN: [&str; 31] = [
    "bool",
    "char",
    "str",
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
