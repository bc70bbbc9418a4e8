//! Names in generated code.

use std::collections::BTreeSet;

/// Names that are taken.
#[derive(Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// With some that mean something already.
    pub(super) fn without(taken: &[&str]) -> Self {
        Self(taken.iter().map(ToString::to_string).collect())
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// The name, or one like it where it is taken.
    pub(super) fn reserve(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut nth = 2;
        while !self.0.insert(name.clone()) {
            name = format!("{wanted}{nth}");
            nth += 1;
        }
        name
    }
}

/// `collect_invoice.v2` as `CollectInvoiceV2`.
pub(super) fn pascal(text: &str) -> String {
    let words = text.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name: String = words.map(capital).collect();
    if !name.starts_with(|char: char| char.is_ascii_alphabetic()) {
        name.insert(0, 'T');
    }
    name
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(chars).collect()
}

/// `CollectInvoice` as `collectInvoice`.
pub(super) fn camel(pascal: &str) -> String {
    let mut chars = pascal.chars();
    chars.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(chars).collect()
}

/// `CollectInvoiceV2` as `collect_invoice_v2`.
pub(super) fn snake(pascal: &str) -> String {
    let mut name = String::new();
    let mut after_capital = true;
    for char in pascal.chars() {
        if char.is_ascii_uppercase() && !after_capital {
            name.push('_');
        }
        after_capital = char.is_ascii_uppercase();
        name.push(char.to_ascii_lowercase());
    }
    name
}

/// Whether a name can stand in code as it is.
pub(super) fn is_identifier(text: &str) -> bool {
    text.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && text.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_each_language_writes_them() {
        for (text, written) in [
            ("collect_invoice", ["CollectInvoice", "collectInvoice", "collect_invoice"]),
            ("mail.send-2", ["MailSend2", "mailSend2", "mail_send2"]),
            ("2nd", ["T2nd", "t2nd", "t2nd"]),
        ] {
            let name = pascal(text);
            assert_eq!([name.clone(), camel(&name), snake(&name)], written);
        }
    }
}
