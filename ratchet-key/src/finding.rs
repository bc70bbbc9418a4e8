//! Findings: what is wrong with a key, in the words and the picture of a compiler message.

use std::fmt;
use std::fmt::Write as _;

use crate::lexicon::Category;
use crate::limits::MAX_TEMPLATE_BYTES;
use crate::template::Span;

/// The stable code of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Code {
    /// An attempt, retry or delivery counter in the key.
    R001,
    /// A clock, or the time of an attempt, in the key.
    R002,
    /// A random value in the key.
    R003,
    /// Personal data in the key.
    R004,
    /// A credential in the key or in the input.
    R005,
    /// No part of the key tells records apart.
    R006,
    /// The template does not follow the grammar.
    R007,
    /// A type that has no stable text form.
    R008,
    /// The destination forgets the key before the last automatic retry.
    R009,
    /// Our own record is purged before the replay horizon ends.
    R010,
    /// The destination has no deduplication and no tradeoff is declared.
    R011,
    /// A fresh value or the attempt number is sent as an idempotency key.
    R012,
    /// Personal data in the input that is not acknowledged.
    R013,
    /// Two operations share a name and version, or a template.
    R014,
    /// An attribute key that is unknown, repeated or reserved.
    R015,
}

impl Code {
    /// The finding in a few words.
    ///
    /// ```
    /// use ratchet_key::Code;
    ///
    /// assert_eq!(format!("{}: {}", Code::R001, Code::R001.title()), "R001: attempt counter in the key");
    /// ```
    #[must_use]
    pub fn title(self) -> &'static str {
        self.texts().1
    }

    /// The code as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.texts().0
    }

    fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::R001 => ("R001", "attempt counter in the key"),
            Self::R002 => ("R002", "clock or time in the key"),
            Self::R003 => ("R003", "random value in the key"),
            Self::R004 => ("R004", "personal data in the key"),
            Self::R005 => ("R005", "credential in the key or the input"),
            Self::R006 => ("R006", "key that does not tell records apart"),
            Self::R007 => ("R007", "key template outside the grammar"),
            Self::R008 => ("R008", "type without a stable text form in the key"),
            Self::R009 => ("R009", "destination forgets the key too early"),
            Self::R010 => ("R010", "record is purged too early"),
            Self::R011 => ("R011", "no deduplication and no tradeoff declared"),
            Self::R012 => ("R012", "fresh value sent as an idempotency key"),
            Self::R013 => ("R013", "personal data in the input"),
            Self::R014 => ("R014", "two operations share an identity"),
            Self::R015 => ("R015", "unknown, repeated or reserved attribute key"),
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One thing that is wrong with a key.
///
/// ```
/// use ratchet_key::{Template, inspect};
///
/// let text = "invoice:<attempt>";
/// let findings = inspect(&Template::parse(text).expect("the grammar is kept"));
/// assert_eq!(findings[0].render(text).lines().nth(2), Some("    invoice:<attempt>"));
/// assert_eq!(findings[0].render(text).lines().nth(3), Some("            ^^^^^^^^^"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which kind of finding.
    pub code: Code,
    /// The place in the template text, if there is one.
    pub span: Option<Span>,
    /// The path of the placeholder concerned, without the angle brackets.
    pub placeholder: Option<String>,
    /// The word of the name that fired.
    pub word: Option<String>,
    /// Which kind of personal or secret data it is, for `R004` and `R005`.
    pub category: Option<Category>,
    /// What is wrong and why it matters; lower case, one sentence.
    pub message: String,
    /// How to repair it.
    pub help: String,
}

impl Finding {
    /// The text of a compile error: code, message, the template with carets under the place, help.
    ///
    /// `template` is the text that was parsed. Characters that would spoil the picture (line breaks, tabs,
    /// text direction marks) are shown as one visible character each.
    #[must_use]
    pub fn render(&self, template: &str) -> String {
        let mut out = format!("{}: {}\n\n    {}\n", self.code, self.message, visible(template));
        if let Some(span) = self.span {
            out.push_str("    ");
            push_carets(&mut out, template, span);
            out.push('\n');
        }
        // Writing to a `String` cannot fail.
        let _ = write!(out, "help: {}", self.help);
        out
    }
}

/// The text as it can stand on one line: one visible character for each of the first 512.
pub(crate) fn visible(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_TEMPLATE_BYTES).map(visible_char).collect();
    if text.chars().nth(MAX_TEMPLATE_BYTES).is_some() {
        shown.push('…');
    }
    shown
}

fn visible_char(char: char) -> char {
    match char {
        '\0'..='\u{1F}' => char::from_u32(0x2400 + u32::from(char)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\u{7F}' => '␡',
        '\u{80}'..='\u{9F}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => {
            char::REPLACEMENT_CHARACTER
        }
        _ => char,
    }
}

/// Spaces up to the span, then at least one caret; columns are characters, as in the line above.
fn push_carets(out: &mut String, template: &str, span: Span) {
    let before = template.char_indices().take_while(|(at, _)| *at < span.start).count();
    let under = template.char_indices().filter(|(at, _)| (span.start..span.end).contains(at)).count();
    let before = before.min(MAX_TEMPLATE_BYTES);
    let under = under.clamp(1, MAX_TEMPLATE_BYTES + 1 - before);
    out.extend(std::iter::repeat_n(' ', before));
    out.extend(std::iter::repeat_n('^', under));
}
