//! The tokens of a body, as a tree that is read once.

use std::cell::OnceCell;
use std::ops::Range;

use proc_macro2::{Delimiter, Ident, Literal, Spacing, TokenTree};
use syn::buffer::Cursor;

/// Brackets within brackets that are looked into; nobody writes as many.
const DEEPEST: usize = 64;

pub(crate) enum Token {
    /// An identifier, and its text without `r#`.
    Word(Ident, String),
    /// One character, and whether the next one belongs to it.
    Mark(char, Spacing),
    Text(Literal),
    Group(Delimiter, Vec<Token>),
}

/// Everything that is left, and where that ends.
pub(crate) fn read(cursor: Cursor<'_>) -> (Vec<Token>, Cursor<'_>) {
    read_at(cursor, 0)
}

/// Passes over the tokens.
pub(crate) fn skip(mut cursor: Cursor<'_>) -> (Vec<Token>, Cursor<'_>) {
    loop {
        if let Some((.., rest)) = cursor.any_group() {
            cursor = rest;
        } else if let Some((_, rest)) = cursor.token_tree() {
            cursor = rest;
        } else {
            return (Vec::new(), cursor);
        }
    }
}

fn read_at(mut cursor: Cursor<'_>, depth: usize) -> (Vec<Token>, Cursor<'_>) {
    let mut tokens = Vec::new();
    loop {
        if let Some((inside, delimiter, _, rest)) = cursor.any_group() {
            let inside = if depth < DEEPEST { read_at(inside, depth + 1).0 } else { Vec::new() };
            tokens.push(Token::Group(delimiter, inside));
            cursor = rest;
        } else if let Some((tree, rest)) = cursor.token_tree() {
            tokens.extend(token(tree));
            cursor = rest;
        } else {
            return (tokens, cursor);
        }
    }
}

fn token(tree: TokenTree) -> Option<Token> {
    Some(match tree {
        TokenTree::Ident(ident) => {
            let text = ident.to_string();
            let text = text.strip_prefix("r#").map(str::to_owned).unwrap_or(text);
            Token::Word(ident, text)
        }
        TokenTree::Punct(punct) => Token::Mark(punct.as_char(), punct.spacing()),
        TokenTree::Literal(literal) => Token::Text(literal),
        // They have been taken before.
        TokenTree::Group(_) => return None,
    })
}

/// The tokens between two brackets. A token that is asked for outside of them is none.
pub(super) struct Scope<'a> {
    tokens: &'a [Token],
    delimiter: Delimiter,
    /// What stands around the brackets, and where they stand in it.
    outer: Option<(&'a Scope<'a>, usize)>,
    /// Where a name may get a meaning; sought once, since most scopes are never asked.
    binders: OnceCell<Vec<usize>>,
}

impl<'a> Scope<'a> {
    pub(super) fn whole(tokens: &'a [Token]) -> Self {
        Self { tokens, delimiter: Delimiter::None, outer: None, binders: OnceCell::new() }
    }

    /// What is between the brackets that stand at `at`.
    pub(super) fn inside(&'a self, at: usize) -> Option<Self> {
        match self.token(at)? {
            Token::Group(delimiter, tokens) => Some(Self {
                tokens,
                delimiter: *delimiter,
                outer: Some((self, at)),
                binders: OnceCell::new(),
            }),
            _ => None,
        }
    }

    pub(super) fn outer(&self) -> Option<(&'a Self, usize)> {
        self.outer
    }

    /// The places before `before` where a name may get a meaning, the nearest first.
    pub(super) fn binders(&self, before: usize) -> impl Iterator<Item = usize> {
        let all = || (0..self.len()).filter(|at| self.is_binder(*at)).collect();
        self.binders.get_or_init(all).iter().rev().copied().filter(move |at| *at < before)
    }

    fn is_binder(&self, at: usize) -> bool {
        match self.token(at) {
            Some(Token::Word(_, word)) => matches!(word.as_str(), "let" | "for") || self.begins_assign(at),
            Some(Token::Mark('|', _)) => true,
            Some(Token::Mark('=', _)) => self.is_arrow(at),
            _ => false,
        }
    }

    /// Whether a statement `name = …` begins here.
    pub(super) fn begins_assign(&self, at: usize) -> bool {
        let begins = match at.checked_sub(1) {
            None => true,
            Some(before) => self.is_mark(before, ';') || self.has_group(before, Delimiter::Brace),
        };
        begins && self.is_assign(at + 1)
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(super) fn delimiter(&self) -> Delimiter {
        self.delimiter
    }

    pub(super) fn token(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at)
    }

    /// The token `by` places before.
    pub(super) fn back(&self, at: usize, by: usize) -> Option<&Token> {
        at.checked_sub(by).and_then(|at| self.token(at))
    }

    pub(super) fn word(&self, at: usize) -> Option<&str> {
        word(self.token(at))
    }

    pub(super) fn word_back(&self, at: usize, by: usize) -> Option<&str> {
        word(self.back(at, by))
    }

    pub(super) fn has_group(&self, at: usize, delimiter: Delimiter) -> bool {
        matches!(self.token(at), Some(Token::Group(of, _)) if *of == delimiter)
    }

    pub(super) fn is_mark(&self, at: usize, char: char) -> bool {
        is_mark(self.token(at), char)
    }

    pub(super) fn is_mark_back(&self, at: usize, by: usize, char: char) -> bool {
        is_mark(self.back(at, by), char)
    }

    /// `::`.
    pub(super) fn is_path(&self, at: usize) -> bool {
        self.is_mark(at, ':') && self.is_mark(at + 1, ':')
    }

    /// Whether the name at `at` is the last one of a longer path.
    pub(super) fn ends_path(&self, at: usize) -> bool {
        at.checked_sub(2).is_some_and(|colons| self.is_path(colons))
    }

    /// The colon of `name: value`.
    pub(super) fn is_colon(&self, at: usize) -> bool {
        self.is_mark(at, ':') && !self.is_mark(at + 1, ':') && !self.is_mark_back(at, 1, ':')
    }

    /// The `=` of `name = value`.
    pub(super) fn is_assign(&self, at: usize) -> bool {
        let joined = |token: Option<&Token>| matches!(token, Some(Token::Mark(_, Spacing::Joint)));
        matches!(self.token(at), Some(Token::Mark('=', Spacing::Alone))) && !joined(self.back(at, 1))
    }

    /// `=>`.
    pub(super) fn is_arrow(&self, at: usize) -> bool {
        self.is_mark(at, '=') && self.is_mark(at + 1, '>')
    }

    /// The first of the marks within the range.
    pub(super) fn find(&self, mut range: Range<usize>, marks: &[char]) -> Option<usize> {
        range.find(|at| matches!(self.token(*at), Some(Token::Mark(char, _)) if marks.contains(char)))
    }

    /// The pieces of the range between commas and semicolons.
    pub(super) fn pieces(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut pieces = Vec::new();
        let mut start = range.start;
        while let Some(end) = self.find(start..range.end, &[',', ';']) {
            pieces.push(start..end);
            start = end + 1;
        }
        pieces.push(start..range.end);
        pieces
    }

    /// Whether the brackets are those of a macro; its name, if so.
    pub(super) fn macro_name(&self) -> Option<&str> {
        let (outer, at) = self.outer?;
        outer.is_mark_back(at, 1, '!').then(|| outer.word_back(at, 2))?
    }
}

fn word(token: Option<&Token>) -> Option<&str> {
    match token? {
        Token::Word(_, text) => Some(text),
        _ => None,
    }
}

fn is_mark(token: Option<&Token>, char: char) -> bool {
    matches!(token, Some(Token::Mark(mark, _)) if *mark == char)
}

/// Whether a name is that of a type, a variant or a constant.
pub(super) fn is_upper(name: &str) -> bool {
    name.starts_with(|char: char| char.is_uppercase())
}
