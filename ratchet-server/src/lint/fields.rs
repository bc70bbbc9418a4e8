//! Fields of inputs, columns of tables.

use ratchet_key::{Finding, NameFinding, Span, judge_field};

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

fn finding(path: &str, span: Span, found: NameFinding) -> Finding {
    let NameFinding { code, word, category, why, help } = found;
    Finding {
        code,
        span: Some(span),
        placeholder: None,
        message: format!("`{word}` in the field `{}` {why}", path.trim()),
        word: Some(word),
        category,
        help: help.to_owned(),
    }
}
