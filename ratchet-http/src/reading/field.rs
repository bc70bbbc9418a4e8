//! Fields of a body, found by a path such as `error.errors.*.reason`.

use serde_json::Value;

use super::xml;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A body that has fields, or was to have them.
pub(super) enum Document {
    Json(Value),
    /// The texts of the elements.
    Xml(Vec<(String, String)>),
    /// It begins as one that has fields, and cannot be read: cut off, or damaged on its way.
    Broken,
}

impl Document {
    /// `None` for what has no fields, such as a gateway's page.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body).trim_ascii();
        if let Ok(value) = serde_json::from_slice(body) {
            return Some(Self::Json(value));
        }
        let read = xml::texts(body).map(Self::Xml);
        read.or_else(|| begins_as_document(body).then_some(Self::Broken))
    }

    /// Whether the path leads to this text or number; `None` if that cannot be known.
    pub(super) fn has(&self, path: &str, value: &str) -> Option<bool> {
        match self {
            Self::Json(body) => Some(is_there(body, path, value)),
            Self::Xml(texts) => Some(texts.iter().any(|(found, text)| found == path && text == value)),
            Self::Broken => None,
        }
    }

    /// The first text or number that the path leads to.
    pub(super) fn text_at(&self, path: &str) -> Option<String> {
        match self {
            Self::Json(body) => text_at(body, path),
            Self::Xml(texts) => texts.iter().find(|(found, _)| found == path).map(|(_, text)| text.clone()),
            Self::Broken => None,
        }
    }
}

fn begins_as_document(body: &[u8]) -> bool {
    let is_page =
        |start: &[u8]| body.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start));
    match body.first() {
        Some(b'{' | b'[') => true,
        Some(b'<') => !is_page(b"<!doctype html") && !is_page(b"<html"),
        _ => false,
    }
}

fn is_there(body: &Value, path: &str, value: &str) -> bool {
    find(body, path, &mut |found| (as_text(found).as_deref() == Some(value)).then_some(())).is_some()
}

fn text_at(body: &Value, path: &str) -> Option<String> {
    find(body, path, &mut as_text)
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn find<T>(value: &Value, path: &str, pick: &mut impl FnMut(&Value) -> Option<T>) -> Option<T> {
    if path.is_empty() {
        return pick(value);
    }
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    match value {
        Value::Object(members) => find(members.get(name)?, rest, pick),
        Value::Array(items) if name == "*" => items.iter().find_map(|item| find(item, rest, pick)),
        Value::Array(items) => find(items.get(name.parse::<usize>().ok()?)?, rest, pick),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_through_objects_and_lists() {
        let body = serde_json::json!({"a": {"b": [{"c": "x"}, {"c": 704}]}, "d": true, "e.f": 1});
        assert!(is_there(&body, "a.b.*.c", "x") && is_there(&body, "a.b.*.c", "704"));
        assert!(is_there(&body, "a.b.1.c", "704") && is_there(&body, "d", "true"));
        for absent in ["a", "a.b", "a.b.*", "a.b.2.c", "a.b.x.c", "a.b.*.c.d", "e.f", "", "x"] {
            assert_eq!(text_at(&body, absent), None, "{absent}");
        }
        assert!(!is_there(&body, "a.b.0.c", "X"));
    }
}
