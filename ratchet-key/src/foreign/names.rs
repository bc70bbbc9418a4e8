//! Names of other languages, compared without regard to how they are written.

use crate::lexicon::List;

/// Whether a list holds a name: `randomUUID`, `RandomUuid` and `random_uuid` are one.
pub(super) fn holds(list: List, name: &str) -> bool {
    list.split(", ").any(|entry| same(entry, name))
}

/// The two names of a pair such as `time.current` are the last ones of the path.
pub(super) fn holds_pair(list: List, owner: &str, name: &str) -> bool {
    list.split(", ")
        .filter_map(|entry| entry.split_once('.'))
        .any(|pair| same(pair.0, owner) && same(pair.1, name))
}

fn same(listed: &str, name: &str) -> bool {
    letters(listed).eq(letters(name))
}

fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|char| *char != '_').map(|char| char.to_ascii_lowercase())
}

/// Whether one of the words ends the name: `date` ends `dueDate` and `due_date`, but not `candidate`.
pub(super) fn ends_in(words: List, name: &str) -> bool {
    words.split(", ").any(|word| {
        let parts = name.len().checked_sub(word.len()).and_then(|at| name.split_at_checked(at));
        parts.is_some_and(|(front, end)| {
            let is_apart = front.is_empty() || front.ends_with('_') || end.starts_with(char::is_uppercase);
            is_apart && end.eq_ignore_ascii_case(word)
        })
    })
}

/// The name without one of the words at its front: `email` of `get_email` and `getEmail`.
pub(super) fn without_front(words: List, name: &str) -> Option<&str> {
    words.split(", ").find_map(|word| {
        let front = name.get(..word.len()).filter(|front| front.eq_ignore_ascii_case(word))?;
        let rest = name.get(front.len()..)?;
        match rest.strip_prefix('_') {
            Some(rest) => Some(rest),
            None => rest.starts_with(char::is_uppercase).then_some(rest),
        }
    })
}
