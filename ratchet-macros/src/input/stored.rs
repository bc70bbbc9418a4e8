//! What is said of personal data and credentials in an input.

use proc_macro2::{Span, TokenStream};
use ratchet_key::NameFinding;

use crate::errors::{warning, with_help};

/// R005, for an error: inputs are stored. `permission` is what to write where the name misleads.
pub(crate) fn stored(kind: &str, name: &str, found: &NameFinding, permission: &str) -> String {
    let NameFinding { code, word, why, help, .. } = found;
    let what = format!("{code}: `{word}` in the {kind} `{name}` {why}");
    with_help(what, format!("{help}; if the name misleads: `{permission}`"))
}

/// R013, a warning.
pub(crate) fn personal(
    span: Span,
    kind: &str,
    name: &str,
    found: &NameFinding,
    permission: &str,
) -> TokenStream {
    warning(span, "PERSONAL_DATA", &stored(kind, name, found, permission))
}
