//! Free text in a column of type `text`, which cannot hold a zero byte.

use std::borrow::Cow;

/// Writes a zero byte as `\0` and a backslash as two; what has neither stays as it is.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if text.contains(['\0', '\\']) {
        Cow::Owned(text.replace('\\', "\\\\").replace('\0', "\\0"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Reads what [`escaped`] wrote.
pub(crate) fn unescaped(stored: &str) -> String {
    let mut text = String::with_capacity(stored.len());
    let mut rest = stored.chars();
    while let Some(character) = rest.next() {
        match character {
            '\\' => match rest.next() {
                Some('0') => text.push('\0'),
                Some(other) => text.push(other),
                None => text.push('\\'),
            },
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back() {
        for text in ["", "plain ä", "\0", "\\", "\\0", "\\\\0\0\\", "\0\0\\\\", "0\\n"] {
            let stored = escaped(text);
            assert!(!stored.contains('\0'));
            assert_eq!(unescaped(&stored), text);
        }
        assert_eq!(escaped("O'Neill\0\\"), "O'Neill\\0\\\\");
    }
}
