//! Whether two templates can render one key.
//!
//! Everything here runs while compiling, for each pair of operations in a registry.

/// How a template begins and ends, as far as no value stands there, as numbers: where two differ in them, no key is
/// shared, and the compiler has few steps to do. Byte by byte, a thousand operations take it minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edges([Word; 6]);

/// Sixteen bytes, and ones where they say something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Word {
    bytes: u128,
    known: u128,
}

impl Edges {
    pub(super) const fn of(template: &str) -> Self {
        let template = template.as_bytes();
        Self([
            Word::of(template, 0, false),
            Word::of(template, 16, false),
            Word::of(template, 32, false),
            Word::of(template, 48, false),
            Word::of(template, 0, true),
            Word::of(template, 16, true),
        ])
    }

    pub(super) const fn are_apart(&self, other: &Self) -> bool {
        let (one, other) = (&self.0, &other.0);
        one[0].differs(other[0])
            || one[4].differs(other[4])
            || one[1].differs(other[1])
            || one[2].differs(other[2])
            || one[3].differs(other[3])
            || one[5].differs(other[5])
    }
}

impl Word {
    /// The bytes after the first `skipped`, counted from one of the ends, up to a value.
    const fn of(template: &[u8], skipped: usize, from_end: bool) -> Self {
        let (mut bytes, mut known, mut at) = (0, 0, 0);
        while at < template.len() && at < skipped + 16 {
            let byte = if from_end { template[template.len() - 1 - at] } else { template[at] };
            if matches!(byte, b'<' | b'>') {
                break;
            }
            if at >= skipped {
                let place = 8 * (at - skipped);
                bytes |= (byte as u128) << place;
                known |= 0xff << place;
            }
            at += 1;
        }
        Self { bytes, known }
    }

    const fn differs(self, other: Self) -> bool {
        (self.bytes ^ other.bytes) & self.known & other.known != 0
    }
}

/// Whether some values give both templates the same key, whatever their placeholders are called.
///
/// Values are not empty and contain no separator, and between two placeholders stands one: so the templates are compared
/// from one separator to the next.
pub(super) const fn overlap(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    loop {
        let (mine, theirs) = (Segment::first(one), Segment::first(other));
        if !mine.meets(&theirs) {
            return false;
        }
        (one, other) = (one.split_at(mine.length).1, other.split_at(theirs.length).1);
        match (one.split_first(), other.split_first()) {
            (None, None) => return true,
            (Some((mine, rest)), Some((theirs, others))) if *mine == *theirs => (one, other) = (rest, others),
            _ => return false,
        }
    }
}

/// What stands between two separators: a text, or a value with text around it.
struct Segment<'a> {
    before: &'a [u8],
    /// What follows on the value, if there is one.
    after: Option<&'a [u8]>,
    length: usize,
}

impl<'a> Segment<'a> {
    /// The one that a template begins with.
    const fn first(template: &'a [u8]) -> Self {
        let mut length = 0;
        let mut hole = None;
        let mut end_of_hole = 0;
        while length < template.len() && !matches!(template[length], b':' | b'/') {
            match template[length] {
                b'<' => hole = Some(length),
                b'>' => end_of_hole = length + 1,
                _ => {}
            }
            length += 1;
        }
        let whole = template.split_at(length).0;
        match hole {
            None => Self { before: whole, after: None, length },
            Some(at) => {
                Self { before: whole.split_at(at).0, after: Some(whole.split_at(end_of_hole).1), length }
            }
        }
    }

    const fn meets(&self, other: &Self) -> bool {
        match (self.after, other.after) {
            (None, None) => self.before.len() == other.before.len() && begin_alike(self.before, other.before),
            (None, Some(after)) => renders(other.before, after, self.before),
            (Some(after), None) => renders(self.before, after, other.before),
            (Some(mine), Some(theirs)) => begin_alike(self.before, other.before) && end_alike(mine, theirs),
        }
    }
}

/// Whether some value between the two makes the text.
const fn renders(before: &[u8], after: &[u8], text: &[u8]) -> bool {
    before.len() + after.len() < text.len() && begin_alike(before, text) && end_alike(after, text)
}

/// Whether the shorter one is how the longer one begins.
const fn begin_alike(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// Whether the shorter one is how the longer one ends.
const fn end_alike(one: &[u8], other: &[u8]) -> bool {
    let mut from_end = 1;
    while from_end <= one.len() && from_end <= other.len() {
        if one[one.len() - from_end] != other[other.len() - from_end] {
            return false;
        }
        from_end += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both_ways(one: &str, other: &str) -> bool {
        let found = overlap(one, other);
        assert_eq!(found, overlap(other, one), "{one} {other}");
        assert!(!found || !Edges::of(one).are_apart(&Edges::of(other)), "{one} {other}");
        found
    }

    #[test]
    fn templates_overlap_where_some_values_give_one_key() {
        for (one, other) in [
            ("invoice:<>", "invoice:<>"),
            ("invoice:<>:collect", "invoice:<>:<>"),
            ("invoice:<>", "invoice:all"),
            ("<>:a", "b:<>"),
            ("in<>", "inv<>"),
            ("<>ice", "<>e"),
            ("a<>", "<>b"),
            ("a:x<>y", "a:xzy"),
            ("a/<>/c", "<>/b/c"),
            ("v<>:a.b", "v1:<>.b"),
            ("a:x<invoice.id>y:<b>", "a:<c>:1"),
        ] {
            assert!(both_ways(one, other), "{one} {other}");
        }
    }

    #[test]
    fn edges_tell_most_templates_apart() {
        for (one, other) in [
            ("a-very-long-beginning-of-a-key/of-this:<>", "a-very-long-beginning-of-a-key/of-that:<>"),
            ("order:<>:a-very-long-end-of-a-key", "order:<>:b-very-long-end-of-a-key"),
        ] {
            assert!(Edges::of(one).are_apart(&Edges::of(other)), "{one} {other}");
        }
    }

    #[test]
    fn templates_are_apart_where_no_values_give_one_key() {
        for (one, other) in [
            ("order:<>", "order:<>:ship"),
            ("order:<>", "order/<>"),
            ("order:<>:ship", "order:<>:bill"),
            ("order:<>", "orders:<>"),
            ("in<>", "out<>"),
            ("<>a", "<>b"),
            ("a:x<>y", "a:xy"),
            ("a:x<>x", "a:x"),
            ("a:xx<>xx", "a:xxx"),
            ("<>:<>", "<>"),
            ("order-<>", "order:<>"),
            ("a-very-long-beginning:<>", "a-very-long-beginninh:<>"),
            ("a:x<invoice.id>y", "a:<c>z"),
        ] {
            assert!(!both_ways(one, other), "{one} {other}");
        }
    }
}
