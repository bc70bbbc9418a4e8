//! Which calls and fields read a clock or draw a random value.

use crate::finding::Code;
use crate::foreign::expression::{Chain, Part};
use crate::foreign::judge::varies;
use crate::foreign::lists::{
    BARE_CLOCKS, CLOCK_FUNCTIONS, CLOCK_MEMBERS, CLOCKS, DRAWN_IDS, DRAWS, FORMATS, GENERATING, ID_LIBRARIES,
    IDS, KEY_NOUNS, MAKING, RANDOM_FUNCTIONS, RANDOM_SOURCES,
};
use crate::foreign::names::{ends_in, holds, holds_pair, without_front};
use crate::lexicon::judge_name;

/// What a call gives that is another value each time: `R002` or `R003`.
pub(super) fn of_call(path: &[&str], arguments: &[Chain<'_>]) -> Option<Code> {
    let (name, owners) = path.split_last()?;
    if is_random(name, owners, arguments) || draws_id(name, owners, arguments) {
        return Some(Code::R003);
    }
    is_clock(name, owners, arguments).then_some(Code::R002)
}

/// The same for a field, since Ruby and C# call without brackets: `Time.current`, `SecureRandom.uuid`.
pub(super) fn of_field(path: &[&str]) -> Option<Code> {
    let (name, owners) = path.split_last()?;
    let owner = owners.last()?;
    let draws = near(owners).any(|owner| holds(IDS, owner)) && holds(DRAWS, name);
    if draws || holds(RANDOM_SOURCES, owner) && !ends_in("id", name) {
        return Some(Code::R003);
    }
    holds_pair(CLOCK_MEMBERS, owner, name).then_some(Code::R002)
}

/// The names right before a call; what stands further off says little of it, and a path may be long.
fn near<'a>(owners: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    owners.iter().rev().take(4).copied()
}

fn is_random(name: &str, owners: &[&str], arguments: &[Chain<'_>]) -> bool {
    holds(RANDOM_FUNCTIONS, name)
        || near(owners).any(|owner| holds(RANDOM_SOURCES, owner))
        || owners.is_empty() && arguments.is_empty() && generates(name)
}

/// Whether the name speaks of making something new; without a value to make it from, that is random.
fn generates(name: &str) -> bool {
    let makes_key = |rest: &str| ends_in(KEY_NOUNS, rest) || holds(KEY_NOUNS, rest);
    without_front(GENERATING, name).is_some() || without_front(MAKING, name).is_some_and(makes_key)
}

/// Whether an id is drawn, not converted from another value or read from a record.
fn draws_id(name: &str, owners: &[&str], arguments: &[Chain<'_>]) -> bool {
    let owner_is_library = owners.last().is_some_and(|owner| is_id_library(owner));
    if holds(DRAWN_IDS, name) || owner_is_library && holds(DRAWS, name) && ends_in_version(name) {
        return true;
    }
    let made = without_front(MAKING, name).map(|rest| without_front(MAKING, rest).unwrap_or(rest));
    let made = made.is_some_and(|made| holds(IDS, made.trim_end_matches("_string").trim_end_matches("_str")));
    let measured = arguments.iter().all(|argument| argument.parts == [Part::Number]);
    let bare = measured && holds(IDS, name) && (owners.is_empty() || owner_is_library);
    (made || bare || owner_is_library && holds(DRAWS, name)) && !arguments.iter().any(varies)
}

fn is_id_library(owner: &str) -> bool {
    holds(IDS, owner) || holds(ID_LIBRARIES, owner) || ends_in("generator, generators", owner)
}

/// Of the versions that are drawn the arguments do not matter: `v7` takes a clock.
fn ends_in_version(name: &str) -> bool {
    name.ends_with(|last: char| last.is_ascii_digit())
}

fn is_clock(name: &str, owners: &[&str], arguments: &[Chain<'_>]) -> bool {
    let literal = !arguments.iter().any(varies);
    match owners.last() {
        _ if holds(CLOCK_FUNCTIONS, name) => literal,
        None if holds(BARE_CLOCKS, name) => arguments.is_empty() || is_format(arguments),
        None => holds(FORMATS, name) && literal && is_format(arguments),
        Some(_) if near(owners).any(|owner| holds(CLOCKS, owner)) => true,
        Some(owner) if holds_pair(CLOCK_MEMBERS, owner, name) => true,
        Some(owner) if holds("time, posix", owner) && holds(FORMATS, name) => literal,
        Some(owner) => holds(FORMATS, name) && shows_time_of_day(arguments) && !is_business_time(owner),
    }
}

/// A text such as `Ymd` or `%Y-%m-%d`, and no date such as `2024-01-01`.
fn is_format(arguments: &[Chain<'_>]) -> bool {
    matches!(only_text(arguments), Some(text) if !text.contains(|char: char| char.is_ascii_digit()))
}

/// Formats down to the minute are those of clocks; business dates are written in days.
fn shows_time_of_day(arguments: &[Chain<'_>]) -> bool {
    const MARKS: [&str; 8] = ["%H", "%M", "%s", "%S", "%T", "HH", "hh", "His"];
    only_text(arguments).is_some_and(|text| MARKS.iter().any(|mark| text.contains(mark)))
}

/// The lexicon of times knows which of them belong to the action, such as `due_at`.
fn is_business_time(owner: &str) -> bool {
    judge_name(None, &format!("{owner}_at")).is_none()
}

/// The text among the arguments if all of them are literal.
fn only_text<'a>(arguments: &[Chain<'a>]) -> Option<&'a str> {
    match arguments.first()?.parts.as_slice() {
        [Part::Text(text)] if !arguments.iter().any(varies) => Some(text),
        _ => None,
    }
}
