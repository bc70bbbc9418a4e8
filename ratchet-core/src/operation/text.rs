//! Messages that are put together while compiling.

use std::time::Duration;

/// A text; what does not fit is cut.
pub(super) struct Text {
    bytes: [u8; Self::LONGEST],
    length: usize,
}

impl Text {
    const LONGEST: usize = 640;

    pub(super) const fn new() -> Self {
        Self { bytes: [0; Self::LONGEST], length: 0 }
    }

    pub(super) const fn push(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        let mut at = 0;
        while at < text.len() && self.length < Self::LONGEST {
            self.bytes[self.length] = text[at];
            self.length += 1;
            at += 1;
        }
        self
    }

    /// A length of time as people say it, in its two largest units: `1 d 2 h`.
    pub(super) const fn push_duration(mut self, span: Duration) -> Self {
        const UNITS: [(u128, &str); 5] =
            [(86_400_000, " d"), (3_600_000, " h"), (60_000, " min"), (1000, " s"), (1, " ms")];
        let mut rest = span.as_millis();
        let mut written = 0;
        let mut at = 0;
        while at < UNITS.len() && written < 2 {
            let (unit, name) = UNITS[at];
            if rest >= unit {
                if written > 0 {
                    self = self.push(" ");
                }
                self = self.push_number(rest / unit).push(name);
                rest %= unit;
                written += 1;
            } else if written > 0 {
                break;
            }
            at += 1;
        }
        if written == 0 { self.push("0 s") } else { self }
    }

    const fn push_number(mut self, number: u128) -> Self {
        if number >= 10 {
            self = self.push_number(number / 10);
        }
        let digit = [b'0' + (number % 10) as u8];
        match std::str::from_utf8(&digit) {
            Ok(digit) => self.push(digit),
            Err(_) => self,
        }
    }

    pub(super) const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.bytes.split_at(self.length).0) {
            Ok(text) => text,
            // A character was cut in two.
            Err(cut) => match std::str::from_utf8(self.bytes.split_at(cut.valid_up_to()).0) {
                Ok(text) => text,
                Err(_) => "",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_does_not_fit_is_cut() {
        let text = Text::new().push(&"x".repeat(1000)).push("y");
        assert_eq!(text.as_str().len(), Text::LONGEST);
        let text = Text::new().push(&"x".repeat(Text::LONGEST - 1)).push("ü");
        assert_eq!(text.as_str().len(), Text::LONGEST - 1);
    }

    #[test]
    fn a_length_of_time_has_two_units() {
        for (span, words) in [
            (Duration::ZERO, "0 s"),
            (Duration::from_millis(1500), "1 s 500 ms"),
            (Duration::from_mins(14), "14 min"),
            (Duration::from_hours(26), "1 d 2 h"),
            (Duration::from_mins(1441), "1 d"),
            (Duration::from_hours(2160), "90 d"),
        ] {
            assert_eq!(Text::new().push_duration(span).as_str(), words);
        }
    }
}
