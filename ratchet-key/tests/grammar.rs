//! What parses, what does not, and at which bytes.

use ratchet_key::{Code, MAX_PLACEHOLDERS, MAX_TEMPLATE_BYTES, Segment, Span, Template};

/// Codes and spans of the findings of a template that must not parse.
fn refused(template: &str) -> Vec<(Code, Option<(usize, usize)>)> {
    let findings = Template::parse(template).expect_err(template);
    findings.iter().map(|finding| (finding.code, finding.span.map(|span| (span.start, span.end)))).collect()
}

/// The message of the only finding.
fn message(template: &str) -> String {
    let findings = Template::parse(template).expect_err(template);
    assert_eq!(findings.len(), 1, "{template}: {findings:#?}");
    findings[0].message.clone()
}

#[test]
fn segments_carry_their_bytes() {
    let template = Template::parse("invoice:<customer.id>/v1").unwrap();
    assert_eq!(
        template.segments(),
        [
            Segment::Literal { text: "invoice:".into(), span: Span { start: 0, end: 8 } },
            Segment::Placeholder {
                path: vec!["customer".into(), "id".into()],
                span: Span { start: 8, end: 21 },
            },
            Segment::Literal { text: "/v1".into(), span: Span { start: 21, end: 24 } },
        ]
    );
}

#[test]
fn the_whole_alphabet_parses() {
    for template in
        ["<a>", "abcxyz_.-0189:<a>/<b>", "<A1_>:<_b.C>", "a<b>c:d<e>f", "<a>-:<b>", "<type>:<self>"]
    {
        assert!(Template::parse(template).is_ok(), "{template}");
    }
}

#[test]
fn findings_cover_exactly_the_place() {
    for (template, start, end) in [
        ("a::<id>", 1, 3),
        (":<id>", 0, 1),
        ("/a:<id>", 0, 1),
        ("<id>:", 4, 5),
        ("<id>/b/", 6, 7),
        ("a/<id>:/b", 6, 8),
        ("<a><b>", 3, 6),
        ("<a>-<b>", 3, 4),
        ("a:<id", 2, 5),
        ("a:<id:<b>", 2, 5),
        ("a>b:<x>", 1, 2),
        ("a:<>", 2, 4),
        ("a:< id >", 2, 8),
        ("a:{id}/<b>", 2, 6),
        ("a:{{id}}/<b>", 2, 8),
        ("a:${id}/<b>", 2, 7),
        ("a:{/<b>", 2, 3),
        ("ABc:<id>", 0, 2),
        ("é:<id>", 0, 2),
        ("a b:<id>", 1, 2),
        ("a\n:<id>", 1, 2),
        ("a%20:<id>", 1, 2),
        ("a#<id>", 1, 2),
        ("a:<now()>", 2, 9),
        ("a:<id:>8>:b", 2, 9),
        ("a:<b:?>:<c>", 2, 7),
        ("a:<b.>", 2, 6),
        ("a:<r#type>", 2, 10),
        ("a:<_>", 2, 5),
    ] {
        assert_eq!(refused(template), [(Code::R007, Some((start, end)))], "{template:?}");
    }
}

#[test]
fn findings_of_all_kinds_come_in_order_of_position() {
    let places: Vec<_> = [(0, 2), (5, 6), (7, 9), (9, 12)].map(|place| (Code::R007, Some(place))).into();
    assert_eq!(refused("::<a>C/<><b>"), places);
}

#[test]
fn each_fault_has_its_own_words() {
    for (template, expected) in [
        ("a:<>", "this placeholder names nothing"),
        ("a:<  >", "this placeholder names nothing"),
        ("a:< id >", "a placeholder is written without spaces"),
        ("a:<id", "this placeholder is not closed"),
        ("a>:<id>", "this `>` closes nothing"),
        ("a:{id}:<b>", "`{id}` is written in braces, and placeholders are written in angle brackets"),
        ("a}:<b>", "a brace has no meaning in a template"),
        ("a:<now()>", "`now()` is a call, and a key is made of values that are stored with the record"),
        ("a:<id:>8>", "`id:>8` holds a format, and every value has exactly one form in a key"),
        ("a:<Kind::A>", "`Kind::A` is a path to an item, and a key is made of values"),
        ("a:<r#type>", "`r#type` holds a raw identifier"),
        ("a:<_>", "`_` names nothing"),
        ("a:<b._>", "`_` names nothing"),
        ("a:<0>", "`0` is a position, or begins with a digit, and placeholders are names"),
        ("a:<b..c>", "`b..c` has a dot with no name beside it"),
        ("a:<b-c>", "`b-c` is not a name"),
        ("a:<ü>", "`ü` is not a name"),
    ] {
        assert_eq!(message(template), expected, "{template:?}");
    }
}

#[test]
fn text_without_a_placeholder_is_one_key_for_everyone() {
    assert_eq!(refused("invoice"), [(Code::R006, Some((0, 7)))]);
    assert_eq!(refused(""), [(Code::R006, Some((0, 0)))]);
    // A placeholder written wrongly is not reported a second time as missing.
    assert_eq!(refused("invoice:{id}"), [(Code::R007, Some((8, 12)))]);
}

#[test]
fn templates_are_bounded() {
    let fits = format!("{}:<id>", "a".repeat(253));
    assert!(Template::parse(&fits).is_ok());
    assert_eq!(refused(&format!("a{fits}")), [(Code::R007, None)]);

    let long_name = |bytes| format!("<{}>", "a".repeat(bytes - 2));
    assert!(Template::parse(&long_name(MAX_TEMPLATE_BYTES)).is_ok());
    assert_eq!(refused(&long_name(MAX_TEMPLATE_BYTES + 1)), [(Code::R007, None)]);

    let many = |count| vec!["<a>"; count].join(":");
    assert!(Template::parse(&many(MAX_PLACEHOLDERS)).is_ok());
    assert_eq!(refused(&many(MAX_PLACEHOLDERS + 1)), [(Code::R007, Some((64, 67)))]);
}
