//! Judges the names in a template.

use crate::finding::{Code, Finding, visible};
use crate::lexicon::{NameFinding, judge_name};
use crate::template::{Segment, Span, Template};

/// What the names in a template give away, for every placeholder, in order of position.
///
/// Judges the last name of each path in the light of those before it: `<customer.name>` is a finding,
/// `<product.name>` is not. Names can lie in both directions, so each finding is meant to be overruled with a
/// reason where the author knows better. The findings are `R001` to `R005`; a template without a placeholder
/// (`R006`) does not parse, and the rest is not visible in names.
///
/// ```
/// use ratchet_key::{Code, Template, inspect};
///
/// let template = Template::parse("mail:<customer.email>:<now>").expect("the grammar is kept");
/// let codes: Vec<Code> = inspect(&template).iter().map(|finding| finding.code).collect();
/// assert_eq!(codes, [Code::R004, Code::R002]);
/// ```
#[must_use]
pub fn inspect(template: &Template) -> Vec<Finding> {
    template
        .segments()
        .iter()
        .filter_map(|segment| match segment {
            Segment::Literal { .. } => None,
            Segment::Placeholder { path, span } => placeholder(path, *span),
        })
        .collect()
}

fn placeholder(path: &[String], span: Span) -> Option<Finding> {
    let (name, before) = path.split_last()?;
    // The whole way to the name is its entity: `<user.profile.name>` is the name of a user.
    let entity = before.join(".");
    let found = judge_name((!entity.is_empty()).then_some(entity.as_str()), name)?;
    Some(finding(path.join("."), span, found, "in"))
}

/// Puts the judgement on a name into the words of a finding on a key; `place` is where the name stands to the
/// placeholder, such as `in`.
pub(crate) fn finding(placeholder: String, span: Span, found: NameFinding, place: &str) -> Finding {
    let NameFinding { code, word, category, why, help } = found;
    let shown = visible(&placeholder);
    let subject = if word == placeholder {
        format!("`{shown}` in the key")
    } else {
        format!("`{}` {place} `<{shown}>`", visible(&word))
    };
    let action = match code {
        Code::R002 | Code::R003 | Code::R004 => "replace",
        _ => "remove",
    };
    Finding {
        code,
        span: Some(span),
        message: format!("{subject} {why}"),
        help: format!("{action} `<{shown}>`; {help}"),
        word: Some(word),
        category,
        placeholder: Some(placeholder),
    }
}
