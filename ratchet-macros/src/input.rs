//! `#[derive(Input)]`: what is stored with a record.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use ratchet_key::{Code, NameFinding, judge_name};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Field, Fields, Path, Token};

use crate::errors::{Errors, with_help};
use crate::key::Allowances;
use crate::names::{crate_path, generated, private, unraw};

pub(crate) fn expand(item: TokenStream) -> TokenStream {
    match syn::parse2::<DeriveInput>(item) {
        Err(error) => error.to_compile_error(),
        Ok(item) => derive(&item),
    }
}

fn derive(item: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let options = Options::read(&item.attrs, Place::Struct, &mut errors);
    let private = private(options.krate.as_ref());
    let ident = &item.ident;
    let checks: Vec<TokenStream> = match fields(item) {
        Ok(fields) => {
            fields.iter().filter_map(|field| check(field, &unraw(ident), &private, &mut errors)).collect()
        }
        Err(error) => {
            // Without its parameters the type cannot be named.
            errors.push(error);
            if !item.generics.params.is_empty() {
                return errors.report();
            }
            Vec::new()
        }
    };
    let report = errors.report();
    // The bounds of the trait are judged at the struct's name.
    let implementation = quote_spanned!(generated(ident.span())=> impl #private::Input for #ident {});
    quote! {
        #report
        #implementation
        #(const _: () = #checks;)*
    }
}

fn fields(item: &DeriveInput) -> Result<&Fields, Error> {
    if !item.generics.params.is_empty() {
        let message = "an input cannot be generic: one name on record stands for one type of input";
        return Err(Error::new(
            item.generics.params.span(),
            with_help(message, "write one struct for each type"),
        ));
    }
    match &item.data {
        Data::Struct(data) if matches!(data.fields, Fields::Named(_)) => Ok(&data.fields),
        _ => {
            let message = "an input is a struct with named fields, since keys name them";
            Err(Error::new(item.ident.span(), with_help(message, "put the value into a field of a struct")))
        }
    }
}

/// Judges one field; gives what the compiler has to check about its type.
fn check(field: &Field, entity: &str, private: &TokenStream, errors: &mut Errors) -> Option<TokenStream> {
    let mut options = Options::read(&field.attrs, Place::Field, errors);
    let name = field.ident.as_ref().map(unraw)?;
    let found = judge_name(Some(entity), &name).filter(|found| found.code == Code::R005);
    if let Some(found) = found.filter(|_| options.allow.take(Code::R005).is_none()) {
        errors
            .at(field.ident.span(), credential("field", &name, &found, "#[ratchet(allow(R005 = \"why\"))]"));
    }
    options.allow.report_unused(errors);
    let ty = &field.ty;
    let is_key = field.attrs.iter().any(|attr| attr.path().is_ident("key"));
    is_key.then(|| quote_spanned!(generated(ty.span())=> #private::assert_key_part::<#ty>()))
}

/// What is said of a credential in the payload.
pub(crate) fn credential(kind: &str, name: &str, found: &NameFinding, permission: &str) -> String {
    let message = format!(
        "{}: `{}` in the {kind} `{name}` is a credential, and inputs are stored with the record and shown to operators",
        found.code, found.word
    );
    let help = format!(
        "store it elsewhere and pass its id, or take a client that holds it as `State<T>`; if the name misleads: \
         {permission}"
    );
    with_help(message, help)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Struct,
    Field,
}

/// `#[ratchet(…)]` on a struct or a field.
#[derive(Default)]
struct Options {
    krate: Option<Path>,
    allow: Allowances,
}

impl Options {
    fn read(attrs: &[Attribute], place: Place, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("ratchet")) {
            let mut found = Errors::default();
            let parsed = attr.parse_nested_meta(|meta| {
                if place == Place::Struct && meta.path.is_ident("crate") {
                    meta.input.parse::<Token![=]>()?;
                    options.krate = Some(crate_path(meta.input)?);
                    Ok(())
                } else if place == Place::Field && meta.path.is_ident("allow") {
                    let content;
                    syn::parenthesized!(content in meta.input);
                    options.allow.parse(&content, &mut found)
                } else {
                    let help = match place {
                        Place::Struct => "on an input there is `crate = path`",
                        Place::Field => "on a field there is `allow(R005 = \"why\")`",
                    };
                    Err(meta.error(with_help("R015: unknown argument", help)))
                }
            });
            errors.extend(found);
            if let Err(error) = parsed {
                errors.push(error);
            }
        }
        options
    }
}
