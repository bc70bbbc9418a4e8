//! `#[derive(Input)]`: what is stored with a record.

mod marks;
mod serde_name;
mod stored;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use ratchet_key::{Code, judge_field};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Field, Fields, Path, Token};

use crate::errors::{Errors, with_help};
use crate::key::Allowances;
use crate::names::{crate_path, generated, private, unraw, written};
pub(crate) use marks::{MARKS, Marks, Place, constant as marks_constant};
pub(crate) use serde_name::SerdeNames;
pub(crate) use stored::{personal, stored};

pub(crate) fn expand(item: TokenStream) -> TokenStream {
    match syn::parse2::<DeriveInput>(item) {
        Err(error) => error.to_compile_error(),
        Ok(item) => derive(&item),
    }
}

fn derive(item: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let options = Options::read(&item.attrs, Owner::Struct, &mut errors);
    for attr in item.attrs.iter().filter(|attr| MARKS.iter().any(|mark| attr.path().is_ident(mark))) {
        let message = "R015: this marks a field, and says nothing about a struct";
        errors.on(attr, with_help(message, "put it on each field that it is said of"));
    }
    let private = private(options.krate.as_ref());
    let mut found = Found::default();
    match fields(item) {
        Ok(fields) => {
            let all = SerdeNames::read(&item.attrs);
            for field in fields {
                found.field(field, &item.ident, &all, &mut errors);
            }
        }
        Err(error) => {
            // Without its parameters the type cannot be named.
            errors.push(error);
            if !item.generics.params.is_empty() {
                return errors.report();
            }
        }
    }
    let report = errors.report();
    let implementation = found.implementation(&item.ident);
    let Found { types, warnings, .. } = &found;
    quote! {
        #report
        const _: () = {
            use #private as __r;
            #implementation
            #(const _: () = #types;)*
        };
        #(#warnings)*
    }
}

/// What the fields of an input give.
#[derive(Default)]
struct Found {
    /// Checks of the types of fields with `#[key]`.
    types: Vec<TokenStream>,
    keys: Vec<String>,
    /// Fields that JSON has under another name or in another form.
    rewritten: Vec<String>,
    /// Those of them that only have another name there.
    renamed: Vec<(String, String)>,
    marks: Vec<TokenStream>,
    warnings: Vec<TokenStream>,
}

impl Found {
    fn field(&mut self, field: &Field, entity: &Ident, all: &SerdeNames, errors: &mut Errors) {
        let mut options = Options::read(&field.attrs, Owner::Field, errors);
        let marks = Marks::read(&field.attrs, errors);
        let Some((ident, name)) = field.ident.as_ref().map(|ident| (ident, unraw(ident))) else { return };
        self.judge(field, ident, &unraw(entity), &marks, &mut options.allow, errors);
        options.allow.report_unused(errors);
        let ty = &field.ty;
        if marks.key.is_some() {
            self.types.push(quote_spanned!(generated(ty.span())=> __r::assert_key_part::<#ty>()));
            self.keys.push(name.clone());
        }
        let serde = SerdeNames::read(&field.attrs);
        if let Some((message, help)) = serde.nameless(all).filter(|_| marks.matters()) {
            errors.at(ident.span(), with_help(message, help));
        }
        if let Some(key) = marks.key.filter(|_| serde.skipped) {
            let message = "R015: a field that serde skips is not stored, so a handler finds another value in it than the key";
            errors.at(key, with_help(message, "let serde write it, or remove `#[key]`"));
        }
        if !serde.is_plain(&name, all) {
            self.rewritten.push(name.clone());
            self.renamed.extend(serde.other_name(&name, all).map(|other| (name.clone(), other)));
        }
        if !serde.skipped {
            self.marks.extend(marks.emit(&name, &serde.place(&name, all), ty));
        }
    }

    fn judge(
        &mut self,
        field: &Field,
        ident: &Ident,
        entity: &str,
        marks: &Marks,
        allow: &mut Allowances,
        errors: &mut Errors,
    ) {
        let name = unraw(ident);
        let Some(found) = judge_field(Some(entity), &name, Some(&written(&field.ty))) else { return };
        if found.code == Code::R005 {
            if allow.take(Code::R005).is_none() {
                let permission = "#[ratchet(allow(R005 = \"why\"))]";
                errors.at(ident.span(), stored("field", &name, &found, permission));
            }
        } else if marks.pii.is_none() && allow.take(Code::R013).is_none() {
            let permission = "#[ratchet(allow(R013 = \"why\"))]";
            self.warnings.push(personal(ident.span(), "field", &name, &found, permission));
        }
    }

    /// The bounds of the trait are judged at the struct's name.
    fn implementation(&self, ident: &Ident) -> TokenStream {
        let Self { keys, rewritten, renamed, marks, .. } = self;
        let keys = names("KEYS", keys);
        let rewritten = names("REWRITTEN", rewritten);
        let renamed = pairs(renamed);
        let marks = marks::constant(marks);
        quote_spanned!(generated(ident.span())=> impl __r::Input for #ident { #keys #rewritten #renamed #marks })
    }
}

/// A constant of the trait; nothing where it is empty.
fn names(constant: &str, names: &[String]) -> Option<TokenStream> {
    let constant = Ident::new(constant, Span::call_site());
    (!names.is_empty()).then(|| quote!(const #constant: &'static [&'static __r::str] = &[#(#names),*];))
}

/// The names of fields in Rust and in JSON, if any differ.
fn pairs(renamed: &[(String, String)]) -> Option<TokenStream> {
    let pairs = renamed.iter().map(|(name, json)| quote!((#name, #json)));
    (!renamed.is_empty())
        .then(|| quote!(const RENAMED: &'static [(&'static __r::str, &'static __r::str)] = &[#(#pairs),*];))
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
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
    fn read(attrs: &[Attribute], owner: Owner, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("ratchet")) {
            let mut found = Errors::default();
            let parsed = attr.parse_nested_meta(|meta| {
                if owner == Owner::Struct && meta.path.is_ident("crate") {
                    meta.input.parse::<Token![=]>()?;
                    options.krate = Some(crate_path(meta.input)?);
                    Ok(())
                } else if owner == Owner::Field && meta.path.is_ident("allow") {
                    let content;
                    syn::parenthesized!(content in meta.input);
                    options.allow.parse(&content, &mut found)
                } else {
                    let help = match owner {
                        Owner::Struct => "on an input there is `crate = path`",
                        Owner::Field => "on a field there is `allow(R013 = \"why\")`",
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
