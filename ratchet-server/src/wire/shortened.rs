//! A report of any size in little memory: what is too long of it is left out.

/// Room for what a report says beside its result.
const ROOM_FOR_OTHERS: usize = 8 * 1024;

/// Takes a JSON object in pieces, and keeps `null` in the place of each field whose value is too long.
pub(super) struct Shortened {
    kept: Vec<u8>,
    longest: usize,
    is_shorter: bool,
    /// How many lists and objects are open.
    depth: usize,
    text: Text,
    value: Value,
}

/// Whether the bytes are within quotes, where brackets and commas mean nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Text {
    Outside,
    Within,
    AfterBackslash,
}

/// The value of the outermost object that the bytes belong to.
#[derive(Clone, Copy)]
enum Value {
    None,
    /// It is kept from this place on.
    Kept(usize),
    LeftOut,
}

impl Shortened {
    /// Leaves out the values that leave too little room for others within `limit` bytes.
    pub(super) fn to(limit: usize) -> Self {
        let longest = limit.saturating_sub(ROOM_FOR_OTHERS).max(limit / 2);
        let (text, value) = (Text::Outside, Value::None);
        Self { kept: Vec::new(), longest, is_shorter: false, depth: 0, text, value }
    }

    pub(super) fn take(&mut self, piece: &[u8]) {
        for byte in piece {
            self.take_byte(*byte);
        }
    }

    /// What is kept so far.
    pub(super) fn kept(&self) -> &[u8] {
        &self.kept
    }

    /// Whether something is left out.
    pub(super) fn is_shorter(&self) -> bool {
        self.is_shorter
    }

    fn take_byte(&mut self, byte: u8) {
        let is_outside = self.text == Text::Outside;
        self.text = match (self.text, byte) {
            (Text::Outside, b'"') | (Text::AfterBackslash, _) => Text::Within,
            (Text::Within, b'"') => Text::Outside,
            (Text::Within, b'\\') => Text::AfterBackslash,
            (text, _) => text,
        };
        if is_outside {
            self.follow(byte);
        }
        if !matches!(self.value, Value::LeftOut) {
            self.kept.push(byte);
        }
        match self.value {
            Value::None if is_outside && byte == b':' && self.depth == 1 => {
                self.value = Value::Kept(self.kept.len());
            }
            Value::Kept(from) if self.kept.len() - from > self.longest => {
                self.kept.truncate(from);
                self.kept.extend(b"null");
                self.value = Value::LeftOut;
                self.is_shorter = true;
            }
            _ => {}
        }
    }

    /// What a byte outside of texts means for the structure.
    fn follow(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        let ends = (byte == b',' && self.depth == 1) || (matches!(byte, b'}' | b']') && self.depth == 0);
        if ends {
            self.value = Value::None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the pieces are.
    fn shortened(text: &str, limit: usize) -> (String, bool) {
        let whole = |size: usize| {
            let mut body = Shortened::to(limit);
            text.as_bytes().chunks(size).for_each(|piece| body.take(piece));
            (String::from_utf8(body.kept().to_vec()).unwrap(), body.is_shorter())
        };
        let told = whole(1);
        assert_eq!(whole(7), told);
        assert_eq!(whole(text.len()), told);
        told
    }

    #[test]
    fn what_is_short_is_kept_as_it_is() {
        for text in [r#"{"a": {"b": [1, "}"]}, "c": "\"x\\"}"#, "[]", "{", "}{:", r#"{"a":1}}"#] {
            assert_eq!(shortened(text, 100), (text.to_owned(), false));
        }
    }

    #[test]
    fn only_the_value_that_is_too_long_is_left_out_wherever_it_stands() {
        let long = format!(r#"{{"x": ["{}", "\",\"status\":\"FAILED\"}}"]}}"#, "y".repeat(40));
        for (text, expected) in [
            (format!(r#"{{"output":{long},"status":"DONE"}}"#), r#"{"output":null,"status":"DONE"}"#),
            (format!(r#"{{"status":"DONE","output":{long}}}"#), r#"{"status":"DONE","output":null}"#),
            (format!(r#"{{"a":{long},"b":1,"c":{long}}}"#), r#"{"a":null,"b":1,"c":null}"#),
        ] {
            assert_eq!(shortened(&text, 60), (expected.to_owned(), true), "{text}");
        }
    }

    #[test]
    fn a_value_may_leave_room_for_the_others_and_no_less() {
        let text = |length: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(length));
        let limit = 20 * 1024;
        assert!(!shortened(&text(limit - ROOM_FOR_OTHERS - 2), limit).1);
        assert!(shortened(&text(limit - ROOM_FOR_OTHERS - 1), limit).1);
    }
}
