//! Templates of keys, those of other languages too.

use ratchet_key::{Code, Finding, Segment, Template, inspect, inspect_foreign};

/// A template that is read renders to the text that it was read from, and every finding points into its text.
pub fn template(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    match Template::parse(&text) {
        Ok(template) => {
            assert_eq!(render(&template), text);
            assert!(text.len() <= ratchet_key::MAX_TEMPLATE_BYTES && text.is_ascii());
            point_into(&inspect(&template), &text);
        }
        Err(findings) => {
            assert!(!findings.is_empty(), "refused without a reason");
            assert!(findings.iter().all(|finding| matches!(finding.code, Code::R006 | Code::R007)));
            point_into(&findings, &text);
        }
    }
    point_into(&inspect_foreign(&text), &text);
}

fn render(template: &Template) -> String {
    let render = |segment: &Segment| match segment {
        Segment::Literal { text, .. } => text.clone(),
        Segment::Placeholder { path, .. } => format!("<{}>", path.join(".")),
    };
    template.segments().iter().map(render).collect()
}

/// What is shown of them is five lines at the most, whatever the text would do to a terminal.
fn point_into(findings: &[Finding], text: &str) {
    for finding in findings {
        if let Some(span) = finding.span {
            assert!(text.get(span.start..span.end).is_some(), "{span:?}");
        }
        let shown = finding.render(text);
        assert!(shown.split('\n').count() <= 5, "{shown}");
        assert!(!shown.contains(|char: char| char.is_control() && char != '\n'), "{shown:?}");
    }
}
