//! Judges the values of an expression.

use crate::finding::Code;
use crate::foreign::expression::{self, Chain, Part};
use crate::foreign::lists::{
    ATTEMPT_LITERALS, CONSTANTS, CONVERSIONS, COUNTERS, DERIVED_IDS, FIELD_FORMS, IDS, MAIL_LITERALS,
    MODULES, PURE_MODULES, READERS, READING, RECIPIENTS, TIME_FORMS, TIME_WORDS,
};
use crate::foreign::names::{ends_in, holds, without_front};
use crate::foreign::source;
use crate::lexicon::{NameFinding, found, judge_name};

/// Texts within expressions within texts that are read.
const MAX_NESTED_TEXTS: usize = 3;

/// What the values of an expression give away, in order.
pub(super) fn judge(chains: &[Chain<'_>]) -> Vec<NameFinding> {
    let mut judge = Judge::default();
    judge.chains(chains);
    judge.found
}

#[derive(Default)]
struct Judge {
    found: Vec<NameFinding>,
    nested_texts: usize,
}

impl Judge {
    fn chains(&mut self, chains: &[Chain<'_>]) {
        for chain in chains {
            let before = self.found.len();
            self.chain(chain);
            if chain.is_condition {
                // What only decides is not in the key; but one that changes between attempts changes the key.
                let decided = self.found.split_off(before);
                self.found.extend(decided.into_iter().filter(|found| found.code < Code::R004));
            }
        }
    }

    fn chain(&mut self, chain: &Chain<'_>) {
        let mut path = Vec::new();
        let mut is_fresh = false;
        for part in &chain.parts {
            match part {
                Part::Name(name) => path.push(*name),
                Part::Number => {}
                Part::Text(text) => self.text(text),
                Part::Group(inner) => self.chains(inner),
                Part::Index(inner) => path.extend(first_text(inner)),
                // Whatever form a fresh value is brought into, it stays fresh.
                Part::Call(arguments) if is_fresh => self.chains(arguments),
                Part::Call(arguments) => is_fresh = self.call(&mut path, arguments),
            }
        }
        if !is_fresh {
            self.path(&path);
        }
    }

    /// Judges a call; `path` becomes the way to what it gives. True if that is another value each time.
    fn call<'a>(&mut self, path: &mut Vec<&'a str>, arguments: &[Chain<'a>]) -> bool {
        if let Some(code) = source::of_call(path, arguments) {
            self.found.extend(found(code, path.join(".")));
            return true;
        }
        let Some(callee) = path.pop() else {
            self.chains(arguments);
            return false;
        };
        if holds(READERS, callee)
            && let Some(read) = first_text(arguments)
        {
            // A header can be a secret where a field of the same name is none.
            path.extend(ends_in("header, headers", callee).then_some(callee));
            path.push(read);
            self.chains(arguments.get(1..).unwrap_or_default());
            return false;
        }
        self.chains(arguments);
        // `uuid(text)` reads an id that is written somewhere.
        let is_id = holds(IDS, callee) && !arguments.is_empty();
        if is_id || is_form(path, callee) {
            // The value is what is given to a module, and already judged.
            let is_given = is_id || arguments.iter().any(varies);
            if is_given && matches!(path.as_slice(), [module] if holds(MODULES, module)) {
                path.clear();
            }
        } else {
            path.push(without_front(READING, callee).unwrap_or(callee));
        }
        false
    }

    fn path(&mut self, path: &[&str]) {
        let mut path = path;
        while let Some((last, before)) = path.split_last() {
            if let Some(code) = source::of_field(path) {
                self.found.extend(found(code, path.join(".")));
                return;
            }
            if before.is_empty() || !holds(FIELD_FORMS, last) {
                let entity = before.join(".");
                self.found.extend(judge_name((!entity.is_empty()).then_some(entity.as_str()), last));
                return;
            }
            path = before;
        }
    }

    /// Judges what is written into a text: `${user.email}`, `#{attempt}`, `{now}`, `$now`.
    fn text(&mut self, text: &str) {
        if self.nested_texts == MAX_NESTED_TEXTS {
            return;
        }
        self.nested_texts += 1;
        for inner in written_in(text) {
            self.chains(&expression::read(inner));
        }
        self.nested_texts -= 1;
    }
}

/// The expressions in a text: those in braces, and the names after a `$`, as Kotlin and PHP have them.
fn written_in(text: &str) -> impl Iterator<Item = &str> {
    let in_braces = text.split('{').skip(1).map(|opened| opened.split('}').next().unwrap_or_default());
    in_braces.chain(text.split('$').skip(1).filter_map(name_at_start))
}

fn name_at_start(text: &str) -> Option<&str> {
    let belongs = |char: char| char.is_alphanumeric() || char == '_';
    let length = text.find(|char| !belongs(char)).unwrap_or(text.len());
    text.get(..length).filter(|name| name.starts_with(|first: char| first.is_alphabetic() || first == '_'))
}

/// Whether the callee gives the value at the end of `path` in another form.
fn is_form(path: &[&str], callee: &str) -> bool {
    let is_clock = |name| judge_name(None, name).is_some_and(|found| found.code == Code::R002);
    let of_time =
        || path.last().is_none_or(|last| holds(MODULES, last) || ends_in(TIME_WORDS, last) || is_clock(last));
    holds(CONVERSIONS, callee) || holds(DERIVED_IDS, callee) || holds(TIME_FORMS, callee) && of_time()
}

fn first_text<'a>(chains: &[Chain<'a>]) -> Option<&'a str> {
    chains.iter().find_map(|chain| match chain.parts.as_slice() {
        [Part::Text(text)] => Some(*text),
        _ => None,
    })
}

/// Whether a value can differ between two records, or two moments.
pub(super) fn varies(chain: &Chain<'_>) -> bool {
    let arguments_vary = |part: &Part<'_>| match part {
        Part::Call(inner) | Part::Group(inner) => inner.iter().any(varies),
        _ => false,
    };
    let is_literal = match chain.parts.as_slice() {
        [Part::Text(text), rest @ ..] => written_in(text).next().is_none() && rest.iter().all(is_conversion),
        [Part::Number | Part::Group(_), ..] => true,
        [Part::Name(name)] => holds(CONSTANTS, name),
        // A digest or a text form of what does not vary, or an id that is written out.
        [Part::Name(callee), Part::Call(_), ..] => holds(CONVERSIONS, callee),
        [Part::Name(module), Part::Name(_), Part::Call(arguments), ..] => {
            holds(PURE_MODULES, module) && !arguments.is_empty()
        }
        [Part::Name(module), .., Part::Name(name)] => holds(PURE_MODULES, module) && holds(CONSTANTS, name),
        _ => false,
    };
    !is_literal || chain.parts.iter().any(arguments_vary)
}

/// Whether what follows a text only changes its form; in PHP a dot may also join it with another value.
fn is_conversion(part: &Part<'_>) -> bool {
    !matches!(part, Part::Name(name) if !holds(CONVERSIONS, name))
}

/// Whether a literal makes the key one of mail to a person.
pub(super) fn speaks_of_mail(literal: &str) -> bool {
    literal.split(|char: char| !char.is_alphabetic()).any(|word| holds(MAIL_LITERALS, word))
}

/// The recipient in a key of mail, as in `email:<job.to>`.
pub(super) fn recipient(chains: &[Chain<'_>]) -> Option<NameFinding> {
    let recipient = chains.iter().find_map(|chain| match chain.parts.as_slice() {
        [.., Part::Name(name)] if holds(RECIPIENTS, name) => Some(*name),
        _ => None,
    })?;
    judge_name(Some("email"), recipient)
}

/// The word for attempts at the end of `literal`, if what follows it counts.
pub(super) fn counted_by(literal: &str, chains: &[Chain<'_>]) -> Option<String> {
    let word = literal.trim_end_matches(|char: char| !char.is_alphanumeric());
    let word = word.rsplit(|char: char| !char.is_alphabetic()).next()?;
    (holds(ATTEMPT_LITERALS, word) && counts(chains)).then(|| word.to_lowercase())
}

/// Whether one counter, and nothing but numbers beside it, makes up the expression.
fn counts(chains: &[Chain<'_>]) -> bool {
    let mut values = chains.iter().filter(|chain| chain.parts != [Part::Number]);
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    match value.parts.as_slice() {
        [Part::Name(form), Part::Call(inner)] if holds(CONVERSIONS, form) => counts(inner),
        [Part::Group(inner)] => counts(inner),
        [.., Part::Name(name)] | [.., Part::Name(name), Part::Call(_)] => holds(COUNTERS, name),
        _ => false,
    }
}
