//! `#[derive(KeyPart)]`: newtypes and enums without data.

use std::collections::BTreeMap;

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DataEnum, DataStruct, DeriveInput, Error, Fields, Member, Path, Token, Type};

use crate::errors::{Errors, with_help};
use crate::input::SerdeNames;
use crate::names::{crate_path, generated, private, snake_case, unraw};

pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let item: DeriveInput = match syn::parse2(item) {
        Ok(item) => item,
        Err(error) => return error.to_compile_error(),
    };
    derive(&item).unwrap_or_else(|errors| {
        let (report, stand_in) = (errors.report(), stand_in(&item));
        quote!(#report #stand_in)
    })
}

/// The type is part of keys all the same, so that keys that name it are no further mistake.
fn stand_in(item: &DeriveInput) -> TokenStream {
    let private = private(krate(item).ok().flatten().as_ref());
    let ident = &item.ident;
    let (parameters, arguments, bounds) = item.generics.split_for_impl();
    quote! {
        impl #parameters #private::KeyPart for #ident #arguments #bounds {
            fn write(&self, _: #private::PartWriter<'_>) -> ::core::result::Result<(), #private::KeyError> {
                #private::missing()
            }
        }
    }
}

fn derive(item: &DeriveInput) -> Result<TokenStream, Errors> {
    let private = private(krate(item)?.as_ref());
    if !item.generics.params.is_empty() {
        let message = "a part of a key cannot be generic";
        return Err(one(Error::new(
            item.generics.params.span(),
            with_help(message, "name the type that it holds"),
        )));
    }
    match &item.data {
        Data::Struct(data) => newtype(item, data, &private).map_err(one),
        Data::Enum(data) => choice(item, data, &private),
        Data::Union(data) => Err(one(shape(data.union_token.span()))),
    }
}

fn one(error: Error) -> Errors {
    let mut errors = Errors::default();
    errors.push(error);
    errors
}

fn shape(span: proc_macro2::Span) -> Error {
    let message = "a part of a key is a struct with one field, or an enum without data: anything else has no single text form";
    Error::new(span, with_help(message, "name the fields one by one in the key template"))
}

/// A struct with one field is written as that field.
fn newtype(item: &DeriveInput, data: &DataStruct, private: &TokenStream) -> Result<TokenStream, Error> {
    let mut fields = data.fields.iter();
    let (Some(field), None) = (fields.next(), fields.next()) else { return Err(shape(item.ident.span())) };
    let member = field.ident.clone().map_or_else(|| Member::from(0), Member::Named);
    let ty = &field.ty;
    // The bound is asked for once, at the field's type.
    let delegate = delegate(ty, private);
    let converts = [&item.attrs, &field.attrs].iter().any(|attrs| SerdeNames::read(attrs).converts());
    let implementation = Implementation {
        distinguishes: quote!(#delegate::DISTINGUISHES),
        form: (!converts).then(|| quote!(#delegate::FORM)),
        write: quote!(#delegate::write(&self.#member, part)),
    };
    Ok(implementation.emit(&item.ident, private))
}

fn delegate(ty: &Type, private: &TokenStream) -> TokenStream {
    quote_spanned!(generated(ty.span())=> <#ty as #private::KeyPart>)
}

/// An enum without data is written as the name of its variant.
fn choice(item: &DeriveInput, data: &DataEnum, private: &TokenStream) -> Result<TokenStream, Errors> {
    let all = SerdeNames::read(&item.attrs);
    let mut errors = Errors::default();
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let (mut arms, mut names) = (TokenStream::new(), TokenStream::new());
    if data.variants.is_empty() {
        let message = "an enum without variants has no value that could be part of a key";
        errors.at(item.ident.span(), with_help(message, "add its variants"));
    }
    for variant in &data.variants {
        let (name, text) = (&variant.ident, snake_case(&unraw(&variant.ident)));
        if !matches!(variant.fields, Fields::Unit) {
            let message = "a variant with data cannot be part of a key";
            errors.at(
                variant.fields.span(),
                with_help(message, "keep the data in a field of its own, and name that in the key template"),
            );
        }
        if let Some(other) = texts.insert(text.clone(), name.to_string()) {
            let message = format!(
                "`{other}` and `{name}` are both written `{text}`, so two different actions would share one key"
            );
            errors.at(name.span(), with_help(message, "rename one of the two"));
        }
        arms.extend(quote!(Self::#name => #text,));
        let serde = SerdeNames::read(&variant.attrs);
        if !serde.skipped {
            let in_json = serde.of_variant(&unraw(name), &all);
            names.extend(quote!((#in_json, #text),));
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let implementation = Implementation {
        distinguishes: quote!(false),
        form: (!all.converts()).then(|| quote!(#private::Form::Names { names: &[#names] })),
        write: quote!(part.text(match self { #arms })),
    };
    Ok(implementation.emit(&item.ident, private))
}

/// What differs between the implementations.
struct Implementation {
    distinguishes: TokenStream,
    /// `None` where serde writes or reads another type, so that nothing is known of it.
    form: Option<TokenStream>,
    write: TokenStream,
}

impl Implementation {
    fn emit(&self, ident: &Ident, private: &TokenStream) -> TokenStream {
        let Self { distinguishes, form, write } = self;
        let form = form.as_ref().map(|form| quote!(const FORM: #private::Form = #form;));
        quote! {
            impl #private::KeyPart for #ident {
                const DISTINGUISHES: ::core::primitive::bool = #distinguishes;
                #form
                fn write(&self, part: #private::PartWriter<'_>) -> ::core::result::Result<(), #private::KeyError> {
                    #write
                }
            }
        }
    }
}

fn krate(item: &DeriveInput) -> Result<Option<Path>, Errors> {
    let mut krate = None;
    for attr in item.attrs.iter().filter(|attr| attr.path().is_ident("ratchet")) {
        attr.parse_nested_meta(|meta| {
            if meta.path.is_ident("crate") {
                meta.input.parse::<Token![=]>()?;
                krate = Some(crate_path(meta.input)?);
                return Ok(());
            }
            Err(meta.error(with_help("R015: unknown argument", "here there is `crate = path`")))
        })
        .map_err(one)?;
    }
    Ok(krate)
}
