//! How the values of an input become a key.

use ratchet_key::{Key, KeyError, KeyWriter, PartWriter};

use crate::key_part::{Form, KeyPart};

/// One placeholder of a key: where its value is found, and how it is written.
#[derive(Debug)]
pub struct Part<I, T> {
    get: fn(&I) -> &T,
    write: fn(&T, PartWriter<'_>) -> Result<(), KeyError>,
    kind: Kind,
}

/// What the type of a placeholder says about its values.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Whether they can tell records apart.
    pub(super) distinguishes: bool,
    /// How JSON writes them.
    pub(super) form: Form,
}

/// The placeholder that stands for what `get` gives. Only here is asked for what a type must be, so that a type that
/// is not is one error.
#[must_use]
pub const fn part<I, T: KeyPart>(get: fn(&I) -> &T) -> Part<I, T> {
    Part { get, write: T::write, kind: Kind { distinguishes: T::DISTINGUISHES, form: T::FORM } }
}

impl<I, T> Part<I, T> {
    /// What its type says.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }
}

/// A key that is being rendered: literals and parts in the order of the template.
#[derive(Debug, Default)]
pub struct Render {
    key: KeyWriter,
}

impl Render {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What the template begins with.
    #[must_use]
    pub fn of(text: &'static str) -> Self {
        let mut render = Self::new();
        render.literal(text);
        render
    }

    /// Appends literal text of the template.
    #[inline]
    pub fn literal(&mut self, text: &'static str) -> &mut Self {
        self.key.literal(text);
        self
    }

    /// Appends the value that a placeholder names. The first value that is refused makes [`finish`](Self::finish) fail.
    #[allow(clippy::needless_pass_by_value, reason = "a part is made where it is used")]
    #[inline]
    pub fn part<I, T>(&mut self, part: Part<I, T>, input: &I) -> &mut Self {
        // The writer remembers the failure.
        let _ = (part.write)((part.get)(input), self.key.part());
        self
    }

    /// The rendered key.
    ///
    /// # Errors
    /// If a value was refused, or the key is too long.
    pub fn finish(&mut self) -> Result<Key, KeyError> {
        std::mem::take(&mut self.key).finish()
    }
}
