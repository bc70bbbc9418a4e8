//! The tokens of an expression, in what most languages share.

use crate::foreign::split::quoted;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Name(&'a str),
    /// The inside of a quoted text, a symbol (`:name`) or a regular expression.
    Text(&'a str),
    Number,
    /// What leads from a value to its member: `.`, `?.`, `&.`, `::`, `->`.
    Member,
    Open(char),
    Close,
    Comma,
    Operator(&'a str),
}

/// Operators of more than one character, the longer ones first. The rest is one character each.
const OPERATORS: [&str; 16] =
    ["===", "!==", "??", "?:", "||", "&&", "==", "!=", "<=", ">=", "=>", "|>", "++", "--", "<<", ">>"];

const MEMBERS: [&str; 6] = ["?->", "?.", "&.", "!.", "::", "->"];

/// The tokens in order; characters of no meaning become operators.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut rest = text;
    let mut is_spaced = false;
    while let Some(char) = rest.chars().next() {
        let (token, length) = if is_spaced && joins_texts(rest) {
            (Some(Token::Operator(".")), 1)
        } else {
            token(rest, char, tokens.last())
        };
        tokens.extend(token);
        is_spaced = char.is_whitespace();
        rest = rest.get(length..).unwrap_or_default();
    }
    tokens
}

/// Whether a dot that follows a space is the one of PHP and Perl between two texts.
fn joins_texts(rest: &str) -> bool {
    rest.strip_prefix('.').is_some_and(|after| after.starts_with(char::is_whitespace))
}

fn token<'a>(rest: &'a str, char: char, before: Option<&Token<'a>>) -> (Option<Token<'a>>, usize) {
    let value_ends = matches!(before, Some(Token::Name(_) | Token::Text(_) | Token::Number | Token::Close));
    if char.is_whitespace() || matches!(char, '$' | '@') {
        return (None, char.len_utf8());
    }
    if is_name_start(char) {
        let name = run(rest, is_name);
        let token = (!is_prefix_of_text(name, rest)).then_some(Token::Name(name));
        return (token, name.len());
    }
    if char.is_ascii_digit() {
        let number = run(rest, is_name);
        return (Some(Token::Number), number.len());
    }
    if matches!(char, '"' | '\'' | '`')
        && let Some(length) = quoted(rest)
    {
        return (Some(Token::Text(inside(rest, length))), length);
    }
    // A slash where a value must begin opens a regular expression.
    if char == '/'
        && !value_ends
        && let Some(length) = quoted(rest)
    {
        return (Some(Token::Text(inside(rest, length))), length);
    }
    if let Some(member) = MEMBERS.iter().find(|member| rest.starts_with(**member)) {
        return (Some(Token::Member), member.len());
    }
    if char == ':' && !value_ends {
        return symbol(rest);
    }
    if let Some(operator) = OPERATORS.iter().find(|operator| rest.starts_with(**operator)) {
        return (Some(Token::Operator(operator)), operator.len());
    }
    let token = match char {
        '.' => Token::Member,
        '(' | '[' | '{' => Token::Open(char),
        ')' | ']' | '}' => Token::Close,
        ',' | ';' => Token::Comma,
        _ => Token::Operator(rest.get(..char.len_utf8()).unwrap_or_default()),
    };
    (Some(token), char.len_utf8())
}

/// `:name` of Ruby and Elixir is a text, unless it stands for a module as in `:rand.uniform()`.
fn symbol(rest: &str) -> (Option<Token<'_>>, usize) {
    let name = run(rest.get(1..).unwrap_or_default(), is_name);
    let length = 1 + name.len();
    let after = rest.get(length..).unwrap_or_default();
    let token = match name {
        "" => Token::Operator(":"),
        _ if after.starts_with('.') => Token::Name(name),
        _ => Token::Text(name),
    };
    (Some(token), length)
}

/// Whether the letters stand right before a quote and say how to read it: `b"…"`, `f'…'`.
fn is_prefix_of_text(name: &str, rest: &str) -> bool {
    let after = rest.get(name.len()..).unwrap_or_default();
    name.len() <= 2 && name.chars().all(|char| "bfruBFRU".contains(char)) && after.starts_with(['"', '\''])
}

fn inside(rest: &str, length: usize) -> &str {
    rest.get(1..length - 1).unwrap_or_default()
}

fn run(text: &str, belongs: fn(char) -> bool) -> &str {
    let length = text.find(|char| !belongs(char)).unwrap_or(text.len());
    text.get(..length).unwrap_or_default()
}

fn is_name_start(char: char) -> bool {
    char.is_alphabetic() || char == '_'
}

fn is_name(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}
