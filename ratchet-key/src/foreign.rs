//! Keys of other languages: templates whose placeholders may hold any expression.

use crate::finding::Finding;
use crate::inspect::inspect;
use crate::template::Template;

/// What a key template of any language gives away, in order of position.
///
/// Placeholders stand in angle brackets and may hold any expression: `<user.id>`, `<Date.now()>`,
/// `<key ?? uuid()>`. The separator rules of `R007` are not applied: the template is judged, not rendered.
/// The findings are `R001` to `R006`.
///
/// ```
/// use ratchet_key::{Code, inspect_foreign};
///
/// let codes: Vec<Code> = inspect_foreign("mail-<user.email>-<now>").iter().map(|finding| finding.code).collect();
/// assert_eq!(codes, [Code::R004, Code::R002]);
/// ```
#[must_use]
pub fn inspect_foreign(template: &str) -> Vec<Finding> {
    Template::parse(template).map(|template| inspect(&template)).unwrap_or_default()
}
