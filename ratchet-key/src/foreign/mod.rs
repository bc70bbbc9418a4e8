//! Keys of other languages: templates whose placeholders may hold any expression.

mod expression;
mod judge;
mod lexer;
mod lists;
mod names;
mod source;
mod split;

use crate::finding::{Code, Finding};
use crate::inspect;
use crate::lexicon::{NameFinding, found};
use crate::template::Span;
use split::Piece;

/// The longest foreign template that is read, in bytes.
pub const MAX_FOREIGN_BYTES: usize = 4096;

/// What a key template of any language gives away, in order of position.
///
/// Placeholders stand in angle brackets and may hold any expression: `<user.id>`, `<Date.now()>`,
/// `<key ?? uuid()>`. Names are judged as [`inspect`](crate::inspect()) judges them; calls by what they are known to
/// read; of a fallback every alternative counts. A counter after the word for it is taken for what it is called:
/// `attempt:<i + 1>`.
///
/// The separator rules of `R007` are not applied: the template is judged, not rendered. The findings are `R001` to
/// `R006`, at most one of each for a placeholder, and one `R007` for a text of more than [`MAX_FOREIGN_BYTES`].
/// Never panics, whatever the text.
///
/// ```
/// use ratchet_key::{Code, inspect_foreign};
///
/// let codes = |text| inspect_foreign(text).iter().map(|finding| finding.code).collect::<Vec<_>>();
/// assert_eq!(codes("mail-<user.email>-<Date.now()>"), [Code::R004, Code::R002]);
/// assert_eq!(codes("<headers['idempotency-key'] ?? crypto.randomUUID()>"), [Code::R003]);
/// assert_eq!(codes("receipt-<order.id>"), []);
/// ```
#[must_use]
pub fn inspect_foreign(template: &str) -> Vec<Finding> {
    if template.len() > MAX_FOREIGN_BYTES {
        return vec![too_long(template.len())];
    }
    let mut findings = Vec::new();
    let mut varies = false;
    let mut literal = "";
    let mut is_mail = false;
    for piece in split::split(template) {
        match piece {
            Piece::Literal(text) => {
                literal = text;
                is_mail |= judge::speaks_of_mail(text);
            }
            Piece::Expression(text, span) => {
                let chains = expression::read(text);
                varies |= chains.iter().any(judge::varies);
                let mut judged = judge::judge(&chains);
                judged.extend(judge::recipient(&chains).filter(|_| is_mail));
                let counted = judge::counted_by(literal, &chains).and_then(|word| found(Code::R001, word));
                let counted = counted.filter(|_| judged.iter().all(|found| found.code != Code::R001));
                let finding = |found, place| inspect::finding(text.to_owned(), span, found, place);
                findings.extend(first_of_each_code(judged).map(|found| finding(found, "in")));
                findings.extend(counted.map(|found| finding(found, "before")));
                literal = "";
            }
        }
    }
    if !varies && findings.is_empty() {
        findings.push(constant(template));
    }
    findings
}

fn first_of_each_code(judged: Vec<NameFinding>) -> impl Iterator<Item = NameFinding> {
    let mut seen = Vec::new();
    judged.into_iter().filter(move |found| {
        let is_first = !seen.contains(&found.code);
        seen.push(found.code);
        is_first
    })
}

fn too_long(bytes: usize) -> Finding {
    Finding {
        code: Code::R007,
        span: None,
        placeholder: None,
        word: None,
        category: None,
        message: format!("the template has {bytes} bytes and {MAX_FOREIGN_BYTES} are read"),
        help: "give the expression of the key alone, without the code around it".to_owned(),
    }
}

fn constant(template: &str) -> Finding {
    // As templates of other languages write what varies.
    let elsewhere = ["{", "%s", "%d"].iter().any(|mark| template.contains(mark));
    let help = if elsewhere {
        "write what varies in angle brackets, as the expression that it is: `invoice:<invoice.id>`"
    } else {
        "name what identifies the action, for instance `invoice:<invoice_id>`"
    };
    Finding {
        code: Code::R006,
        span: Some(Span { start: 0, end: template.len() }),
        placeholder: None,
        word: Some("constant".to_owned()),
        category: None,
        message:
            "nothing in the key varies, so every record of this operation would share one key and only the \
                  first would ever run"
                .to_owned(),
        help: help.to_owned(),
    }
}
