//! `#[derive(KeyPart)]`: newtypes and enums without data.

use std::collections::BTreeMap;

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DataEnum, DataStruct, DeriveInput, Error, Fields, Member, Path, Token, Type};

use crate::errors::{Errors, with_help};
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
        Data::Struct(data) => newtype(&item.ident, data, &private).map_err(one),
        Data::Enum(data) => choice(&item.ident, data, &private),
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
fn newtype(ident: &Ident, data: &DataStruct, private: &TokenStream) -> Result<TokenStream, Error> {
    let mut fields = data.fields.iter();
    let (Some(field), None) = (fields.next(), fields.next()) else { return Err(shape(ident.span())) };
    let member = field.ident.clone().map_or_else(|| Member::from(0), Member::Named);
    let ty = &field.ty;
    // The bound is asked for once, at the field's type.
    let delegate = delegate(ty, private);
    Ok(implementation(
        ident,
        private,
        &quote!(#delegate::DISTINGUISHES),
        &quote!(#delegate::write(&self.#member, part)),
    ))
}

fn delegate(ty: &Type, private: &TokenStream) -> TokenStream {
    quote_spanned!(generated(ty.span())=> <#ty as #private::KeyPart>)
}

/// An enum without data is written as the name of its variant.
fn choice(ident: &Ident, data: &DataEnum, private: &TokenStream) -> Result<TokenStream, Errors> {
    let mut errors = Errors::default();
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut arms = TokenStream::new();
    if data.variants.is_empty() {
        let message = "an enum without variants has no value that could be part of a key";
        errors.at(ident.span(), with_help(message, "add its variants"));
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
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(implementation(ident, private, &quote!(false), &quote!(part.text(match self { #arms }))))
}

fn implementation(
    ident: &Ident,
    private: &TokenStream,
    distinguishes: &TokenStream,
    write: &TokenStream,
) -> TokenStream {
    quote! {
        impl #private::KeyPart for #ident {
            const DISTINGUISHES: ::core::primitive::bool = #distinguishes;
            fn write(&self, part: #private::PartWriter<'_>) -> ::core::result::Result<(), #private::KeyError> {
                #write
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
