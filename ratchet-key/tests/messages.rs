//! The exact text of the findings, as a compile error shows it.

use ratchet_key::{Template, inspect};

/// The rendered findings of a template, of the grammar or of the names.
fn findings(template: &str) -> String {
    let findings = match Template::parse(template) {
        Ok(template) => inspect(&template),
        Err(findings) => findings,
    };
    let rendered: Vec<String> = findings.iter().map(|finding| finding.render(template)).collect();
    rendered.join("\n---\n")
}

#[test]
fn a_sound_template_has_no_findings() {
    assert_eq!(findings("invoice:<invoice_id>:collect:v1"), "");
    assert_eq!(findings("<customer.id>/<order.line_no>"), "");
}

#[test]
fn r001_attempt() {
    assert_eq!(
        findings("invoice:<invoice_id>:<attempt>:v1"),
        "\
R001: `attempt` in the key counts attempts, so every retry would carry another key and nothing would be deduplicated

    invoice:<invoice_id>:<attempt>:v1
                         ^^^^^^^^^
help: remove `<attempt>`; to read the attempt, take a `ctx: ratchet::Context` and call `ctx.attempt()`"
    );
}

#[test]
fn r001_names_the_word_inside_a_longer_name() {
    assert_eq!(
        findings("mail:<job.deliveryAttemptNo>"),
        "\
R001: `attempt` in `<job.deliveryAttemptNo>` counts attempts, so every retry would carry another key and nothing \
would be deduplicated

    mail:<job.deliveryAttemptNo>
         ^^^^^^^^^^^^^^^^^^^^^^^
help: remove `<job.deliveryAttemptNo>`; to read the attempt, take a `ctx: ratchet::Context` and call `ctx.attempt()`"
    );
}

#[test]
fn r002_time() {
    assert_eq!(
        findings("mail:<created_at>"),
        "\
R002: `created_at` in the key is a time, and a time taken anew on each attempt gives each attempt another key, so \
nothing would be deduplicated

    mail:<created_at>
         ^^^^^^^^^^^^
help: replace `<created_at>`; name what the action is about, such as an id or a business period; if the time is \
stored with the record before the first attempt, pass it as a number or a text, and write \
`allow(R002 = \"where it is stored\")`"
    );
}

#[test]
fn r003_random() {
    assert_eq!(
        findings("mail:<nonce>"),
        "\
R003: `nonce` in the key is a random value, so every attempt that draws it anew would carry another key and \
nothing would be deduplicated

    mail:<nonce>
         ^^^^^^^
help: replace `<nonce>`; name an id that is stored before the first attempt; if this value is such an id, name it \
after its record (`<order_uuid>`) or write `allow(R003 = \"where it is stored\")`"
    );
}

#[test]
fn r004_personal_data() {
    assert_eq!(
        findings("welcome:<customer.name>"),
        "\
R004: `name` in `<customer.name>` is personal data, and keys are copied into logs, error reports and the records \
of the destination, where it cannot be erased

    welcome:<customer.name>
            ^^^^^^^^^^^^^^^
help: replace `<customer.name>`; an opaque id from your own records, such as `<customer_id>`, tells records apart \
as well"
    );
}

#[test]
fn r005_credential() {
    assert_eq!(
        findings("pay:<api_key>"),
        "\
R005: `api_key` in the key is a credential, and keys are copied into logs, error reports and the records of the \
destination, where anyone who reads them could use it

    pay:<api_key>
        ^^^^^^^^^
help: remove `<api_key>`; an id from your own records tells them apart, and the worker hands credentials to the \
handler as `ratchet::State`"
    );
}

#[test]
fn r006_no_placeholder() {
    assert_eq!(
        findings("invoice:collect"),
        "\
R006: the key has no placeholder, so every record of this operation would share one key and only the first would \
ever run

    invoice:collect
    ^^^^^^^^^^^^^^^
help: name what identifies the action, for instance `invoice:<invoice_id>`"
    );
}

#[test]
fn r007_several_at_once_in_order_of_position() {
    assert_eq!(
        findings("Invoice:<id>-<line>"),
        "\
R007: `I` is in upper case, and literal text is lower case so that one key has one spelling

    Invoice:<id>-<line>
    ^
help: write literal text in lower case; names of placeholders keep their case
---
R007: this text does not keep the two values apart: a value can contain it, so two different actions could share \
one key

    Invoice:<id>-<line>
                ^
help: put `:` or `/` between the two placeholders"
    );
}

#[test]
fn a_hostile_template_cannot_spoil_the_picture() {
    assert_eq!(
        findings("a\t\u{202E}é:<now()>"),
        "\
R007: a control character cannot stand in a key

    a␉\u{FFFD}é:<now()>
     ^
help: remove it; it is shown here by its picture
---
R007: `\u{FFFD}é` is outside ASCII, and many destinations refuse such a key

    a␉\u{FFFD}é:<now()>
      ^^
help: literal text is made of `a-z`, `0-9` and `_ . : / -`; values may hold any text, they are percent-encoded
---
R007: `now()` is a call, and a key is made of values that are stored with the record

    a␉\u{FFFD}é:<now()>
         ^^^^^^^
help: name a field of the input; a value that is made anew on each attempt has no place in a key"
    );
}

#[test]
fn the_whole_path_to_a_name_is_its_entity() {
    assert!(
        findings("a:<user.profile.name>").starts_with("R004: `name` in `<user.profile.name>` is personal")
    );
    assert_eq!(findings("a:<product.details.name>"), "");
}

#[test]
fn a_picture_is_never_wider_than_a_template() {
    let findings = Template::parse("<a>:<b>-<c>").unwrap_err();
    for text in ["é".repeat(5000), String::new()] {
        let mut finding = findings[0].clone();
        finding.span.as_mut().unwrap().end = 9000;
        let rendered = finding.render(&text);
        assert!(rendered.lines().skip(2).take(2).all(|line| line.chars().count() <= 4 + 513), "{rendered}");
        finding.span.as_mut().unwrap().start = 8000;
        let rendered = finding.render(&text);
        assert!(rendered.lines().skip(2).take(2).all(|line| line.chars().count() <= 4 + 513), "{rendered}");
    }
}

#[test]
fn brackets_within_brackets_are_one_mistake() {
    assert_eq!(
        findings("a:<<id>>:b"),
        "R007: `<<id>>` has brackets within brackets, and a placeholder is one name\n\n    a:<<id>>:b\n      \
         ^^^^^^\nhelp: name a parameter or a field of the input: `<id>`"
    );
    assert_eq!(
        findings("a:<Vec<u8>>"),
        "R007: `<Vec<u8>>` has brackets within brackets, and a placeholder is one name\n\n    a:<Vec<u8>>\n      \
         ^^^^^^^^^\nhelp: name a parameter or a field of the input: `<invoice_id>`"
    );
}
