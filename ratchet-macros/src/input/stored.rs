//! What is said of personal data and credentials in an input.

use proc_macro2::{Span, TokenStream};
use ratchet_key::NameFinding;

use crate::errors::{warning, with_help};

/// R005: an error, since inputs are stored.
pub(crate) fn credential(kind: &str, name: &str, found: &NameFinding, permission: &str) -> String {
    let message = format!(
        "{}: `{}` in the {kind} `{name}` is a credential, and inputs are stored with the record and shown to operators",
        found.code, found.word
    );
    let help = format!(
        "store it elsewhere and pass its id, or take a client that holds it as `State<T>`; if the name misleads: \
         `{permission}`"
    );
    with_help(message, help)
}

/// R013: a warning.
pub(crate) fn personal(
    span: Span,
    kind: &str,
    name: &str,
    found: &NameFinding,
    permission: &str,
) -> TokenStream {
    let category = found.category.map_or("personal data", |category| match category {
        ratchet_key::Category::FinancialAccount => "the number of a card or an account",
        ratchet_key::Category::Health => "data on somebody's health",
        _ => "personal data",
    });
    let message = format!(
        "R013: `{}` in the {kind} `{name}` is {category}, and inputs are stored with the record and shown to operators",
        found.word
    );
    let help = format!(
        "mark the {kind} `#[pii]`, and it is shown as `[redacted]`; or pass the id of the record that holds it; if the \
         name misleads: `{permission}`"
    );
    warning(span, "PERSONAL_DATA", &with_help(message, help))
}
