//! The fields of a report of any size, in little memory.

/// No name that is of interest is longer, however it is written.
const LONGEST_NAME: usize = 128;

/// Takes a JSON object in pieces, and keeps the values of some of its fields as they were written, each by itself: what is
/// wrong with a name or a value, or too long, takes no other with it.
pub(super) struct Fields {
    of_interest: Vec<Field>,
    place: Place,
    text: Text,
    /// How many lists and objects are open.
    depth: usize,
    name: Vec<u8>,
}

struct Field {
    name: &'static str,
    longest: usize,
    value: Value,
}

/// What is known of the value of a field; the last one counts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Value {
    Missing,
    /// As it was written, whatever it is.
    Written(Vec<u8>),
    TooLong,
}

/// What the bytes belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    BeforeAll,
    Name,
    /// The value of this field of those that are of interest, or of another one.
    Value(Option<usize>),
    AfterAll,
    /// There is no object.
    Nothing,
}

/// Whether the bytes are within quotes, where brackets and commas mean nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Text {
    Outside,
    Within,
    AfterBackslash,
}

impl Fields {
    /// Keeps the values of the fields of these names, unless they have more bytes than is said with them.
    pub(super) fn of(names: impl IntoIterator<Item = (&'static str, usize)>) -> Self {
        let field = |(name, longest)| Field { name, longest, value: Value::Missing };
        let of_interest = names.into_iter().map(field).collect();
        Self { of_interest, place: Place::BeforeAll, text: Text::Outside, depth: 0, name: Vec::new() }
    }

    pub(super) fn take(&mut self, piece: &[u8]) {
        for byte in piece {
            self.take_byte(*byte);
        }
    }

    /// Whether all of an object came.
    pub(super) fn are_whole(&self) -> bool {
        self.place == Place::AfterAll
    }

    pub(super) fn value(&self, name: &str) -> &Value {
        self.of_interest.iter().find(|field| field.name == name).map_or(&Value::Missing, |field| &field.value)
    }

    fn take_byte(&mut self, byte: u8) {
        match self.place {
            Place::BeforeAll => self.begin(byte),
            Place::Name | Place::Value(_) => {
                let is_outside = self.text == Text::Outside;
                self.text = self.text.after(byte);
                if !(is_outside && self.passes_on(byte)) {
                    self.keep(byte);
                }
            }
            Place::AfterAll | Place::Nothing => {}
        }
    }

    fn begin(&mut self, byte: u8) {
        match byte {
            b'{' => (self.place, self.depth) = (Place::Name, 1),
            byte if byte.is_ascii_whitespace() => {}
            _ => self.place = Place::Nothing,
        }
    }

    /// Whether a byte outside of texts stands between a name and its value, or behind both.
    fn passes_on(&mut self, byte: u8) -> bool {
        match byte {
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
        let next = match (byte, self.depth, self.place) {
            (b':', 1, Place::Name) => self.value_begins(),
            (b',', 1, _) => Place::Name,
            (b'}', 0, _) => Place::AfterAll,
            (_, 0, _) => Place::Nothing,
            _ => return false,
        };
        self.name.clear();
        self.place = next;
        true
    }

    fn value_begins(&mut self) -> Place {
        let name: Option<String> = serde_json::from_slice(&self.name).ok();
        let at = name.and_then(|name| self.of_interest.iter().position(|field| field.name == name));
        if let Some(field) = at.and_then(|at| self.of_interest.get_mut(at)) {
            field.value = Value::Written(Vec::new());
        }
        Place::Value(at)
    }

    fn keep(&mut self, byte: u8) {
        let Place::Value(at) = self.place else {
            if self.name.len() < LONGEST_NAME {
                self.name.push(byte);
            }
            return;
        };
        let Some(field) = at.and_then(|at| self.of_interest.get_mut(at)) else { return };
        match &mut field.value {
            Value::Written(value) if value.len() < field.longest => value.push(byte),
            value => *value = Value::TooLong,
        }
    }
}

impl Text {
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Outside, b'"') | (Self::AfterBackslash, _) => Self::Within,
            (Self::Within, b'"') => Self::Outside,
            (Self::Within, b'\\') => Self::AfterBackslash,
            (text, _) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields `a` and `b`, whatever the pieces are.
    fn read(text: &str, longest: usize) -> Option<[Value; 2]> {
        let whole = |size: usize| {
            let mut fields = Fields::of([("a", longest), ("b", longest)]);
            text.as_bytes().chunks(size).for_each(|piece| fields.take(piece));
            let is_whole = fields.are_whole();
            let mut values = fields.of_interest.into_iter().map(|field| field.value);
            is_whole.then(|| [(); 2].map(|()| values.next().unwrap()))
        };
        let told = whole(1);
        assert_eq!(whole(7), told);
        assert_eq!(whole(text.len().max(1)), told);
        told
    }

    fn written(value: &str) -> Value {
        Value::Written(value.as_bytes().to_vec())
    }

    #[test]
    fn values_are_kept_as_they_were_written() {
        for (text, a, b) in [
            (r#"{"a": {"b": [1, "}"]}, "b":"\"x\\"}"#, written(r#" {"b": [1, "}"]}"#), written(r#""\"x\\""#)),
            (" { \"a\" :null }\n", written("null "), Value::Missing),
            (r#"{"\u0061":1,"a":2,"b":[{}]}}"#, written("2"), written("[{}]")),
            (r#"{"b":NaN,"a":}"#, written(""), written("NaN")),
            ("{}", Value::Missing, Value::Missing),
        ] {
            assert_eq!(read(text, 100), Some([a, b]), "{text}");
        }
        for nothing in ["", "[]", "{", "7", r#"{"a":1"#, r#"{"a":1]"#, "}{:"] {
            assert_eq!(read(nothing, 100), None, "{nothing}");
        }
    }

    #[test]
    fn what_is_odd_about_a_field_takes_no_other_with_it() {
        let long = "x".repeat(LONGEST_NAME);
        for odd in
            [r#""c": -Infinity"#, r#""\ud800": 1"#, r#""c": 1 2 3"#, "c: 1", &format!(r#""a{long}": 1"#)]
        {
            let text = format!(r#"{{"a":1,{odd},"b":2}}"#);
            assert_eq!(read(&text, 100), Some([written("1"), written("2")]), "{text}");
        }
    }

    #[test]
    fn only_the_value_that_is_too_long_is_left_out_wherever_it_stands() {
        let long = format!(r#"{{"x":["{}","\",\"b\":7}}"]}}"#, "y".repeat(40));
        for (text, a, b) in [
            (format!(r#"{{"a":{long},"b":1}}"#), Value::TooLong, written("1")),
            (format!(r#"{{"b":1,"a":{long}}}"#), Value::TooLong, written("1")),
            (format!(r#"{{"c":{long},"b":1,"d":{long}}}"#), Value::Missing, written("1")),
            (format!(r#"{{"a":{long},"b":1,"a":2}}"#), written("2"), written("1")),
        ] {
            assert_eq!(read(&text, 40), Some([a, b]), "{text}");
        }
        assert_eq!(read(r#"{"a":1234,"b":12345}"#, 4), Some([written("1234"), Value::TooLong]));
    }
}
