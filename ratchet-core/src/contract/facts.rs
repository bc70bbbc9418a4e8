//! What else a destination documents, for people and for what asks it.

/// A page that says what a contract says, and when it was read: what providers promise changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Source {
    /// What the page says.
    pub says: &'static str,
    /// Where it is.
    pub url: &'static str,
    /// The day on which it was read, such as `2026-11-29`.
    pub read_on: &'static str,
}

impl Source {
    /// A page, what it says, and when it was read.
    #[must_use]
    pub const fn new(says: &'static str, url: &'static str, read_on: &'static str) -> Self {
        Self { says, url, read_on }
    }
}

/// By what a destination keeps equal keys apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScopePart {
    /// The account.
    Account,
    /// The credential: another API key of the same account makes another key space.
    Credential,
    /// The region, or another of its addresses.
    Region,
    /// Method and path.
    Route,
}

/// What comes of another request under a known key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OtherInput {
    /// Nobody says.
    Undocumented,
    /// It is refused.
    Refused,
    /// It gets the answer of the first one, and is not noticed.
    NotNoticed,
    /// It is a new action.
    NewAction,
}

/// What a repeated request gets after the first one had its effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Repeats {
    /// Nobody says.
    Undocumented,
    /// The answer of the first one.
    FirstAnswer,
    /// An answer with what is the case now.
    CurrentState,
    /// An answer that looks like an error.
    Conflict,
    /// An answer as if it were accepted; nothing is done.
    SilentDrop,
}

/// Which answers are kept for those that repeat a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Remembered {
    /// Nobody says.
    Undocumented,
    /// Successes; whatever failed is tried again.
    Successes,
    /// Successes, and refusals of the client's request (4xx).
    SuccessesAndRefusals,
    /// Everything after the request began to be executed, failures too: a corrected request needs a new generation.
    Everything,
}
