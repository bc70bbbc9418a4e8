//! Keys, rendered and read back.

use ratchet_key::{Key, KeyError, KeyWriter, MAX_KEY_BYTES, PartError, Segment, Template};

use crate::cut;

/// The first line is a template, and every further one a value, the last of which goes on being used.
///
/// A rendered key is within its limits, is read back as it is, and tells its values, so that no other values have it.
pub fn key_rendering(input: &[u8]) {
    reads_what_rendering_writes(&String::from_utf8_lossy(input));
    let (template, values) = cut(input, b'\n');
    let Ok(template) = Template::parse(&String::from_utf8_lossy(template)) else { return };
    let values = values_for(&template, values);
    match render(&template, &values) {
        Ok(key) => {
            assert!((1..=MAX_KEY_BYTES).contains(&key.as_str().len()) && key.as_str().is_ascii());
            assert_eq!(Key::parse(key.as_str()), Ok(key.clone()));
            assert_eq!(undo(&template, key.as_str()), values);
            marks_are_told_apart(&key);
        }
        Err(KeyError::TooLong { bytes, limit }) => assert!(bytes > limit && limit == MAX_KEY_BYTES),
        Err(KeyError::Part { position, reason }) => {
            let value = &values[position];
            assert!(match reason {
                PartError::Empty => value.is_empty(),
                PartError::ControlCharacter => value.contains(char::is_control),
                _ => value.trim() != value,
            });
        }
        Err(other) => panic!("{other:?}"),
    }
}

fn reads_what_rendering_writes(text: &str) {
    if let Ok(key) = Key::parse(text) {
        assert_eq!(key.as_str(), text);
        let values: Vec<String> = text.split([':', '/']).map(decoded).collect();
        let separators: Vec<&str> = text.matches([':', '/']).collect();
        let mut again = KeyWriter::new();
        for (place, value) in values.iter().enumerate() {
            if place > 0 {
                again.literal(if separators[place - 1] == ":" { ":" } else { "/" });
            }
            again.part().text(value).expect("a value of a key");
        }
        assert_eq!(again.finish(), Ok(key));
    }
}

fn values_for(template: &Template, text: &[u8]) -> Vec<String> {
    let mut lines = text.split(|byte| *byte == b'\n').map(|line| String::from_utf8_lossy(line).into_owned());
    let mut last = String::new();
    let places = template.segments().iter().filter(|it| matches!(it, Segment::Placeholder { .. }));
    let mut next = |_: &Segment| {
        last = lines.next().unwrap_or_else(|| last.clone());
        last.clone()
    };
    places.map(&mut next).collect()
}

fn render(template: &Template, values: &[String]) -> Result<Key, KeyError> {
    let (mut key, mut values) = (KeyWriter::new(), values.iter());
    for segment in template.segments() {
        match segment {
            Segment::Literal { text, .. } => text.bytes().for_each(|byte| key.literal(literal(byte))),
            // The writer remembers what it refused.
            Segment::Placeholder { .. } => drop(key.part().text(values.next().expect("a value for each"))),
        }
    }
    key.finish()
}

/// The writer takes the literals of programs alone.
fn literal(byte: u8) -> &'static str {
    const ALPHABET: &str = "abcdefghijklmnopqrstuvwxyz0123456789_.:/-";
    let at = ALPHABET.bytes().position(|known| known == byte).expect("a byte of the alphabet");
    &ALPHABET[at..=at]
}

/// The values of a key, as another program would find them.
fn undo(template: &Template, key: &str) -> Vec<String> {
    let (mut rest, mut values) = (key, Vec::new());
    let mut segments = template.segments().iter().peekable();
    while let Some(segment) = segments.next() {
        let Segment::Literal { text, .. } = segment else {
            let after = match segments.peek() {
                Some(Segment::Literal { text, .. }) => text.as_str(),
                _ => "",
            };
            // No value holds a separator, so the first one that follows is the literal's own.
            let end = match after.find([':', '/']) {
                Some(own) => rest.find([':', '/']).expect("the literal's separator") - own,
                None => rest.len() - after.len(),
            };
            values.push(decoded(&rest[..end]));
            rest = &rest[end..];
            continue;
        };
        rest = rest.strip_prefix(text.as_str()).expect("the literal");
    }
    assert_eq!(rest, "");
    values
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        if *byte == b'%' {
            let digits = std::str::from_utf8(&after[..2]).expect("two digits");
            bytes.push(u8::from_str_radix(digits, 16).expect("two digits"));
            rest = &after[2..];
        } else {
            bytes.push(*byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).expect("a value is text")
}

/// Generation and step stand behind marks that no key contains.
fn marks_are_told_apart(key: &Key) {
    assert!(!key.as_str().contains(['#', '!']));
    if let Ok(marked) = key.with_marks(2, Some("charge")) {
        assert_eq!(marked.as_str(), format!("{key}#2!charge"));
        assert_eq!(Key::parse(marked.as_str()), Err(KeyError::Malformed));
        assert_eq!(marked.with_marks(3, None), Err(KeyError::AlreadyMarked));
    }
}
