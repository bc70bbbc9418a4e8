//! From text to segments: cuts the text at angle brackets and checks each piece.

use crate::encode::is_literal;
use crate::finding::{Code, Finding, visible};
use crate::limits::MAX_TEMPLATE_BYTES;
use crate::template::path::read_path;
use crate::template::{Segment, Span, shape};

/// Reads a template; all findings at once, in order of position.
pub(crate) fn parse(text: &str) -> Result<Vec<Segment>, Vec<Finding>> {
    if text.len() > MAX_TEMPLATE_BYTES {
        return Err(vec![too_long(text.len())]);
    }
    let mut parser = Parser { at: 0, segments: Vec::new(), findings: Vec::new() };
    parser.read(text);
    let Parser { segments, mut findings, .. } = parser;
    findings.extend(shape::check(&segments, text));
    // Stable, so that findings at one place stay in the order in which they were made.
    findings.sort_by_key(|finding| finding.span.map_or(0, |span| span.start));
    if findings.is_empty() { Ok(segments) } else { Err(findings) }
}

/// A finding about the grammar.
pub(super) fn syntax(span: Span, message: impl Into<String>, help: impl Into<String>) -> Finding {
    Finding {
        code: Code::R007,
        span: Some(span),
        placeholder: None,
        word: None,
        category: None,
        message: message.into(),
        help: help.into(),
    }
}

fn too_long(bytes: usize) -> Finding {
    Finding {
        span: None,
        ..syntax(
            Span { start: 0, end: 0 },
            format!("the template has {bytes} bytes and {MAX_TEMPLATE_BYTES} are allowed"),
            "a key has at most 255 bytes; keep the fixed words short and name only what identifies the action",
        )
    }
}

struct Parser {
    /// The byte position of what is read next.
    at: usize,
    segments: Vec<Segment>,
    findings: Vec<Finding>,
}

impl Parser {
    fn read(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let length = if rest.starts_with('<') { self.placeholder(rest) } else { self.literal(rest) };
            self.at += length;
            rest = rest.get(length..).unwrap_or_default();
        }
    }

    fn report(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.findings.push(syntax(span, message, help));
    }

    /// Reads the placeholder that `rest` begins with and gives its length.
    fn placeholder(&mut self, rest: &str) -> usize {
        if let Some(length) = nested_length(rest) {
            return self.nested(rest.get(..length).unwrap_or_default());
        }
        let Some(length) = placeholder_length(rest) else {
            return self.unclosed(rest);
        };
        let span = Span { start: self.at, end: self.at + length };
        let inner = rest.get(1..length - 1).unwrap_or_default();
        let path = read_path(inner).unwrap_or_else(|fault| {
            self.report(span, fault.message, fault.help);
            // Stands in for the placeholder, so that its neighbours are judged as if it were sound.
            Vec::new()
        });
        self.segments.push(Segment::Placeholder { path, span });
        length
    }

    /// Brackets within brackets, such as `<<id>>`: one mistake, however many brackets there are.
    fn nested(&mut self, whole: &str) -> usize {
        let span = Span { start: self.at, end: self.at + whole.len() };
        let doubled = read_path(whole.trim_matches(['<', '>'])).ok();
        let name = doubled.map_or_else(|| "invoice_id".to_owned(), |path| path.join("."));
        self.report(
            span,
            format!("`{}` has brackets within brackets, and a placeholder is one name", visible(whole)),
            format!("name a parameter or a field of the input: `<{name}>`"),
        );
        self.segments.push(Segment::Placeholder { path: Vec::new(), span });
        whole.len()
    }

    /// A `<` without its `>`: reported with what looks like the name.
    fn unclosed(&mut self, rest: &str) -> usize {
        let is_name = |char: char| char.is_alphanumeric() || matches!(char, '_' | '.');
        let name = rest.get(1..).unwrap_or_default();
        let name = name.split(|char| !is_name(char)).next().unwrap_or_default();
        let length = 1 + name.len();
        let span = Span { start: self.at, end: self.at + length };
        let shown = if name.is_empty() { "name".to_owned() } else { visible(name) };
        self.report(span, "this placeholder is not closed", format!("write `<{shown}>`"));
        self.segments.push(Segment::Placeholder { path: Vec::new(), span });
        length
    }

    /// Reads literal text up to the next `<` and gives its length.
    fn literal(&mut self, rest: &str) -> usize {
        let text = rest.split('<').next().unwrap_or_default();
        let span = Span { start: self.at, end: self.at + text.len() };
        let mut offset = 0;
        while let Some(tail) = text.get(offset..).filter(|tail| !tail.is_empty()) {
            offset += self.literal_run(tail, self.at + offset);
        }
        self.segments.push(Segment::Literal { text: text.to_owned(), span });
        text.len()
    }

    /// Takes a run of characters of one kind off the front, and reports it unless it is sound.
    fn literal_run(&mut self, tail: &str, start: usize) -> usize {
        if let Some(braces) = braces(tail) {
            let inside = braces.trim_matches(['{', '}', '$']).split(':').next().unwrap_or_default().trim();
            let shown = read_path(inside).map_or_else(|_| "name".to_owned(), |path| path.join("."));
            let span = Span { start, end: start + braces.len() };
            self.report(
                span,
                format!(
                    "`{}` is written in braces, and placeholders are written in angle brackets",
                    visible(braces)
                ),
                format!("write `<{shown}>`"),
            );
            return braces.len();
        }
        let kind = tail.chars().next().map_or(Kind::Sound, Kind::of);
        let run: usize = tail.chars().take_while(|char| Kind::of(*char) == kind).map(char::len_utf8).sum();
        let text = tail.get(..run).unwrap_or_default();
        if let Some((message, help)) = kind.complaint(text) {
            self.report(Span { start, end: start + run }, message, help);
        }
        // Every run has at least one character, so the loops above end.
        run.max(1)
    }
}

/// The length of what `rest` begins with up to the `>` of its first `<`, if there are brackets in between.
fn nested_length(rest: &str) -> Option<usize> {
    let (mut depth, mut deepest) = (0_usize, 0);
    for (at, char) in rest.char_indices() {
        match char {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = depth.max(deepest);
        if depth == 0 {
            return (deepest > 1).then_some(at + 1);
        }
    }
    None
}

/// The length of the placeholder that `rest` begins with, brackets included.
fn placeholder_length(rest: &str) -> Option<usize> {
    let body = rest.get(1..)?;
    let body = body.split('<').next()?;
    let first = body.find('>')?;
    // A format such as `<id:>8>` holds a bracket itself; take all of it, to report it once.
    let formatted = body.get(..first)?.ends_with(':');
    let last = if formatted { body.rfind('>')? } else { first };
    Some(last + 2)
}

/// The `{name}`, `${name}` or `{{name}}` that the text begins with.
fn braces(text: &str) -> Option<&str> {
    let from = text.find('{').filter(|at| matches!(text.get(..*at), Some("" | "$")))?;
    let close = from + text.get(from..)?.find('}')?;
    let extra = text.get(close + 1..)?.chars().take_while(|char| *char == '}').count();
    text.get(..=close + extra)
}

/// What a character of literal text is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sound,
    StrayBracket,
    UpperCase,
    WhiteSpace,
    Control,
    Brace,
    NonAscii,
    Other,
}

impl Kind {
    fn of(char: char) -> Self {
        match char {
            '>' => Self::StrayBracket,
            '{' | '}' => Self::Brace,
            'A'..='Z' => Self::UpperCase,
            _ if char.is_control() => Self::Control,
            _ if char.is_whitespace() => Self::WhiteSpace,
            _ if !char.is_ascii() => Self::NonAscii,
            _ if u8::try_from(char).is_ok_and(is_literal) => Self::Sound,
            _ => Self::Other,
        }
    }

    /// Message and help for a run of such characters; `None` if they are sound.
    fn complaint(self, run: &str) -> Option<(String, String)> {
        const ALPHABET: &str = "literal text is made of `a-z`, `0-9` and `_ . : / -`";
        let shown = visible(run);
        let (message, help) = match self {
            Self::Sound => return None,
            Self::StrayBracket => (
                "this `>` closes nothing".to_owned(),
                "remove it, or put `<` before the name that it should close".to_owned(),
            ),
            Self::Brace => (
                "a brace has no meaning in a template".to_owned(),
                "write a placeholder as `<name>`, or remove the brace".to_owned(),
            ),
            Self::UpperCase => (
                format!(
                    "`{shown}` is in upper case, and literal text is lower case so that one key has one spelling"
                ),
                "write literal text in lower case; names of placeholders keep their case".to_owned(),
            ),
            Self::WhiteSpace => {
                ("white space cannot stand in a key".to_owned(), "use `-` or `_` between words".to_owned())
            }
            Self::Control => (
                "a control character cannot stand in a key".to_owned(),
                "remove it; it is shown here by its picture".to_owned(),
            ),
            Self::NonAscii => (
                format!("`{shown}` is outside ASCII, and many destinations refuse such a key"),
                format!("{ALPHABET}; values may hold any text, they are percent-encoded"),
            ),
            Self::Other => {
                (format!("`{shown}` cannot stand in the literal text of a key"), ALPHABET.to_owned())
            }
        };
        Some((message, help))
    }
}
