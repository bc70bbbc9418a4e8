//! How messages are written, checked on every text that is recorded: lower case, no final stop, names in backticks, the
//! repair beside the mistake, nothing that users cannot name.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// How messages of the compiler's own begin. All others are ours.
const COMPILER: [&str; 20] = [
    "`const` items in this context need a name",
    "attempted to take value of method",
    "cannot find",
    "expected expression, found",
    "expected identifier, found",
    "expected type, found",
    "function `never_used` is never used",
    "future cannot be sent between threads safely",
    "literal out of range",
    "mismatched types",
    "no field",
    "private type",
    "struct is not supported",
    "the name `R014_",
    "the trait bound",
    "type mismatch in function arguments",
    "type `Order` is more private than",
    "unexpected token",
    "unused variable",
    "use of deprecated",
];

/// The constants whose use is a warning of the macros.
const WARNED: [&str; 2] = ["::PERSONAL_DATA", "::FRESH_VALUE"];

/// What stands in front of a message that a constant gave.
const EVALUATED: &str = "evaluation panicked: ";

/// One error or warning.
struct Message<'a> {
    /// Such as `E0277`; empty if it is no error of the compiler's.
    code: &'a str,
    text: &'a str,
    /// Everything below, with our own help and that of the compiler.
    below: Vec<&'a str>,
}

impl<'a> Message<'a> {
    fn all(recorded: &'a str) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for line in recorded.lines() {
            if let Some((code, text)) = head(line) {
                all.push(Self { code, text, below: Vec::new() });
            } else if let Some(last) = all.last_mut() {
                last.below.push(line.trim());
            }
        }
        for message in &mut all {
            // The macro's own warnings: what is deprecated is a constant of this name.
            let warned = message
                .text
                .split_once("`: ")
                .filter(|(constant, _)| WARNED.iter().any(|name| constant.ends_with(name)));
            message.text = warned.map_or(message.text, |(_, text)| text);
        }
        all.retain(|message| !COMPILER.iter().any(|own| message.text.starts_with(own)));
        all
    }

    /// Help lines, and the notes of ours that take their place where the compiler writes the message.
    fn repairs(&self) -> Vec<&'a str> {
        let place = self.below.iter().position(|line| line.starts_with("-->")).unwrap_or(self.below.len());
        let (above, after) = self.below.split_at(place);
        let help = above.iter().filter_map(|line| line.strip_prefix("help: "));
        let compilers = ["required for", "required by", "this error originates", "the failure occurred"];
        let notes = after.iter().filter_map(|line| line.strip_prefix("= note: "));
        let notes = notes.filter(|note| !compilers.iter().any(|own| note.starts_with(own)));
        help.chain(notes.filter(|_| self.code == "E0277")).collect()
    }

    fn mistakes(&self) -> Vec<String> {
        let text = self.text.strip_prefix(EVALUATED).unwrap_or(self.text);
        let repairs = self.repairs();
        let mut mistakes: Vec<String> = repairs.iter().copied().chain([text]).flat_map(style).collect();
        let repaired = !repairs.is_empty() || (self.code == "E0080" && text.contains("; "));
        if !repaired {
            mistakes.push(format!("says no repair: {text}"));
        }
        mistakes
    }
}

/// Code and text of a line that begins a message.
fn head(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("error").or_else(|| line.strip_prefix("warning"))?;
    match rest.strip_prefix('[') {
        Some(rest) => rest.split_once("]: "),
        None => rest.strip_prefix(": ").map(|text| ("", text)),
    }
}

/// What is wrong with the style of one sentence.
fn style(sentence: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut judge = |sound: bool, what: &str| {
        if !sound {
            wrong.push(format!("{what}: {sentence}"));
        }
    };
    let (code, said) = sentence.split_once(": ").unwrap_or_default();
    let coded = code.len() == 4 && code.starts_with('R');
    let said = if coded { said } else { sentence };
    judge(!said.starts_with(char::is_uppercase), "begins in upper case");
    judge(!said.ends_with(['.', '!']) || said.ends_with(".."), "ends with a stop");
    judge(said.matches('`').count() % 2 == 0, "has an open backtick");
    judge(
        !["__", "ratchet_core", "ratchet_macros"].iter().any(|name| said.contains(name)),
        "names a private item",
    );
    let bare = bare(said);
    judge(!bare.split_whitespace().any(is_name), "has a name without backticks");
    wrong
}

/// The text without what stands in backticks, and without attributes, which are marked by themselves.
fn bare(text: &str) -> String {
    let mut bare: String = text.split('`').step_by(2).collect::<Vec<_>>().join("x");
    while let Some(start) = bare.find("#[") {
        let end = bare[start..].find(")]").map_or(bare.len(), |length| start + length + 2);
        let end = bare[start..].find(']').map_or(end, |length| end.max(start + length + 1));
        bare.replace_range(start..end, "");
    }
    bare
}

/// Whether a word is code: a path, or words that are joined as names are.
fn is_name(word: &str) -> bool {
    let joined = word.trim_matches(|char: char| !char.is_alphanumeric());
    let humps = joined.chars().skip(1).any(char::is_uppercase) && joined.chars().any(char::is_lowercase);
    joined.contains("::") || joined.contains('_') || humps
}

fn recorded(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            recorded(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "stderr") {
            files.push(path);
        }
    }
}

#[test]
fn messages_keep_one_style() {
    let mut files = Vec::new();
    recorded(Path::new("tests/ui/fail"), &mut files);
    let mut seen = 0;
    let mut wrong = String::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("text");
        for message in Message::all(&text) {
            seen += 1;
            for mistake in message.mistakes() {
                let _ = writeln!(wrong, "{}: {mistake}", file.display());
            }
        }
    }
    assert!(seen > 100, "{seen} messages were read");
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn each_rule_of_style_finds_its_mistake() {
    for (text, rule) in [
        ("R001: Begins high", "begins in upper case"),
        ("ends with a stop.", "ends with a stop"),
        ("has `one backtick", "has an open backtick"),
        ("`ratchet::__private::part` is missing", "names a private item"),
        ("use ratchet::Failure", "has a name without backticks"),
        ("use the `id` of invoice_id", "has a name without backticks"),
        ("implement FromStr", "has a name without backticks"),
    ] {
        assert_eq!(style(text), [format!("{rule}: {text}")]);
    }
    assert_eq!(style("R001: add `invoice_id` to #[derive(Input, FromStr)], a JSON"), Vec::<String>::new());
    let message = |text| Message { code: "", text, below: vec!["--> tests/ui/fail/a.rs:1:1"] };
    assert_eq!(message("it is wrong").mistakes(), ["says no repair: it is wrong"]);
}
