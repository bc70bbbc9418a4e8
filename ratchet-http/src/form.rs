//! Form bodies that are the same bytes on every attempt.

use serde::Serialize;
use serde_json::Value;

/// Why a value is no form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoForm {
    /// serde refused it.
    Unwritable,
    /// It has no names.
    Nameless,
}

impl NoForm {
    pub(crate) const fn explain(self) -> &'static str {
        match self {
            Self::Unwritable => "the form cannot be written: its `Serialize` implementation failed",
            Self::Nameless => {
                "a form has names: give it a struct, a map, or a list of pairs such as `[(\"amount\", \"700\")]`"
            }
        }
    }
}

/// The text of a form, with its names sorted. What is inside has its place in brackets: `metadata[order]`, `items[0][price]`.
pub(crate) fn encoded<T: Serialize + ?Sized>(body: &T) -> Result<String, NoForm> {
    let mut pairs = Vec::new();
    match serde_json::to_value(body).map_err(|_| NoForm::Unwritable)? {
        Value::Object(members) => members.iter().for_each(|(name, value)| flatten(name, value, &mut pairs)),
        Value::Array(items) => {
            for item in &items {
                let Some([Value::String(name), value]) = item.as_array().map(Vec::as_slice) else {
                    return Err(NoForm::Nameless);
                };
                flatten(name, value, &mut pairs);
            }
        }
        _ => return Err(NoForm::Nameless),
    }
    // Equal names stay in the order of the list.
    pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish())
}

fn flatten(name: &str, value: &Value, pairs: &mut Vec<(String, String)>) {
    match value {
        // A form has no sign for nothing.
        Value::Null => {}
        Value::Object(members) => {
            members.iter().for_each(|(inner, value)| flatten(&format!("{name}[{inner}]"), value, pairs));
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                flatten(&format!("{name}[{place}]"), item, pairs);
            }
        }
        Value::String(text) => pairs.push((name.to_owned(), text.clone())),
        scalar => pairs.push((name.to_owned(), scalar.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_inside_has_its_place_in_brackets() {
        let body = json!({"amount": 700, "metadata": {"order": "o 1&2"}, "items": [{"price": "p"}], "capture": true, "note": null});
        let expected = "amount=700&capture=true&items%5B0%5D%5Bprice%5D=p&metadata%5Border%5D=o+1%262";
        assert_eq!(encoded(&body).unwrap(), expected);
        assert_eq!(encoded(&json!({})).unwrap(), "");
    }

    #[test]
    fn names_are_sorted_whatever_holds_them_and_equal_ones_keep_their_order() {
        let map: HashMap<&str, u8> = [("z", 1), ("a", 2), ("m", 3)].into();
        assert_eq!(encoded(&map).unwrap(), "a=2&m=3&z=1");
        assert_eq!(encoded(&[("b", "2"), ("a", "z"), ("a", "y")]).unwrap(), "a=z&a=y&b=2");
    }

    #[test]
    fn what_has_no_names_is_no_form() {
        for nameless in [json!(7), json!("a=b"), json!([1]), json!([["a"]]), json!([[1, "a"]]), json!(null)] {
            assert_eq!(encoded(&nameless), Err(NoForm::Nameless), "{nameless}");
        }
    }
}
