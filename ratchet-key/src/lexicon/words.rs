//! Splits a name into lower-case words.

/// The words of a name, split at case changes, digits and everything that is not a letter.
///
/// Digits are dropped: `address2` is an address. A run of capitals is one word: `userID`, `HTTPHeader`.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut chars = name.chars().peekable();
    let mut previous: Option<char> = None;
    while let Some(char) = chars.next() {
        if starts_word(previous, char, chars.peek().copied()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if char.is_alphabetic() {
            word.extend(char.to_lowercase());
        }
        previous = Some(char);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn starts_word(previous: Option<char>, char: char, next: Option<char>) -> bool {
    let Some(previous) = previous else { return true };
    if !char.is_alphabetic() || !previous.is_alphabetic() {
        return true;
    }
    // `userId` at the `I`; `HTTPHeader` at the second `H`, the last capital before a small letter.
    char.is_uppercase() && (!previous.is_uppercase() || next.is_some_and(char::is_lowercase))
}

/// The singular of an English word, near enough to compare entities: `addresses`, `allergies`, `users`.
pub(super) fn singular(mut word: String) -> String {
    let ends = |ending: &str| word.ends_with(ending);
    if word.len() <= 3 || !ends("s") || ["ss", "us", "is"].into_iter().any(ends) {
        return word;
    }
    if ends("ies") {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if ["sses", "xes", "ches", "shes"].into_iter().any(ends) {
        word.truncate(word.len() - 2);
    } else {
        word.pop();
    }
    word
}

#[cfg(test)]
mod tests {
    use super::{singular, words};

    #[test]
    fn plurals_of_tables() {
        for (word, expected) in [
            ("users", "user"),
            ("addresses", "address"),
            ("allergies", "allergy"),
            ("boxes", "box"),
            ("address", "address"),
            ("status", "status"),
            ("diagnosis", "diagnosis"),
            ("obs", "obs"),
        ] {
            assert_eq!(singular(word.to_owned()), expected);
        }
    }

    #[test]
    fn names_are_split_at_case_changes_digits_and_separators() {
        for (name, expected) in [
            ("receive_count", "receive count"),
            ("receiveCount", "receive count"),
            ("ReceiveCount", "receive count"),
            ("RECEIVE_COUNT", "receive count"),
            ("userID", "user id"),
            ("HTTPHeader", "http header"),
            ("address2", "address"),
            ("pax1name", "pax name"),
            ("__private", "private"),
            ("country", "country"),
            ("straße", "straße"),
            ("42", ""),
        ] {
            assert_eq!(words(name).join(" "), expected, "{name}");
        }
    }
}
