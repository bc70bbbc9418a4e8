//! What stands between the angle brackets: `identifier(.identifier)*`.

use crate::finding::visible;

/// Why the inside of a placeholder is not a path.
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) help: String,
}

/// Reads a path, or says what stands there in its place.
pub(super) fn read_path(inner: &str) -> Result<Vec<String>, Fault> {
    if !inner.is_empty() && inner.split('.').all(is_identifier) {
        return Ok(inner.split('.').map(str::to_owned).collect());
    }
    let (message, help) = complaint(inner);
    Err(Fault { message, help })
}

fn is_identifier(text: &str) -> bool {
    let first_is_sound = text.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_');
    first_is_sound && text != "_" && text.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
}

fn complaint(inner: &str) -> (String, String) {
    let shown = visible(inner);
    let squeezed: String = inner.split_whitespace().collect();
    if squeezed.is_empty() {
        (
            "this placeholder names nothing".to_owned(),
            "name a parameter or a field of the input: `<invoice_id>`".to_owned(),
        )
    } else if inner.contains('(') {
        (
            format!("`{shown}` is a call, and a key is made of values that are stored with the record"),
            "name a field of the input; a value that is made anew on each attempt has no place in a key"
                .to_owned(),
        )
    } else if squeezed.len() != inner.len() {
        ("a placeholder is written without spaces".to_owned(), format!("write `<{}>`", visible(&squeezed)))
    } else if inner.contains("::") {
        (
            format!("`{shown}` is a path to an item, and a key is made of values"),
            "name a parameter or a field of the input: `<invoice_id>`".to_owned(),
        )
    } else if let Some((name, _)) = inner.split_once(':') {
        (
            format!("`{shown}` holds a format, and every value has exactly one form in a key"),
            if is_identifier(name) {
                format!("write `<{name}>`")
            } else {
                "name a field: `<invoice_id>`".to_owned()
            },
        )
    } else if inner.contains("r#") {
        (
            format!("`{shown}` holds a raw identifier"),
            format!("write the name without `r#`: `<{}>`", visible(&inner.replace("r#", ""))),
        )
    } else {
        path_complaint(inner, &shown)
    }
}

fn path_complaint(inner: &str, shown: &str) -> (String, String) {
    let piece = inner.split('.').find(|piece| !is_identifier(piece)).unwrap_or_default();
    if piece.is_empty() {
        (
            format!("`{shown}` has a dot with no name beside it"),
            "a path is names joined by single dots: `<customer.id>`".to_owned(),
        )
    } else if piece == "_" {
        (
            "`_` names nothing".to_owned(),
            "name a parameter or a field of the input: `<invoice_id>`".to_owned(),
        )
    } else if piece.starts_with(|char: char| char.is_ascii_digit()) {
        (
            format!("`{shown}` is a position, or begins with a digit, and placeholders are names"),
            "name a parameter or a field of the input: `<invoice_id>`".to_owned(),
        )
    } else {
        (
            format!("`{shown}` is not a name"),
            "a name is made of `A-Z`, `a-z`, `0-9` and `_` and does not begin with a digit".to_owned(),
        )
    }
}
