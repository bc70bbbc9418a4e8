//! Reads an expression of any language into the values that it is made of.
//!
//! Nothing is refused: what is not understood is passed over, so that the names in it are still seen.

use crate::foreign::lexer::{Token, tokens};

/// Brackets within brackets that are read; deeper ones are read as if they were not there.
const MAX_DEPTH: usize = 32;

/// A value with everything that is asked of it: `user.emails[0].trim()`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Chain<'a> {
    pub(super) parts: Vec<Part<'a>>,
    /// Decides between two values and is not part of either: `paid` in `paid ? a : b`.
    pub(super) is_condition: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Name(&'a str),
    Text(&'a str),
    Number,
    /// What stands in round brackets after a name.
    Call(Vec<Chain<'a>>),
    /// What stands in square brackets after a value.
    Index(Vec<Chain<'a>>),
    /// Brackets that begin a value: a group, a list, a map, a block.
    Group(Vec<Chain<'a>>),
}

/// The values of an expression, whichever operators join them.
pub(super) fn read(text: &str) -> Vec<Chain<'_>> {
    let mut reader = Reader { tokens: tokens(text), at: 0, depth: 0 };
    let mut chains = Vec::new();
    // A bracket that closes nothing ends a list; what follows it is read as well.
    while reader.at < reader.tokens.len() {
        chains.extend(reader.list());
    }
    chains
}

struct Reader<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self, ahead: usize) -> Option<Token<'a>> {
        self.tokens.get(self.at + ahead).copied()
    }

    /// Reads up to and past the next bracket that closes.
    fn list(&mut self) -> Vec<Chain<'a>> {
        let mut chains: Vec<Chain<'a>> = Vec::new();
        // Where the current member of the list begins, and where a condition after `if` does.
        let mut member = 0;
        let mut condition = None;
        while let Some(token) = self.peek(0) {
            match token {
                Token::Close => {
                    self.at += 1;
                    break;
                }
                Token::Comma | Token::Operator(":") => {
                    member = chains.len();
                    condition = None;
                }
                Token::Operator("?") if self.is_ternary() => mark_conditions(&mut chains, member),
                Token::Name("if") if chains.len() > member => condition = Some(chains.len()),
                Token::Name("else") => mark_conditions(&mut chains, condition.take().unwrap_or(usize::MAX)),
                // The name of a type follows, which is no value.
                Token::Name("as" | "instanceof") => self.at += 1,
                Token::Name("new") if self.is_keyword("new") => {
                    self.at += 1;
                    chains.extend(self.made());
                    continue;
                }
                Token::Name(word) if self.is_keyword(word) => {}
                Token::Name(_) | Token::Text(_) | Token::Number | Token::Open(_) => {
                    chains.push(self.chain());
                    continue;
                }
                Token::Member | Token::Operator(_) => {}
            }
            self.at += 1;
        }
        chains
    }

    fn chain(&mut self) -> Chain<'a> {
        let mut chain = Chain::default();
        // A literal or a group begins a value; only members, calls and indexes go on with it.
        let mut expects_member = true;
        while let Some(token) = self.peek(0) {
            let part = match token {
                Token::Name(name) if expects_member => Part::Name(name),
                Token::Text(text) if chain.parts.is_empty() => Part::Text(text),
                Token::Number if chain.parts.is_empty() => Part::Number,
                Token::Open(bracket) => {
                    let follows = !chain.parts.is_empty();
                    if follows && bracket == '{' {
                        break;
                    }
                    self.at += 1;
                    let inner = self.nested();
                    match bracket {
                        '(' if follows => chain.parts.push(Part::Call(inner)),
                        '[' if follows => chain.parts.push(Part::Index(inner)),
                        _ => chain.parts.push(Part::Group(inner)),
                    }
                    expects_member = false;
                    continue;
                }
                Token::Member if !expects_member => {
                    self.at += 1;
                    expects_member = true;
                    continue;
                }
                // `format!(…)`, and `value!.member` of TypeScript.
                Token::Operator("!") if matches!(self.peek(1), Some(Token::Open(_) | Token::Member)) => {
                    self.at += 1;
                    continue;
                }
                _ => break,
            };
            chain.parts.push(part);
            self.at += 1;
            expects_member = false;
        }
        chain
    }

    /// What follows `new`; without brackets it is called all the same, as in `+new Date`.
    fn made(&mut self) -> Option<Chain<'a>> {
        let begins = matches!(self.peek(0), Some(Token::Name(_)));
        let mut chain = begins.then(|| self.chain())?;
        if chain.parts.iter().all(|part| matches!(part, Part::Name(_))) {
            chain.parts.push(Part::Call(Vec::new()));
        }
        Some(chain)
    }

    fn nested(&mut self) -> Vec<Chain<'a>> {
        if self.depth >= MAX_DEPTH {
            return Vec::new();
        }
        self.depth += 1;
        let inner = self.list();
        self.depth -= 1;
        inner
    }

    /// Whether the `?` at hand chooses between two values; Rust's ends one.
    fn is_ternary(&self) -> bool {
        !matches!(self.peek(1), None | Some(Token::Close | Token::Comma | Token::Member | Token::Operator(_)))
    }

    /// Words between values; where no value can follow they are names like any other.
    fn is_keyword(&self, word: &str) -> bool {
        const KEYWORDS: [&str; 10] =
            ["new", "await", "async", "return", "typeof", "mut", "and", "or", "not", "in"];
        KEYWORDS.contains(&word) && !matches!(self.peek(1), None | Some(Token::Member | Token::Close))
    }
}

fn mark_conditions(chains: &mut [Chain<'_>], from: usize) {
    for chain in chains.iter_mut().skip(from) {
        chain.is_condition = true;
    }
}
