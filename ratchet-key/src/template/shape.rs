//! What must hold of the whole template: segments that are not empty, placeholders that are kept apart.

use crate::encode::SEPARATORS;
use crate::finding::{Code, Finding};
use crate::limits::{MAX_KEY_BYTES, MAX_PLACEHOLDERS};
use crate::template::parse::syntax;
use crate::template::{Segment, Span};

/// Everything that is wrong with how the segments stand together.
pub(super) fn check(segments: &[Segment], text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for segment in segments {
        empty_segments(segment, text.len(), &mut findings);
    }
    unseparated(segments, &mut findings);
    let placeholders = segments.iter().filter(|segment| matches!(segment, Segment::Placeholder { .. }));
    if let Some(surplus) = placeholders.clone().nth(MAX_PLACEHOLDERS) {
        findings.push(syntax(
            surplus.span(),
            format!("a template has at most {MAX_PLACEHOLDERS} placeholders"),
            "name only what identifies the action; one id usually does",
        ));
    }
    findings.extend(never_fits(segments));
    // Text without a placeholder is often a placeholder written wrongly, which is already reported.
    if placeholders.count() == 0 && !holds_other_syntax(text) {
        findings.push(constant(text));
    }
    findings
}

/// Separators at an end of the template or in a row.
fn empty_segments(segment: &Segment, template_len: usize, findings: &mut Vec<Finding>) {
    let Segment::Literal { text, span } = segment else {
        return;
    };
    let mut rest = text.as_str();
    let mut at = span.start;
    while let Some(skipped) = rest.find(SEPARATORS) {
        let run = rest.get(skipped..).unwrap_or_default();
        let length = run.find(|char| !SEPARATORS.contains(&char)).unwrap_or(run.len());
        let place = Span { start: at + skipped, end: at + skipped + length };
        if length > 1 || place.start == 0 || place.end == template_len {
            findings.push(syntax(
                place,
                "this separator has nothing on one side of it: an empty segment",
                "put a word or a placeholder there, or remove the separator",
            ));
        }
        at = place.end;
        rest = run.get(length..).unwrap_or_default();
    }
}

/// Placeholders whose values could run into each other.
fn unseparated(segments: &[Segment], findings: &mut Vec<Finding>) {
    let mut separated = true;
    let mut between: Option<Span> = None;
    for segment in segments {
        match segment {
            Segment::Literal { text, span } => {
                separated |= text.contains(SEPARATORS);
                between = Some(*span);
            }
            Segment::Placeholder { span, .. } => {
                if !separated {
                    findings.push(run_together(*span, between));
                }
                separated = false;
                between = None;
            }
        }
    }
}

fn run_together(placeholder: Span, between: Option<Span>) -> Finding {
    let help = "put `:` or `/` between the two placeholders";
    match between {
        Some(literal) => syntax(
            literal,
            "this text does not keep the two values apart: a value can contain it, so two different actions \
             could share one key",
            help,
        ),
        None => syntax(
            placeholder,
            "nothing stands between this placeholder and the one before it, so two different actions could \
             share one key",
            help,
        ),
    }
}

/// A template whose shortest key is over the limit.
fn never_fits(segments: &[Segment]) -> Option<Finding> {
    let shortest: usize = segments
        .iter()
        .map(|segment| match segment {
            Segment::Literal { text, .. } => text.len(),
            Segment::Placeholder { .. } => 1,
        })
        .sum();
    (shortest > MAX_KEY_BYTES).then(|| Finding {
        span: None,
        ..syntax(
            Span { start: 0, end: 0 },
            format!("the shortest key of this template has {shortest} bytes and {MAX_KEY_BYTES} are allowed"),
            "shorten the fixed words",
        )
    })
}

fn holds_other_syntax(text: &str) -> bool {
    text.contains(['>', '{', '}'])
}

fn constant(text: &str) -> Finding {
    Finding {
        code: Code::R006,
        span: Some(Span { start: 0, end: text.len() }),
        placeholder: None,
        word: None,
        category: None,
        message:
            "the key has no placeholder, so every record of this operation would share one key and only \
                  the first would ever run"
                .to_owned(),
        help: "name what identifies the action, for instance `invoice:<invoice_id>`".to_owned(),
    }
}
