//! Percent-encoding of values: everything outside `[A-Za-z0-9._~-]`, byte-wise over UTF-8.

use crate::error::PartError;

/// Whether a byte of a value stands for itself.
pub(crate) const fn is_unreserved(byte: u8) -> bool {
    matches!(byte, b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'~' | b'-')
}

/// Whether a byte may stand in the literal text of a template.
pub(crate) const fn is_literal(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b':' | b'/' | b'-')
}

/// The two characters that no encoded value contains: they keep neighbouring values apart.
pub(crate) const SEPARATORS: [char; 2] = [':', '/'];

/// Refuses the values that cannot be an identity.
pub(crate) fn check(value: &str) -> Result<(), PartError> {
    if value.is_empty() {
        Err(PartError::Empty)
    } else if value.chars().any(char::is_control) {
        Err(PartError::ControlCharacter)
    } else if value.trim().len() != value.len() {
        Err(PartError::SurroundingWhiteSpace)
    } else {
        Ok(())
    }
}

/// How many bytes the encoded form takes.
pub(crate) fn encoded_len(value: &str) -> usize {
    value.bytes().map(|byte| if is_unreserved(byte) { 1 } else { 3 }).sum()
}

/// Appends the encoded form.
pub(crate) fn push_encoded(out: &mut String, value: &str) {
    for byte in value.bytes() {
        if is_unreserved(byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(hex_digit(byte >> 4));
            out.push(hex_digit(byte & 0x0F));
        }
    }
}

const fn hex_digit(nibble: u8) -> char {
    (match nibble {
        0..=9 => b'0' + nibble,
        _ => b'A' + (nibble & 0x0F) - 10,
    }) as char
}

/// Reverses the encoding of one stretch of a key; `None` if no encoder would have written it.
///
/// Strict on purpose: lower-case digits, encoded unreserved characters and broken UTF-8 are refused, since
/// each would be a second spelling of some key.
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let decoded = (hex_value(rest.next()?)? << 4) | hex_value(rest.next()?)?;
            if is_unreserved(decoded) {
                return None;
            }
            bytes.push(decoded);
        } else if is_unreserved(byte) {
            bytes.push(byte);
        } else {
            return None;
        }
    }
    String::from_utf8(bytes).ok()
}

const fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(value: &str) -> String {
        let mut out = String::new();
        push_encoded(&mut out, value);
        out
    }

    #[test]
    fn everything_but_the_unreserved_characters_becomes_a_triple() {
        assert_eq!(encode("aZ09._~-"), "aZ09._~-");
        assert_eq!(encode("a:b/c%d e"), "a%3Ab%2Fc%25d%20e");
        assert_eq!(encode("Zoë"), "Zo%C3%AB");
        assert_eq!(encode("👩‍🚀"), "%F0%9F%91%A9%E2%80%8D%F0%9F%9A%80");
    }

    #[test]
    fn the_length_is_known_before_encoding() {
        for value in ["", "abc", "a:b", "Zoë", "%%%"] {
            assert_eq!(encoded_len(value), encode(value).len(), "{value:?}");
        }
    }

    #[test]
    fn only_the_one_spelling_is_decoded() {
        assert_eq!(decode("Zo%C3%AB").as_deref(), Some("Zoë"));
        for refused in ["%", "%4", "%4x", "%c3%ab", "%41", "%C3", "a:b", "ë", "a b"] {
            assert_eq!(decode(refused), None, "{refused:?}");
        }
    }
}
