//! What is compared while compiling: names, versions and templates.

use super::overlap::{Edges, overlap};
use super::text::Text;
use super::{Handler, Texts};

/// Name, version and key template of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declared {
    /// The operation's name.
    pub name: Hashed,
    /// The version of its code.
    pub version: Hashed,
    /// The key template as written.
    pub template: &'static str,
    edges: Edges,
    new_identity: bool,
    /// It stands in for one that does not compile, so nothing more is said about it.
    refused: bool,
}

impl Declared {
    /// What is compared of an operation.
    #[must_use]
    pub const fn of([name, version, template]: Texts, new_identity: bool) -> Self {
        // Not of the specification: if that is wrong, its own error is the only one.
        Self::new(name, version, template, new_identity)
    }

    const fn new(
        name: &'static str,
        version: &'static str,
        template: &'static str,
        new_identity: bool,
    ) -> Self {
        Self {
            name: Hashed::new(name),
            version: Hashed::new(version),
            template,
            edges: Edges::of(template),
            new_identity,
            refused: template.is_empty(),
        }
    }
}

/// A text with its hash: comparing many texts byte by byte is slow while compiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hashed {
    text: &'static str,
    hash: u64,
}

impl Hashed {
    const fn new(text: &'static str) -> Self {
        Self { text, hash: hash(text) }
    }

    /// The text.
    #[must_use]
    pub const fn text(&self) -> &'static str {
        self.text
    }

    const fn is(&self, other: &Self) -> bool {
        self.hash == other.hash && equal(self.text, other.text)
    }
}

/// In what two operations of one registry clash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clash {
    /// Both have one name and version.
    SameOperation(usize, usize),
    /// They have different names, and templates that can render one key: two actions would share it.
    SharedKey(usize, usize),
    /// Both have one name, and different templates: one action would have two keys.
    OtherTemplate(usize, usize),
}

impl Clash {
    /// Which two, by their places.
    #[must_use]
    pub const fn places(self) -> (usize, usize) {
        let (Self::SameOperation(one, other) | Self::SharedKey(one, other) | Self::OtherTemplate(one, other)) =
            self;
        (one, other)
    }

    /// What is wrong and what to do.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::SameOperation(..) => {
                "they have the same name and version; give one of them another name, or list it once if it is one operation"
            }
            Self::SharedKey(..) => {
                "some values give both the same key, so two actions could not be told apart; name the action in the template, such as `:collect`"
            }
            Self::OtherTemplate(..) => {
                "two versions of one name have different key templates, so one action would have two keys; use the same template or another name, or say why the keys may change: `new_identity = \"reason\"`"
            }
        }
    }
}

/// The first pair of operations that cannot live in one registry.
#[must_use]
pub const fn first_clash(all: &[Declared]) -> Option<Clash> {
    let mut at = 0;
    while at < all.len() {
        let mut earlier = 0;
        while earlier < at {
            if let Some(clash) = clash(&all[earlier], &all[at], earlier, at) {
                return Some(clash);
            }
            earlier += 1;
        }
        at += 1;
    }
    None
}

const fn clash(one: &Declared, other: &Declared, at: usize, and: usize) -> Option<Clash> {
    if one.refused || other.refused {
        return None;
    }
    if one.name.is(&other.name) {
        if one.version.is(&other.version) {
            return Some(Clash::SameOperation(at, and));
        }
        // As the ledger compares them: by their texts, since a renamed placeholder may be another value.
        let may_differ = one.new_identity || other.new_identity;
        let differ = !may_differ && !equal(one.template, other.template);
        return if differ { Some(Clash::OtherTemplate(at, and)) } else { None };
    }
    if one.edges.are_apart(&other.edges) || !overlap(one.template, other.template) {
        return None;
    }
    Some(Clash::SharedKey(at, and))
}

impl Declared {
    /// The most operations that one registry holds.
    pub const MOST: usize = 1024;
}

/// Stops the compiler if the operation at `place` of a registry clashes with one before it, and names both.
///
/// # Panics
/// If it does.
pub const fn require_apart(all: &[Handler], place: usize) {
    assert!(all.len() <= Declared::MOST, "a registry holds at most 1024 operations: use several workers");
    let mut earlier = 0;
    while earlier < place {
        let (one, other) = (all[earlier].declared(), all[place].declared());
        if let Some(found) = clash(one, other, earlier, place) {
            let text = Text::new()
                .push("R014: `")
                .push(one.name.text)
                .push("` version ")
                .push(one.version.text)
                .push(" and `")
                .push(other.name.text)
                .push("` version ")
                .push(other.version.text)
                .push(" clash: ")
                .push(found.explain());
            panic!("{}", text.as_str());
        }
        earlier += 1;
    }
}

/// In the manner of FNV-1a, over eight bytes at a time: each step of it is one of the compiler.
const fn hash(text: &str) -> u64 {
    const PRIME: u64 = 0x0100_0000_01b3;
    let mut rest = text.as_bytes();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    while let Some((eight, others)) = rest.split_first_chunk::<8>() {
        hash = (hash ^ u64::from_le_bytes(*eight)).wrapping_mul(PRIME).rotate_left(29);
        rest = others;
    }
    while let Some((one, others)) = rest.split_first() {
        hash = (hash ^ *one as u64).wrapping_mul(PRIME);
        rest = others;
    }
    hash
}

const fn equal(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn declared(name: &'static str, version: &'static str, template: &'static str) -> Declared {
        Declared::new(name, version, template, false)
    }

    #[test]
    fn finds_each_kind_of_clash() {
        let a1 = declared("a", "1", "a:<>");
        assert_eq!(first_clash(&[a1, declared("a", "2", "a:<>"), declared("b", "1", "b:<>")]), None);
        assert_eq!(first_clash(&[a1, declared("b", "1", "b:<>"), a1]), Some(Clash::SameOperation(0, 2)));
        assert_eq!(first_clash(&[a1, declared("b", "1", "a:<>")]), Some(Clash::SharedKey(0, 1)));
        assert_eq!(first_clash(&[a1, declared("b", "1", "a:all")]), Some(Clash::SharedKey(0, 1)));
        assert_eq!(first_clash(&[a1, declared("a", "2", "x:<>")]), Some(Clash::OtherTemplate(0, 1)));
    }

    #[test]
    fn versions_are_compared_by_the_text_of_their_templates_unless_one_has_a_reason() {
        let first = declared("a", "1", "a:<id>");
        let renamed = declared("a", "2", "a:<order>");
        let with_reason = |one: Declared| Declared { new_identity: true, ..one };
        assert_eq!(first_clash(&[first, renamed]), Some(Clash::OtherTemplate(0, 1)));
        assert_eq!(first_clash(&[first, with_reason(renamed)]), None);
        assert_eq!(first_clash(&[with_reason(first), renamed]), None);
        let same = with_reason(declared("a", "1", "b:<id>"));
        assert_eq!(first_clash(&[first, same]), Some(Clash::SameOperation(0, 1)));
    }

    #[test]
    fn what_does_not_compile_clashes_with_nothing() {
        let sound = declared("a", "1", "a:<>");
        let refused = declared("a", "1", "");
        assert_eq!(first_clash(&[sound, refused, refused]), None);
    }
}
