//! Fields of inputs, columns of tables.

use ratchet_key::{Category, Code, Finding, NameFinding, Span, judge_field};

/// What one field gives away: `entity.field`, and after a tab the type, if it is known.
pub(super) fn judge(line: &str) -> Vec<Finding> {
    let mut columns = line.split('\t');
    let path = columns.next().unwrap_or_default().trim_end();
    let type_name = columns.next().map(str::trim).filter(|name| !name.is_empty());
    let start = path.rfind('.').map_or(0, |dot| dot + 1);
    let (entity, name) = path.split_at(start);
    let entity = Some(entity.trim_end_matches('.').trim()).filter(|entity| !entity.is_empty());
    let found = judge_field(entity, name.trim(), type_name);
    found.map(|found| finding(path, Span { start, end: path.len() }, found)).into_iter().collect()
}

/// The judgement in words about an input; those that come with it are about keys.
fn finding(path: &str, span: Span, found: NameFinding) -> Finding {
    let what = match found.category {
        _ if found.code == Code::R005 => "is a credential",
        Some(Category::IndirectPii) => "says something about a person",
        Some(Category::FinancialAccount) => "leads to a card or a bank account",
        Some(Category::Health) => "speaks of somebody's health",
        _ => "is personal data",
    };
    let help = match found.code {
        Code::R005 => "store it elsewhere and pass its id, or give it to the worker as `State<T>`",
        _ => {
            "pass the id of the record and read the rest in the handler; where the input needs it, `#[pii]` on the \
             field acknowledges and redacts it"
        }
    };
    Finding {
        code: found.code,
        span: Some(span),
        placeholder: None,
        message: format!(
            "`{}` in the field `{}` {what}, and inputs are stored with the record and shown to operators",
            found.word,
            path.trim()
        ),
        word: Some(found.word),
        category: found.category,
        help: help.to_owned(),
    }
}
