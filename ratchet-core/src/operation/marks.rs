//! What the fields of an input are marked as: personal, or no part of the fingerprint.

use std::marker::PhantomData;

use serde_json::Value;

use super::Input;
use crate::model::{HiddenPath, HiddenPaths, hide};

/// A field of an input that is marked, or holds fields that are; made by `#[derive(Input)]`.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    /// Its name in Rust, by which templates go.
    pub(super) field: &'static str,
    /// Its name in the JSON.
    name: &'static str,
    pub(super) personal: bool,
    pub(super) volatile: bool,
    /// A function, so that types which hold each other do not ask for each other while compiling.
    inner: fn() -> &'static [Mark],
}

impl Mark {
    /// The field that is called `name`.
    #[must_use]
    pub const fn field(name: &'static str) -> Self {
        Self { field: name, name, personal: false, volatile: false, inner: || &[] }
    }

    /// It has another name in the JSON.
    #[must_use]
    pub const fn written(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// Its value is not shown.
    #[must_use]
    pub const fn personal(mut self) -> Self {
        self.personal = true;
        self
    }

    /// Its value is no part of the fingerprint.
    #[must_use]
    pub const fn volatile(mut self) -> Self {
        self.volatile = true;
        self
    }

    /// Its type has marks of its own.
    #[must_use]
    pub const fn inner(mut self, inner: fn() -> &'static [Mark]) -> Self {
        self.inner = inner;
        self
    }
}

/// The marks of a type, whether it is an input or not.
///
/// Generated code names `Inner::<T>::MARKS` with [`Unmarked`] in scope: for an input, the constant of the type is found
/// first, and for everything else that of the trait.
#[derive(Debug)]
pub struct Inner<T>(PhantomData<T>);

impl<T: Input> Inner<T> {
    /// Those of the input.
    pub const MARKS: &'static [Mark] = T::MARKS;
}

/// The marks of a type that has none.
pub trait Unmarked {
    /// None.
    const MARKS: &'static [Mark] = &[];
}

impl<T> Unmarked for Inner<T> {}

/// Hides what is personal.
pub(crate) fn redact(value: &mut Value, marks: &[Mark]) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, marks)),
        Value::Object(fields) => {
            for mark in marks {
                match fields.get_mut(mark.name) {
                    Some(field) if mark.personal => hide(field),
                    Some(field) => redact(field, (mark.inner)()),
                    None => {}
                }
            }
        }
        _ => {}
    }
}

/// The input without what is no part of its fingerprint; `None` if that is all of it.
pub(crate) fn without_volatile(value: &Value, marks: &[Mark]) -> Option<Value> {
    if marks.is_empty() {
        return None;
    }
    let mut rest = value.clone();
    remove_volatile(&mut rest, marks).then_some(rest)
}

/// Whether there was any.
fn remove_volatile(value: &mut Value, marks: &[Mark]) -> bool {
    let mut removed = false;
    match value {
        Value::Array(items) => {
            for item in items {
                removed |= remove_volatile(item, marks);
            }
        }
        Value::Object(fields) => {
            for mark in marks {
                if mark.volatile {
                    removed |= fields.remove(mark.name).is_some();
                } else if let Some(field) = fields.get_mut(mark.name) {
                    removed |= remove_volatile(field, (mark.inner)());
                }
            }
        }
        _ => {}
    }
    removed
}

/// Types that hold themselves have paths without end; deeper than this, the whole field is hidden.
const DEEPEST_PATH: usize = 8;

/// The paths of what is personal.
pub(crate) fn hidden_paths(marks: &[Mark]) -> HiddenPaths {
    let mut paths = Vec::new();
    collect(marks, &HiddenPath::default(), &mut paths);
    HiddenPaths::new(paths)
}

fn collect(marks: &[Mark], before: &HiddenPath, paths: &mut Vec<HiddenPath>) {
    for mark in marks {
        let here = before.field(mark.name);
        let inner = (mark.inner)();
        if mark.personal || (here.depth() >= DEEPEST_PATH && !inner.is_empty()) {
            paths.push(here);
        } else {
            collect(inner, &here, paths);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::HIDDEN;

    const CUSTOMER: &[Mark] = &[Mark::field("e/mail").personal(), Mark::field("seen").volatile()];
    const ORDER: &[Mark] = &[
        Mark::field("note").personal(),
        Mark::field("customers").inner(|| CUSTOMER),
        Mark::field("at").volatile(),
    ];
    const TREE: &[Mark] = &[Mark::field("name").personal(), Mark::field("children").inner(|| TREE)];

    fn order() -> Value {
        json!({"id": 7, "note": null, "at": 1, "customers": [{"e/mail": "a", "seen": 2}, {"id": 3, "e/mail": "b"}]})
    }

    #[test]
    fn what_is_personal_is_hidden_at_every_level_and_nothing_else() {
        let mut value = order();
        let customers = json!([{"e/mail": HIDDEN, "seen": 2}, {"id": 3, "e/mail": HIDDEN}]);
        let shown = json!({"id": 7, "note": null, "at": 1, "customers": customers});
        redact(&mut value, ORDER);
        assert_eq!(value, shown);
        let mut value = order();
        hidden_paths(ORDER).hide(&mut value);
        assert_eq!(value, shown);
    }

    #[test]
    fn the_fingerprint_leaves_out_what_is_volatile_at_every_level() {
        let rest = json!({"id": 7, "note": null, "customers": [{"e/mail": "a"}, {"id": 3, "e/mail": "b"}]});
        assert_eq!(without_volatile(&order(), ORDER), Some(rest));
        assert_eq!(without_volatile(&json!({"id": 7}), ORDER), None);
        assert_eq!(without_volatile(&order(), &[]), None);
    }

    #[test]
    fn a_type_that_holds_itself_has_a_finite_list_that_hides_more() {
        let mut value = (0..20).fold(json!([]), |inner, _| json!([{"name": "x", "children": inner}]));
        let mut exact = value.clone();
        hidden_paths(TREE).hide(&mut value);
        assert!(!value.to_string().contains("\"x\""), "{value}");
        redact(&mut exact, TREE);
        assert_eq!(exact.to_string().matches(HIDDEN).count(), 20);
    }
}
