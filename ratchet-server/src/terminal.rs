//! What people read may hold names and texts of strangers.

/// The text without what would command a terminal or turn the direction of its text: the input is a stranger's.
pub(crate) fn harmless(text: &str) -> String {
    let commands = |char: char| {
        (char.is_control() && char != '\n')
            || matches!(char, '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    text.replace(commands, "\u{FFFD}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strangers_text_does_not_reach_the_terminal_as_a_command() {
        assert_eq!(harmless("a\u{1B}[2Jb\r\u{202E}c\nd"), "a\u{FFFD}[2Jb\u{FFFD}\u{FFFD}c\nd");
        assert_eq!(harmless("schlüssel-<id>"), "schlüssel-<id>");
    }
}
