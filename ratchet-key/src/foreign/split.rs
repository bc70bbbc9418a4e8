//! Cuts a template into literal text and placeholder expressions.

use crate::template::Span;

/// One piece of a foreign template.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Text outside the brackets.
    Literal(&'a str),
    /// What stands between the brackets, and where it stands, brackets included.
    Expression(&'a str, Span),
}

/// The pieces in order. A bracket that nothing closes opens a placeholder up to the end of the text.
pub(super) fn split(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    // After one placeholder whose brackets do not match, the rest is read by the next `>`: one look at each byte.
    let mut matching = true;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(open) = rest.find('<') else {
            pieces.push(Piece::Literal(rest));
            break;
        };
        if let Some(literal) = rest.get(..open).filter(|literal| !literal.is_empty()) {
            pieces.push(Piece::Literal(literal));
        }
        let body = rest.get(open + 1..).unwrap_or_default();
        let matched = if matching { matching_close(body) } else { None };
        matching = matched.is_some();
        let close = matched.or_else(|| body.find('>'));
        let inner = close.and_then(|close| body.get(..close)).unwrap_or(body);
        let start = at + open;
        let end = start + 1 + inner.len() + usize::from(close.is_some());
        pieces.push(Piece::Expression(inner, Span { start, end }));
        at = end;
    }
    pieces
}

/// The position of the `>` that closes a placeholder, past quotes, brackets, generics, arrows and comparisons.
fn matching_close(body: &str) -> Option<usize> {
    let mut brackets = Vec::new();
    let mut chars = body.char_indices();
    let mut previous = ' ';
    while let Some((at, char)) = chars.next() {
        let next = chars.clone().next().map_or(' ', |(_, next)| next);
        match char {
            '"' | '\'' | '`' => {
                // A lone apostrophe is a character like any other.
                if let Some(length) = quoted(body.get(at..).unwrap_or_default()) {
                    while chars.clone().next().is_some_and(|(inside, _)| inside < at + length) {
                        chars.next();
                    }
                }
            }
            '(' | '[' | '{' => brackets.push(char),
            ')' | ']' | '}' => {
                brackets.pop();
            }
            '<' if brackets.last().is_none_or(|open| *open == '<') && !previous.is_whitespace() => {
                brackets.push('<');
            }
            '>' if matches!(previous, '-' | '=' | '|') => {}
            '>' => match brackets.last() {
                Some('<') => {
                    brackets.pop();
                }
                Some(_) => {}
                None if previous.is_whitespace() && (next.is_whitespace() || next == '=') => {}
                None => return Some(at),
            },
            _ => {}
        }
        previous = char;
    }
    None
}

/// The length of the quoted text that `text` begins with, quotes included.
pub(super) fn quoted(text: &str) -> Option<usize> {
    let quote = text.chars().next()?;
    let mut escaped = false;
    for (at, char) in text.char_indices().skip(1) {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if char == quote => return Some(at + char.len_utf8()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Piece, split};

    fn expressions(text: &str) -> Vec<&str> {
        let expression = |piece| match piece {
            Piece::Expression(inner, _) => Some(inner),
            Piece::Literal(_) => None,
        };
        split(text).into_iter().filter_map(expression).collect()
    }

    #[test]
    fn a_placeholder_ends_at_the_bracket_that_closes_it() {
        for (text, expected) in [
            ("a-<b>-<c.d>", vec!["b", "c.d"]),
            ("<new Date().toISOString().split(\"T\")[0]>", vec!["new Date().toISOString().split(\"T\")[0]"]),
            ("<s.parse::<Vec<u8>>()>:<b>", vec!["s.parse::<Vec<u8>>()", "b"]),
            ("<$user->email>:<b>", vec!["$user->email", "b"]),
            ("<items.map(x => x.id)>:<b>", vec!["items.map(x => x.id)", "b"]),
            ("<a > b ? a : b>:<c>", vec!["a > b ? a : b", "c"]),
            ("<f(a>b)>:<c>", vec!["f(a>b)", "c"]),
            ("<h['>']>:<c>", vec!["h['>']", "c"]),
            ("<user's name>:<c>", vec!["user's name", "c"]),
            ("<id |> to_string()>:<b>", vec!["id |> to_string()", "b"]),
            ("sha256(<a>|<b>)", vec!["a", "b"]),
        ] {
            assert_eq!(expressions(text), expected, "{text}");
        }
    }

    #[test]
    fn what_nothing_closes_is_read_as_far_as_it_goes() {
        assert_eq!(expressions("a<b"), ["b"]);
        assert_eq!(expressions("<f(a>:<g(b>:<c>"), ["f(a", "g(b", "c"]);
        assert_eq!(expressions("<>"), [""]);
        assert_eq!(expressions("a>b"), Vec::<&str>::new());
    }
}
