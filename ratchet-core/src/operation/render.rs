//! How the values of an input become a key.

use ratchet_key::{Key, KeyError, KeyWriter};

use crate::key_part::KeyPart;

/// One placeholder of a key: the value that it names.
#[derive(Debug)]
pub struct Part<I, T> {
    get: fn(&I) -> &T,
}

/// The placeholder that stands for what `get` gives.
#[must_use]
pub const fn part<I, T: KeyPart>(get: fn(&I) -> &T) -> Part<I, T> {
    Part { get }
}

impl<I, T: KeyPart> Part<I, T> {
    /// Whether its values can tell records apart.
    #[must_use]
    pub const fn distinguishes(&self) -> bool {
        T::DISTINGUISHES
    }
}

/// A key that is being rendered: literals and parts in the order of the template.
#[derive(Debug, Default)]
#[must_use = "the key is rendered when it is finished"]
pub struct Render {
    key: KeyWriter,
}

impl Render {
    /// Appends literal text of the template.
    pub fn literal(mut self, text: &'static str) -> Self {
        self.key.literal(text);
        self
    }

    /// Appends the value that a placeholder names. The first value that is refused makes [`finish`](Self::finish) fail.
    pub fn part<I, T: KeyPart>(mut self, part: Part<I, T>, input: &I) -> Self {
        // The writer remembers the failure.
        let _ = (part.get)(input).write(self.key.part());
        self
    }

    /// The rendered key.
    ///
    /// # Errors
    /// If a value was refused, or the key is too long.
    pub fn finish(self) -> Result<Key, KeyError> {
        self.key.finish()
    }
}
