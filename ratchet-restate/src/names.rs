//! What the engine knows things by. It is part of the stored form: a name never changes its meaning.

/// The virtual object of the records under one key.
pub(crate) const RECORD: &str = "RatchetRecord";

/// The virtual object of what is kept beside records: one for each gate and document, and one for the store as a whole.
pub(crate) const STORE: &str = "RatchetStore";

/// The service that is told what is due; with a digest behind it, those that make the attempts.
pub(crate) const ATTEMPT: &str = "RatchetAttempt";

/// The entry of a record object that holds its [`Book`](crate::book::Book).
pub(crate) const BOOK: &str = "book";

/// The entry of a record object that listings read.
pub(crate) const INDEX: &str = "index";

/// The entries of the store's objects.
pub(crate) const PLACE: &str = "place";
pub(crate) const MARK: &str = "mark";
pub(crate) const CATALOGUE: &str = "catalogue";
pub(crate) const GATE: &str = "gate";
pub(crate) const DOCUMENT: &str = "document";

/// The key of the object for the store as a whole.
pub(crate) const WHOLE: &str = "store";

/// How a handler answers that it cannot read what is stored.
pub(crate) const UNREADABLE: u16 = 520;
