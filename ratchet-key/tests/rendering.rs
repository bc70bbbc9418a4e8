//! The writer: what it writes, what it refuses, and that nothing slips through.

use ratchet_key::{Key, KeyError, KeyWriter, MAX_KEY_BYTES, MAX_STEP_BYTES, PartError};

fn part(position: usize, reason: PartError) -> KeyError {
    KeyError::Part { position, reason }
}

#[test]
fn integers_have_one_form() {
    for (value, expected) in [
        (0, "0"),
        (-1, "-1"),
        (10, "10"),
        (i128::from(i64::MIN), "-9223372036854775808"),
        (i128::from(u64::MAX) + 1, "18446744073709551616"),
        (i128::MIN, "-170141183460469231731687303715884105728"),
    ] {
        let mut key = KeyWriter::new();
        key.part().integer(value).unwrap();
        assert_eq!(key.finish().unwrap().as_str(), expected);
    }
    let mut key = KeyWriter::new();
    key.part().unsigned(u128::MAX).unwrap();
    assert_eq!(key.finish().unwrap().as_str(), "340282366920938463463374607431768211455");
}

#[test]
fn a_refused_value_says_which_part_and_fails_the_key() {
    for (value, reason) in [
        ("", PartError::Empty),
        ("a\nb", PartError::ControlCharacter),
        ("\0", PartError::ControlCharacter),
        ("\u{85}", PartError::ControlCharacter),
        (" a", PartError::SurroundingWhiteSpace),
        ("a\u{3000}", PartError::SurroundingWhiteSpace),
    ] {
        let mut key = KeyWriter::new();
        key.part().text("fine").unwrap();
        key.literal(":");
        assert_eq!(key.part().text(value), Err(part(1, reason)), "{value:?}");
        // Even if the caller drops the error and goes on.
        key.literal(":");
        let _ = key.part().text("");
        assert_eq!(key.finish(), Err(part(1, reason)), "{value:?}");
    }
}

#[test]
fn a_part_that_is_never_written_fails_the_key() {
    let mut last = KeyWriter::new();
    last.literal("a:");
    let _ = last.part();
    assert_eq!(last.finish(), Err(part(0, PartError::Empty)));

    let mut first = KeyWriter::new();
    let _ = first.part();
    first.literal(":");
    first.part().boolean(true).unwrap();
    assert_eq!(first.finish(), Err(part(0, PartError::Empty)));
}

#[test]
fn the_limit_counts_encoded_bytes_and_names_the_real_length() {
    let render = |value: &str| {
        let mut key = KeyWriter::new();
        key.literal("k:");
        key.part().text(value)?;
        key.finish()
    };
    assert_eq!(render(&"a".repeat(253)).unwrap().as_str().len(), MAX_KEY_BYTES);
    assert_eq!(render(&"a".repeat(254)), Err(KeyError::TooLong { bytes: 256, limit: MAX_KEY_BYTES }));
    assert_eq!(render(&"ë".repeat(100)), Err(KeyError::TooLong { bytes: 602, limit: MAX_KEY_BYTES }));
}

#[test]
fn a_part_that_does_not_fit_leaves_no_gap_for_the_next() {
    let mut key = KeyWriter::new();
    key.part().text(&"a".repeat(300)).unwrap();
    key.literal(":");
    key.part().unsigned(1).unwrap();
    assert_eq!(key.finish(), Err(KeyError::TooLong { bytes: 302, limit: MAX_KEY_BYTES }));
}

#[test]
fn marks() {
    let key = Key::parse("invoice:inv_2048").unwrap();
    let marked = |generation, step: Option<&str>| key.with_marks(generation, step).map(|key| key.to_string());
    assert_eq!(marked(1, None).unwrap(), "invoice:inv_2048");
    assert_eq!(marked(2, None).unwrap(), "invoice:inv_2048#2");
    assert_eq!(marked(1, Some("charge")).unwrap(), "invoice:inv_2048!charge");
    assert_eq!(marked(u32::MAX, Some("a.b_c-9")).unwrap(), "invoice:inv_2048#4294967295!a.b_c-9");
    assert_eq!(marked(0, None), Err(KeyError::BadGeneration));
    assert!(marked(1, Some(&"s".repeat(MAX_STEP_BYTES))).is_ok());
    for step in ["", "Charge", "a b", "a:b", "a!b", "a#b", "é", &"s".repeat(MAX_STEP_BYTES + 1)] {
        assert_eq!(marked(1, Some(step)), Err(KeyError::BadStep), "{step:?}");
    }
}

#[test]
fn marks_are_put_on_once() {
    let key = Key::parse("a:1").unwrap();
    for marked in [key.with_marks(2, None).unwrap(), key.with_marks(1, Some("s")).unwrap()] {
        assert_eq!(marked.with_marks(1, None), Err(KeyError::AlreadyMarked));
        assert_eq!(marked.with_marks(3, Some("t")), Err(KeyError::AlreadyMarked));
    }
}

#[test]
fn marks_count_towards_the_limit() {
    let key = Key::parse(&"a".repeat(253)).unwrap();
    assert_eq!(key.with_marks(2, None).unwrap().as_str().len(), 255);
    assert_eq!(key.with_marks(10, None), Err(KeyError::TooLong { bytes: 256, limit: 255 }));
}

#[test]
fn only_what_could_have_been_rendered_is_a_stored_key() {
    for stored in ["a", "A~b", "invoice:inv_2048/v1", "a%20b", "x%C3%AB:%F0%9F%9A%80"] {
        assert_eq!(Key::parse(stored).unwrap().as_str(), stored);
    }
    for stored in [
        "", ":a", "a:", "a//b", "a b", "é", "a#2", "a!s", "a<b>", "%", "%2", "%2f", "%zz", "%41", "%7E",
        "%FF", "%C3", "%00", "a%0Ab", "%20a", "a%20", "a:%20b",
    ] {
        assert_eq!(Key::parse(stored), Err(KeyError::Malformed), "{stored:?}");
    }
    assert_eq!(Key::parse(&"a".repeat(256)), Err(KeyError::TooLong { bytes: 256, limit: 255 }));
}

#[test]
fn debug_output_and_messages_never_show_the_value() {
    let key = Key::parse("card:4242424242424242").unwrap();
    assert_eq!(format!("{key:?}"), "Key(21 bytes)");
    let mut writer = KeyWriter::new();
    let error = writer.part().text("hunter2\n").unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter2"));
    let mut writer = KeyWriter::new();
    writer.part().text("hunter2").unwrap();
    assert!(!format!("{writer:?}").contains("hunter2"));
}

#[test]
fn errors_say_what_why_and_what_to_do() {
    for (error, text) in [
        (
            part(1, PartError::Empty),
            "the value of key part 2 is empty, so all records without it would share one key; give it a value \
             before you enqueue",
        ),
        (
            part(0, PartError::SurroundingWhiteSpace),
            "the value of key part 1 begins or ends with white space, so that the same thing could get two keys; \
             trim the value where it enters your system",
        ),
        (
            KeyError::TooLong { bytes: 300, limit: 255 },
            "the key has 300 bytes and 255 are allowed, since destinations refuse or cut longer keys; use an id \
             in place of a long text",
        ),
    ] {
        assert_eq!(error.to_string(), text);
    }
}
