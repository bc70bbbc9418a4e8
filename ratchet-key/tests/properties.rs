//! What must hold for every template and every value.
//!
//! Rendering is injective because it can be undone: `undo` below recovers the values from the key and the
//! template alone, so two different lists of values cannot have given that key.

use proptest::prelude::*;
use ratchet_key::{
    Code, Key, KeyError, KeyWriter, Segment, Template, inspect, judge_field, judge_name, judge_type,
};

fn render(template: &Template, values: &[String]) -> Result<Key, KeyError> {
    let mut key = KeyWriter::new();
    let mut values = values.iter();
    for segment in template.segments() {
        match segment {
            Segment::Literal { text, .. } => key.literal(text.clone().leak()),
            Segment::Placeholder { .. } => key.part().text(values.next().unwrap())?,
        }
    }
    key.finish()
}

/// The values of a key, read back as another program would: by the literals and the two separators.
fn undo(template: &Template, key: &str) -> Vec<String> {
    let mut rest = key;
    let mut values = Vec::new();
    let mut segments = template.segments().iter().peekable();
    while let Some(segment) = segments.next() {
        match segment {
            Segment::Literal { text, .. } => rest = rest.strip_prefix(text.as_str()).unwrap(),
            Segment::Placeholder { .. } => {
                let after = match segments.peek() {
                    Some(Segment::Literal { text, .. }) => text.as_str(),
                    _ => "",
                };
                // No value holds a separator, so the first one that follows is the literal's own.
                let ends = match after.find([':', '/']) {
                    Some(own) => rest.find([':', '/']).unwrap() - own,
                    None => rest.len() - after.len(),
                };
                values.push(percent_decode(&rest[..ends]));
                rest = &rest[ends..];
            }
        }
    }
    assert_eq!(rest, "");
    values
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let taken = if char == '%' { 3 } else { 1 };
        bytes.push(if char == '%' {
            u8::from_str_radix(&rest[1..3], 16).unwrap()
        } else {
            rest.as_bytes()[0]
        });
        rest = &rest[taken..];
    }
    String::from_utf8(bytes).unwrap()
}

fn sound_value() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        // Few characters, all of them delicate, so that values meet literals and each other.
        "[ab:/%.~_#!<> -]{1,4}",
        "(%3A|%2F|%25|:|/|a){1,3}",
        "\\PC{1,6}",
    ];
    text.prop_filter("values that the writer refuses", |value| value.trim() == value && !value.is_empty())
}

/// Text between two placeholders.
fn between() -> impl Strategy<Value = String> {
    "[ab0_.-]{0,2}[:/]([ab9_.-]{1,2}[:/]){0,1}[ab0_.-]{0,2}"
}

/// A template over the whole alphabet, with as many values as it has placeholders.
fn template_and_values() -> impl Strategy<Value = (Template, Vec<String>)> {
    (1_usize..5).prop_flat_map(|count| {
        let first = "([a-z0-9_.-]{1,3}[:/])?[a-z0-9_.-]{0,3}";
        let last = "[a-z0-9_.-]{0,3}([:/][a-z0-9_.-]{1,3})?";
        let texts = (first, prop::collection::vec(between(), count - 1), last);
        (texts, prop::collection::vec(sound_value(), count)).prop_map(|((first, between, last), values)| {
            let mut text = format!("{first}<p>");
            for literal in between {
                text.push_str(&literal);
                text.push_str("<p>");
            }
            text.push_str(&last);
            (Template::parse(&text).expect(&text), values)
        })
    })
}

/// Text that is nearly a template.
fn nearly_a_template() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,40}",
        "[a-z<>{}:/.()_ A#!%é\t\u{202E}-]{0,40}",
        any::<String>(),
        "(<[a-z]{1,3}>|:|/|-|<|>|\\{|\\}|<id:>8>|é|::){0,12}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rendering_can_be_undone((template, values) in template_and_values()) {
        match render(&template, &values) {
            Ok(key) => {
                prop_assert_eq!(undo(&template, key.as_str()), values);
                prop_assert_eq!(Key::parse(key.as_str()), Ok(key));
            }
            Err(error) => prop_assert!(matches!(error, KeyError::TooLong { .. }), "{}", error),
        }
    }

    #[test]
    fn equal_keys_mean_equal_values(
        (template, values) in template_and_values(),
        others in prop::collection::vec(sound_value(), 4),
    ) {
        let others = &others[..values.len()];
        if let (Ok(key), Ok(other)) = (render(&template, &values), render(&template, others)) {
            prop_assert_eq!(key == other, values == others);
        }
    }

    #[test]
    fn marks_can_be_undone(
        (template, values) in template_and_values(),
        generation in prop_oneof![1_u32..12, Just(u32::MAX)],
        step in prop::option::of("[a-z0-9_.-]{1,8}"),
    ) {
        let Ok(key) = render(&template, &values) else { return Ok(()) };
        let Ok(marked) = key.with_marks(generation, step.as_deref()) else { return Ok(()) };
        let (head, read_step) = match marked.as_str().split_once('!') {
            Some((head, step)) => (head, Some(step)),
            None => (marked.as_str(), None),
        };
        let (bare, read_generation) = match head.split_once('#') {
            Some((bare, generation)) => (bare, generation.parse().unwrap()),
            None => (head, 1),
        };
        prop_assert_eq!((bare, read_generation, read_step), (key.as_str(), generation, step.as_deref()));
    }

    #[test]
    fn parsing_and_findings_survive_any_text(text in nearly_a_template()) {
        let findings = match Template::parse(&text) {
            Ok(template) => {
                let spans = template.segments().iter().map(|segment| {
                    let span = segment.span();
                    &text[span.start..span.end]
                });
                prop_assert_eq!(spans.collect::<String>(), text.clone(), "segments cover the text");
                inspect(&template)
            }
            Err(findings) => {
                prop_assert!(!findings.is_empty());
                prop_assert!(findings.iter().all(|it| matches!(it.code, Code::R006 | Code::R007)));
                findings
            }
        };
        for finding in findings {
            if let Some(span) = finding.span {
                prop_assert!(text.get(span.start..span.end).is_some(), "{:?} of {:?}", span, text);
            }
            let rendered = finding.render(&text);
            prop_assert!(rendered.lines().nth(2).is_some_and(|line| line.starts_with("    ")), "{}", rendered);
            let lines = if finding.span.is_some() { 5 } else { 4 };
            prop_assert_eq!(rendered.split('\n').count(), lines, "{}", rendered);
            // A finding belongs to its text, but a wrong one must not end the compiler either.
            let _ = finding.render("é");
        }
    }

    #[test]
    fn what_parses_renders(text in nearly_a_template(), value in "[a-z]{1,3}") {
        if let Ok(template) = Template::parse(&text) {
            let count = template.segments().iter().filter(|it| matches!(it, Segment::Placeholder { .. })).count();
            let rendered = render(&template, &vec![value; count]);
            prop_assert!(matches!(rendered, Ok(_) | Err(KeyError::TooLong { .. })), "{:?}", rendered);
        }
    }

    #[test]
    fn a_stored_key_is_read_as_it_is_or_not_at_all(text in "[a-zA-Z0-9%:/._~#!é -]{0,12}") {
        if let Ok(key) = Key::parse(&text) {
            prop_assert_eq!(key.as_str(), &text);
            // It is the key of the template that has a placeholder in each of its segments.
            let values: Vec<String> = text.split([':', '/']).map(percent_decode).collect();
            let shape: String = text.chars().filter(|it| matches!(it, ':' | '/')).fold("<p>".to_owned(), |shape, it| {
                format!("{shape}{it}<p>")
            });
            let template = Template::parse(&shape).unwrap();
            prop_assert_eq!(render(&template, &values), Ok(key));
        }
    }

    #[test]
    fn judging_survives_any_name(entity in prop::option::of("\\PC{0,12}"), name in any::<String>()) {
        let _ = judge_type(&name);
        let _ = judge_field(entity.as_deref(), &name, Some(&name));
        if let Some(found) = judge_name(entity.as_deref(), &name) {
            prop_assert!(matches!(found.code, Code::R001 | Code::R002 | Code::R003 | Code::R004 | Code::R005));
            prop_assert!(!found.word.is_empty());
        }
    }
}

#[test]
fn without_a_separator_two_lists_of_values_share_a_key() {
    // Why `<a>-<b>` is refused: this is what it would do.
    let joined = |a: &str, b: &str| format!("{a}-{b}");
    assert_eq!(joined("a-b", "c"), joined("a", "b-c"));
    assert!(Template::parse("<a>-<b>").is_err());
}
