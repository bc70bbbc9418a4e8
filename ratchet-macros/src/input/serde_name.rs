//! Under which name serde writes a field: marks go by the names in the JSON.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, LitStr, Token};

use super::Place;

/// What `#[serde(…)]` says about names, on a type, a field or a variant. Its own mistakes are serde's to report.
#[derive(Default)]
pub(crate) struct SerdeNames {
    rename: Option<String>,
    rename_all: Option<String>,
    flatten: bool,
    pub(crate) skipped: bool,
    converted: Converted,
}

/// Where something else stands in the JSON than the type says.
#[derive(Default)]
struct Converted {
    /// When it is written: by `with` on a field, by `into` on a struct.
    on_write: bool,
    /// When it is read: by `deserialize_with` on a field, by `from` on a type.
    on_read: bool,
}

impl SerdeNames {
    pub(crate) fn read(attrs: &[Attribute]) -> Self {
        let mut names = Self::default();
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
            let _ = attr.parse_nested_meta(|meta| names.argument(&meta));
        }
        names
    }

    fn argument(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        if meta.path.is_ident("rename") {
            self.rename = written(meta)?;
        } else if meta.path.is_ident("rename_all") {
            self.rename_all = written(meta)?;
        } else if meta.path.is_ident("flatten") {
            self.flatten = true;
        } else if meta.path.is_ident("skip") || meta.path.is_ident("skip_serializing") {
            self.skipped = true;
        } else if meta.input.peek(Token![=]) {
            let is_one_of = |names: &[&str]| names.iter().any(|name| meta.path.is_ident(name));
            self.converted.on_write |= is_one_of(&["with", "serialize_with", "into"]);
            self.converted.on_read |= is_one_of(&["with", "deserialize_with", "from", "try_from"]);
            meta.value()?.parse::<syn::Expr>()?;
        } else if meta.input.peek(syn::token::Paren) {
            let content;
            syn::parenthesized!(content in meta.input);
            content.parse::<proc_macro2::TokenStream>()?;
        }
        Ok(())
    }

    /// Why a field of a struct for which `all` holds has no name in the JSON, and what to do; `None` if it has one.
    pub(super) fn nameless(&self, all: &Self) -> Option<(&'static str, &'static str)> {
        if all.converted.on_write {
            let message =
                "R015: `#[serde(into = …)]` writes another type, so this field has no place in the JSON";
            Some((message, "derive `Input` for that type, and mark its fields"))
        } else if self.flatten {
            let message =
                "R015: a flattened field has no name of its own in the JSON, so there is nothing to mark";
            Some((message, "mark the fields inside, and derive `Input` for their struct"))
        } else {
            None
        }
    }

    /// Where the value of a field stands.
    pub(super) fn place(&self, name: &str, all: &Self) -> Place {
        let name = self.nameless(all).is_none().then(|| self.of_field(name, all));
        Place { name, is_rewritten: self.converted.on_write || all.converted.on_write }
    }

    /// Whether what is written or read is not what the type itself would be.
    pub(crate) const fn converts(&self) -> bool {
        self.converted.on_write || self.converted.on_read
    }

    /// Whether a field stands in the JSON under the name and in the form that it has in Rust.
    pub(super) fn is_plain(&self, name: &str, all: &Self) -> bool {
        let converts = self.converts() || all.converts();
        !self.skipped && !converts && self.place(name, all).name.as_deref() == Some(name)
    }

    /// The name in the JSON of a field that differs in its name alone.
    pub(super) fn other_name(&self, name: &str, all: &Self) -> Option<String> {
        let converts = self.converts() || all.converts();
        self.place(name, all).name.filter(|other| other != name && !self.skipped && !converts)
    }

    /// The name of a variant of an enum for which `all` holds.
    pub(crate) fn of_variant(&self, name: &str, all: &Self) -> String {
        match (&self.rename, &all.rename_all) {
            (Some(rename), _) => rename.clone(),
            (None, Some(rule)) => renamed_variant(name, rule),
            (None, None) => name.to_owned(),
        }
    }

    /// The name of a field of a struct for which `all` holds.
    fn of_field(&self, name: &str, all: &Self) -> String {
        match (&self.rename, &all.rename_all) {
            (Some(rename), _) => rename.clone(),
            (None, Some(rule)) => renamed(name, rule),
            (None, None) => name.to_owned(),
        }
    }
}

/// `rename = "x"`, or `rename(serialize = "x", deserialize = "y")`.
fn written(meta: &ParseNestedMeta<'_>) -> syn::Result<Option<String>> {
    if meta.input.peek(Token![=]) {
        return Ok(Some(meta.value()?.parse::<LitStr>()?.value()));
    }
    let mut serialized = None;
    meta.parse_nested_meta(|inner| {
        let text = inner.value()?.parse::<LitStr>()?.value();
        if inner.path.is_ident("serialize") {
            serialized = Some(text);
        }
        Ok(())
    })?;
    Ok(serialized)
}

/// serde's rules for fields, whose names are in `snake_case`.
fn renamed(name: &str, rule: &str) -> String {
    match rule {
        "UPPERCASE" | "SCREAMING_SNAKE_CASE" => name.to_ascii_uppercase(),
        "PascalCase" => pascal_case(name),
        "camelCase" => {
            let pascal = pascal_case(name);
            let first = pascal.chars().next().map(|first| first.to_ascii_lowercase());
            first.into_iter().chain(pascal.chars().skip(1)).collect()
        }
        "kebab-case" => name.replace('_', "-"),
        "SCREAMING-KEBAB-CASE" => name.to_ascii_uppercase().replace('_', "-"),
        _ => name.to_owned(),
    }
}

/// serde's rules for variants, whose names are in `PascalCase`.
fn renamed_variant(name: &str, rule: &str) -> String {
    match rule {
        "lowercase" => name.to_ascii_lowercase(),
        "UPPERCASE" => name.to_ascii_uppercase(),
        "camelCase" => {
            let first = name.chars().next().map(|first| first.to_ascii_lowercase());
            first.into_iter().chain(name.chars().skip(1)).collect()
        }
        "snake_case" => each_capital_apart(name),
        "SCREAMING_SNAKE_CASE" | "kebab-case" | "SCREAMING-KEBAB-CASE" => {
            renamed(&each_capital_apart(name), rule)
        }
        _ => name.to_owned(),
    }
}

/// Unlike the text of a variant in keys, this takes `HTTPCall` apart to the letter.
fn each_capital_apart(name: &str) -> String {
    let mut text = String::new();
    for (at, char) in name.char_indices() {
        if at > 0 && char.is_uppercase() {
            text.push('_');
        }
        text.push(char.to_ascii_lowercase());
    }
    text
}

fn pascal_case(name: &str) -> String {
    let mut text = String::new();
    let mut capital = true;
    for char in name.chars() {
        if char == '_' {
            capital = true;
        } else if std::mem::take(&mut capital) {
            text.push(char.to_ascii_uppercase());
        } else {
            text.push(char);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    fn name(field: &[Attribute], all: &[Attribute]) -> String {
        SerdeNames::read(field).of_field("e_mail2_address", &SerdeNames::read(all))
    }

    #[test]
    fn rules_are_those_of_serde() {
        for (rule, expected) in [
            ("lowercase", "e_mail2_address"),
            ("UPPERCASE", "E_MAIL2_ADDRESS"),
            ("PascalCase", "EMail2Address"),
            ("camelCase", "eMail2Address"),
            ("snake_case", "e_mail2_address"),
            ("SCREAMING_SNAKE_CASE", "E_MAIL2_ADDRESS"),
            ("kebab-case", "e-mail2-address"),
            ("SCREAMING-KEBAB-CASE", "E-MAIL2-ADDRESS"),
        ] {
            assert_eq!(
                name(&[], &[parse_quote!(#[serde(deny_unknown_fields, rename_all = #rule)])]),
                expected
            );
        }
    }

    #[test]
    fn a_name_of_its_own_comes_first_and_only_the_written_one_counts() {
        let all: Attribute =
            parse_quote!(#[serde(rename_all(serialize = "kebab-case", deserialize = "PascalCase"))]);
        assert_eq!(name(&[], std::slice::from_ref(&all)), "e-mail2-address");
        let own = parse_quote!(#[serde(default = "none", with(x = 1), rename = "to", alias = "cc")]);
        assert_eq!(name(&[own], std::slice::from_ref(&all)), "to");
        let read: Attribute = parse_quote!(#[serde(rename(deserialize = "to"))]);
        assert_eq!(name(&[read], &[]), "e_mail2_address");
    }

    #[test]
    fn rules_for_variants_are_those_of_serde() {
        for (rule, expected) in [
            ("lowercase", "httpcall2b"),
            ("UPPERCASE", "HTTPCALL2B"),
            ("PascalCase", "HTTPCall2B"),
            ("camelCase", "hTTPCall2B"),
            ("snake_case", "h_t_t_p_call2_b"),
            ("SCREAMING_SNAKE_CASE", "H_T_T_P_CALL2_B"),
            ("kebab-case", "h-t-t-p-call2-b"),
            ("SCREAMING-KEBAB-CASE", "H-T-T-P-CALL2-B"),
        ] {
            let all = SerdeNames::read(&[parse_quote!(#[serde(rename_all = #rule)])]);
            assert_eq!(SerdeNames::default().of_variant("HTTPCall2B", &all), expected);
            let own = SerdeNames::read(&[parse_quote!(#[serde(rename = "own")])]);
            assert_eq!(own.of_variant("HTTPCall2B", &all), "own");
        }
    }

    #[test]
    fn a_field_is_plain_if_json_has_it_as_rust_has_it() {
        let is_plain = |field: Attribute, all: Attribute| {
            SerdeNames::read(&[field]).is_plain("order_id", &SerdeNames::read(&[all]))
        };
        let nothing: Attribute = parse_quote!(#[serde()]);
        assert!(is_plain(nothing.clone(), nothing.clone()));
        assert!(is_plain(
            parse_quote!(#[serde(default, alias = "id")]),
            parse_quote!(#[serde(rename_all = "snake_case")])
        ));
        for field in [
            parse_quote!(#[serde(rename = "id")]),
            parse_quote!(#[serde(deserialize_with = "trimmed")]),
            parse_quote!(#[serde(with = "trimmed")]),
            parse_quote!(#[serde(skip)]),
            parse_quote!(#[serde(flatten)]),
        ] {
            assert!(!is_plain(field, nothing.clone()));
        }
        for all in
            [parse_quote!(#[serde(rename_all = "camelCase")]), parse_quote!(#[serde(try_from = "Raw")])]
        {
            assert!(!is_plain(nothing.clone(), all));
        }
    }
}
