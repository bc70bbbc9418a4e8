//! Which texts a destination takes as a key.

use ratchet_key::MAX_KEY_BYTES;

/// Which texts a destination takes as a key.
///
/// An identity that fits goes out as it is; any other one as a UUID that is made of it with a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyFormat {
    min: usize,
    max: usize,
    characters: Characters,
    shape: Shape,
}

/// Which characters a key may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Characters {
    /// All that can be seen in ASCII: `!` to `~`.
    Visible,
    /// Letters and digits of ASCII, and these.
    AlphanumericAnd(&'static str),
}

/// What a key has to look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Anything.
    Free,
    /// Something that nobody can guess: who sends a key of somebody else is shown their answer.
    Unguessable,
    /// A UUID.
    Uuid,
    /// A UUID of version 4, where a destination looks at the version.
    UuidV4,
}

/// The length of a UUID as text.
const UUID_LENGTH: usize = 36;

impl KeyFormat {
    /// From 1 to 255 characters that can be seen: what is assumed where nothing is known.
    pub const ANY: Self = Self::up_to(255);

    /// A UUID. It is also what to choose for a destination that takes keys and does not say which: no limit is known that
    /// a UUID does not keep.
    pub const UUID: Self = Self { shape: Shape::Uuid, ..Self::ANY };

    /// At most this many characters of ASCII that can be seen.
    ///
    /// # Panics
    /// If a UUID, which has 36, would not fit; in a constant, the compiler says so.
    #[must_use]
    pub const fn up_to(max: usize) -> Self {
        assert!(max >= UUID_LENGTH, "a key has to have room for the 36 characters of a UUID");
        Self { min: 1, max, characters: Characters::Visible, shape: Shape::Free }
    }

    /// At least this many characters.
    ///
    /// # Panics
    /// If a UUID, which has 36, would be too short; in a constant, the compiler says so.
    #[must_use]
    pub const fn at_least(mut self, min: usize) -> Self {
        assert!(min <= UUID_LENGTH, "a key has to be allowed to be as short as the 36 characters of a UUID");
        self.min = min;
        self
    }

    /// Only letters and digits of ASCII, and these.
    ///
    /// # Panics
    /// Without `-`, which a UUID has; in a constant, the compiler says so.
    #[must_use]
    pub const fn alphanumeric_and(mut self, others: &'static str) -> Self {
        assert!(has(others, b'-'), "a key has to be allowed to have the hyphens of a UUID");
        self.characters = Characters::AlphanumericAnd(others);
        self
    }

    /// Something of this shape.
    #[must_use]
    pub const fn shaped(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self
    }

    /// The fewest and the most characters.
    #[must_use]
    pub const fn lengths(&self) -> (usize, usize) {
        (self.min, self.max)
    }

    /// Which characters.
    #[must_use]
    pub const fn characters(&self) -> Characters {
        self.characters
    }

    /// What it looks like.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// Whether this text is taken as it is.
    #[must_use]
    pub fn accepts(&self, key: &str) -> bool {
        let fits = (self.min..=self.max).contains(&key.len());
        fits && self.shape == Shape::Free && key.bytes().all(|byte| self.allows(byte))
    }

    /// Whether every identity of a record is taken as it is.
    #[must_use]
    pub fn accepts_every_key(&self) -> bool {
        let characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/-~%#!";
        let long_enough = self.min <= 1 && self.max >= MAX_KEY_BYTES;
        long_enough && self.shape == Shape::Free && characters.bytes().all(|byte| self.allows(byte))
    }

    const fn allows(&self, byte: u8) -> bool {
        match self.characters {
            Characters::Visible => byte.is_ascii_graphic(),
            Characters::AlphanumericAnd(others) => byte.is_ascii_alphanumeric() || has(others, byte),
        }
    }
}

const fn has(text: &str, byte: u8) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == byte {
            return true;
        }
        at += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "invoice:inv_2048:collect:v1";

    #[test]
    fn a_key_goes_out_as_it_is_where_its_characters_and_length_are_allowed() {
        assert!(KeyFormat::ANY.accepts(KEY) && KeyFormat::up_to(36).accepts(KEY));
        let refused = [
            KeyFormat::UUID,
            KeyFormat::ANY.shaped(Shape::Unguessable),
            KeyFormat::ANY.at_least(33),
            KeyFormat::ANY.alphanumeric_and("-_"),
        ];
        for format in refused {
            assert!(!format.accepts(KEY), "{format:?}");
        }
        assert!(KeyFormat::ANY.alphanumeric_and("-_:").accepts(KEY));
        assert!(!KeyFormat::up_to(36).accepts(&"x".repeat(37)));
        assert!(!KeyFormat::ANY.accepts("") && !KeyFormat::ANY.accepts("a b"));
    }

    #[test]
    fn only_a_format_without_narrow_limits_takes_every_key() {
        assert!(KeyFormat::ANY.accepts_every_key());
        assert!(KeyFormat::ANY.alphanumeric_and("_.:/-~%#!").accepts_every_key());
        for narrow in [
            KeyFormat::up_to(254),
            KeyFormat::UUID,
            KeyFormat::ANY.at_least(2),
            KeyFormat::ANY.alphanumeric_and("_.:/-~%#"),
        ] {
            assert!(!narrow.accepts_every_key(), "{narrow:?}");
        }
    }
}
