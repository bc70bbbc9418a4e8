//! What the fields of an input are marked as: personal, or no part of the fingerprint.

use std::marker::PhantomData;
use std::ptr;

use serde_json::Value;

use super::Input;
use crate::model::{HiddenPath, HiddenPaths, ObjectKind, VolatileFields, hide};

/// A field of an input that is marked, or holds fields that are; made by `#[derive(Input)]`.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    /// Its name in Rust, by which templates go.
    pub(super) field: &'static str,
    /// Its name in the JSON; `None` if its own fields stand among those around it.
    name: Option<&'static str>,
    pub(super) personal: bool,
    pub(super) volatile: bool,
    /// A function, so that types which hold each other do not ask for each other while compiling.
    inner: fn() -> &'static [Mark],
    /// Whether the inner marks hold at places that are not known.
    scattered: bool,
}

impl Mark {
    /// The field that is called `name`.
    #[must_use]
    pub const fn field(name: &'static str) -> Self {
        Self {
            field: name,
            name: Some(name),
            personal: false,
            volatile: false,
            inner: || &[],
            scattered: false,
        }
    }

    /// It has another name in the JSON.
    #[must_use]
    pub const fn written(mut self, name: &'static str) -> Self {
        self.name = Some(name);
        self
    }

    /// Its own fields stand among those around it.
    #[must_use]
    pub const fn flattened(mut self) -> Self {
        self.name = None;
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

    /// A type with marks of its own is somewhere in it: if something of that is personal, all of it is hidden.
    #[must_use]
    pub const fn scattered(mut self, inner: fn() -> &'static [Mark]) -> Self {
        self.scattered = true;
        self.inner(inner)
    }

    /// Where it stands in an object.
    fn place<'v>(&self, object: &'v mut Value) -> Option<&'v mut Value> {
        match self.name {
            Some(name) => object.get_mut(name),
            None => Some(object),
        }
    }

    fn hides_all(&self) -> bool {
        self.personal || self.scattered && has_personal((self.inner)())
    }
}

/// The marks of a type, whether it is an input or not.
///
/// Generated code names `Inner::<T>::MARKS` with [`Unmarked`] in scope: for an input, the constant of the type is found
/// first, and for everything else that of the trait.
#[derive(Debug)]
pub struct Inner<T: ?Sized>(PhantomData<T>);

impl<T: Input> Inner<T> {
    /// Those of the input.
    pub const MARKS: &'static [Mark] = T::MARKS;
}

/// The marks of a type that has none.
pub trait Unmarked {
    /// None.
    const MARKS: &'static [Mark] = &[];
}

impl<T: ?Sized> Unmarked for Inner<T> {}

/// Hides what is personal.
pub(crate) fn redact(value: &mut Value, marks: &'static [Mark]) {
    match value {
        Value::Null => {}
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, marks)),
        Value::Object(_) => {
            for mark in marks {
                match mark.place(value) {
                    Some(field) if mark.hides_all() => hide(field),
                    Some(field) => redact(field, (mark.inner)()),
                    None => {}
                }
            }
        }
        // What is personal is written in another form than in fields.
        _ if has_personal(marks) => hide(value),
        _ => {}
    }
}

/// Whether something is personal, at any level.
fn has_personal(marks: &'static [Mark]) -> bool {
    fn seek(marks: &'static [Mark], seen: &mut Vec<&'static [Mark]>) -> bool {
        if holds(seen, marks) {
            return false;
        }
        seen.push(marks);
        marks.iter().any(|mark| mark.personal || seek((mark.inner)(), seen))
    }
    seek(marks, &mut Vec::new())
}

/// Whether the marks of a type are among these. A type that holds itself comes to the same place in memory again, though
/// perhaps not at once: a constant may have several.
fn holds(types: &[&'static [Mark]], marks: &'static [Mark]) -> bool {
    types.iter().any(|other| ptr::eq(*other, marks))
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
            for mark in marks.iter().filter(|mark| mark.volatile) {
                removed |= mark.name.is_some_and(|name| fields.remove(name).is_some());
            }
            for mark in marks.iter().filter(|mark| !mark.scattered) {
                if let Some(field) = mark.place(value) {
                    removed |= remove_volatile(field, (mark.inner)());
                }
            }
        }
        _ => {}
    }
    removed
}

/// What the fingerprint leaves out, for programs that do not have the types.
pub(crate) fn volatile_fields(marks: &'static [Mark]) -> VolatileFields {
    let mut types = vec![marks];
    let mut kinds = Vec::new();
    while let Some(marks) = types.get(kinds.len()).copied() {
        let mut kind = ObjectKind::default();
        describe(marks, &mut kind, &mut types, &mut Vec::new());
        kinds.push(kind);
    }
    VolatileFields::new(kinds)
}

/// Adds the marks of a type to the kind of its objects; `flattened` are types whose fields stand in it already.
fn describe(
    marks: &'static [Mark],
    kind: &mut ObjectKind,
    types: &mut Vec<&'static [Mark]>,
    flattened: &mut Vec<&'static [Mark]>,
) {
    for mark in marks {
        let inner = (mark.inner)();
        if let Some(name) = mark.name.filter(|_| mark.volatile) {
            kind.without.insert(name.to_owned());
        }
        match mark.name {
            _ if mark.scattered || inner.is_empty() => {}
            Some(name) => {
                kind.within.entry(name.to_owned()).or_default().insert(place_of(inner, types));
            }
            None if holds(flattened, inner) => {}
            None => {
                flattened.push(inner);
                describe(inner, kind, types, flattened);
            }
        }
    }
}

/// Where the type stands in the list, at its end if it is new.
fn place_of(marks: &'static [Mark], types: &mut Vec<&'static [Mark]>) -> usize {
    let known = types.iter().position(|other| ptr::eq(*other, marks));
    known.unwrap_or_else(|| {
        types.push(marks);
        types.len() - 1
    })
}

/// The paths of what is personal.
pub(crate) fn hidden_paths(marks: &'static [Mark]) -> HiddenPaths {
    let mut paths = Vec::new();
    collect(marks, &HiddenPath::default(), &mut Vec::new(), &mut paths);
    HiddenPaths::new(paths)
}

/// `around` are the types that lead here. One that holds itself has paths without end, so it is hidden as a whole.
fn collect(
    marks: &'static [Mark],
    before: &HiddenPath,
    around: &mut Vec<&'static [Mark]>,
    paths: &mut Vec<HiddenPath>,
) {
    around.push(marks);
    for mark in marks {
        let here = mark.name.map_or_else(|| before.clone(), |name| before.field(name));
        let inner = (mark.inner)();
        let again = holds(around, inner);
        if mark.hides_all() || again && has_personal(inner) {
            paths.push(here);
        } else if !again {
            collect(inner, &here, around, paths);
        }
    }
    around.pop();
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

    const LIST: &[Mark] = &[
        Mark::field("name").personal(),
        Mark::field("next").inner(|| LIST),
        Mark::field("last").inner(|| LIST),
    ];

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
    fn what_the_fingerprint_leaves_out_is_told_to_programs_without_the_types() {
        const PARTS: &[Mark] = &[
            Mark::field("flat").flattened().inner(|| CUSTOMER),
            Mark::field("order").written("Order").inner(|| ORDER),
            Mark::field("by_id").scattered(|| CUSTOMER),
        ];
        const NODE: &[Mark] = &[Mark::field("at").volatile(), Mark::field("children").inner(|| NODE)];
        let told = |marks| serde_json::to_value(volatile_fields(marks)).unwrap();
        assert_eq!(
            told(PARTS),
            json!([
                {"without": ["seen"], "within": {"Order": [1]}},
                {"without": ["at"], "within": {"customers": [2]}},
                {"without": ["seen"], "within": {}},
            ])
        );
        assert_eq!(told(TREE), json!([]));
        // However often the compiler wrote the constant down.
        let kinds = told(NODE);
        let kinds = kinds.as_array().unwrap();
        assert!((1..5).contains(&kinds.len()), "{kinds:?}");
        for kind in kinds {
            assert_eq!(kind["without"], json!(["at"]));
            let child = kind["within"]["children"][0].as_u64().unwrap();
            assert!(kinds.get(usize::try_from(child).unwrap()).is_some(), "{kinds:?}");
        }
    }

    #[test]
    fn what_is_personal_is_hidden_with_all_around_it_where_its_place_is_not_known() {
        const DAY: &[Mark] = &[Mark::field("seen").volatile()];
        const PLACES: &[Mark] = &[
            Mark::field("flat").flattened().inner(|| CUSTOMER),
            Mark::field("by_id").scattered(|| CUSTOMER),
            Mark::field("by_day").scattered(|| DAY),
        ];
        let value = json!({"e/mail": "a", "seen": 2, "by_id": {"7": {"e/mail": "a"}}, "by_day": {"seen": 1}});
        let shown = json!({"e/mail": HIDDEN, "seen": 2, "by_id": HIDDEN, "by_day": {"seen": 1}});
        for (mut value, shown) in
            [(value.clone(), shown), (json!("a"), json!(HIDDEN)), (json!(null), json!(null))]
        {
            let mut stored = value.clone();
            hidden_paths(PLACES).hide(&mut stored);
            redact(&mut value, PLACES);
            assert_eq!((&value, &stored), (&shown, &shown));
        }
        let rest = json!({"e/mail": "a", "by_id": {"7": {"e/mail": "a"}}, "by_day": {"seen": 1}});
        assert_eq!(without_volatile(&value, PLACES), Some(rest));
    }

    #[test]
    fn a_type_that_holds_itself_and_nothing_personal_hides_nothing() {
        const PLAIN: &[Mark] = &[Mark::field("at").volatile(), Mark::field("children").inner(|| PLAIN)];
        assert!(hidden_paths(PLAIN).is_empty());
    }

    #[test]
    fn a_type_that_holds_itself_has_a_finite_list_that_hides_more() {
        let mut value = (0..20).fold(json!([]), |inner, _| json!([{"name": "x", "children": inner}]));
        let mut exact = value.clone();
        hidden_paths(TREE).hide(&mut value);
        assert!(!value.to_string().contains("\"x\""), "{value}");
        redact(&mut exact, TREE);
        assert_eq!(exact.to_string().matches(HIDDEN).count(), 20);
        // However many ways lead back to it.
        let paths = serde_json::to_value(hidden_paths(LIST)).unwrap();
        assert!(paths.as_array().unwrap().len() < 10, "{paths}");
    }
}
