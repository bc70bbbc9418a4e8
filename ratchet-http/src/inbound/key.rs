//! The key in the header `Idempotency-Key`, in the draft's form or in that of practice.

use http::{HeaderMap, HeaderName, HeaderValue};

pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The key that a request carries: the value of the structured-field string (RFC 8941) where it is quoted, as the draft
/// wants it, and the text itself where it is not, as nearly everybody sends it. Both forms of one value are one key.
///
/// # Errors
/// Why it is no key.
pub(super) fn read(headers: &HeaderMap, longest: usize) -> Result<Option<String>, &'static str> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err("it was sent more than once");
    }
    let key = match value.as_bytes().strip_prefix(b"\"") {
        Some(quoted) => unquoted(quoted)?,
        None => bare(value)?,
    };
    match key.len() {
        0 => Err("it is empty"),
        bytes if bytes > longest => Err("it is too long"),
        _ => Ok(Some(key)),
    }
}

/// What stands between the quotation marks, the first of which was read.
fn unquoted(text: &[u8]) -> Result<String, &'static str> {
    let mut key = String::with_capacity(text.len());
    let mut bytes = text.iter().copied();
    loop {
        let byte = match bytes.next() {
            None => return Err("its quotation mark is not closed"),
            Some(b'"') => break,
            Some(b'\\') => match bytes.next() {
                Some(escaped @ (b'"' | b'\\')) => escaped,
                _ => return Err("a backslash in it stands before neither a quotation mark nor a backslash"),
            },
            Some(byte) => byte,
        };
        key.push(visible(byte)?);
    }
    if bytes.next().is_some() {
        return Err("something follows the closing quotation mark");
    }
    Ok(key)
}

fn bare(value: &HeaderValue) -> Result<String, &'static str> {
    let separates = |byte: &u8| matches!(byte, b'"' | b',' | b';');
    if value.as_bytes().iter().any(separates) {
        return Err("outside of quotation marks it has a quotation mark, a comma or a semicolon");
    }
    value.as_bytes().iter().map(|byte| visible(*byte)).collect()
}

fn visible(byte: u8) -> Result<char, &'static str> {
    if byte.is_ascii_graphic() {
        Ok(char::from(byte))
    } else {
        Err("it has characters other than the visible ones of ASCII")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Result<Option<String>, &'static str> {
        let values = values.iter().map(|value| HeaderValue::from_bytes(value.as_bytes()).unwrap());
        read(&values.map(|value| (IDEMPOTENCY_KEY, value)).collect(), 20)
    }

    #[test]
    fn both_forms_of_one_value_are_one_key() {
        for form in ["invoice:7#2!charge", "\"invoice:7#2!charge\""] {
            assert_eq!(of(&[form]), Ok(Some("invoice:7#2!charge".to_owned())), "{form}");
        }
        assert_eq!(of(&[r#""a\"b\\c""#]), Ok(Some(r#"a"b\c"#.to_owned())));
        assert_eq!(of(&[r"a\c"]), Ok(Some(r"a\c".to_owned())));
        assert_eq!(of(&[]), Ok(None));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let refused = [
            "",
            "\"\"",
            "a b",
            "\"a b\"",
            "a,b",
            "a;p=1",
            "\"a\";p=1",
            "\"a\", \"b\"",
            "\"a",
            "a\"",
            "\"a\\n\"",
            "schlüssel",
            "\"schlüssel\"",
            "123456789012345678901",
            "\"123456789012345678901\"",
        ];
        for text in refused {
            assert!(of(&[text]).is_err(), "{text}");
        }
        assert!(of(&["a", "a"]).is_err());
        assert_eq!(of(&["12345678901234567890"]).unwrap().unwrap().len(), 20);
    }
}
