//! Answers that mean something else than their status.

use super::mechanism::{require_header_name, require_path};

/// An answer that means something else than its status alone says.
///
/// ```
/// use ratchet_core::contract::Signal;
///
/// // The destination answers 409 while another request with the key is under way, and says so in its body.
/// const IN_FLIGHT: Signal = Signal::in_flight(409).when_field("error.code", "request_in_progress");
/// // It answers 409 as well if the key has done its work, and names what it made.
/// const DONE: Signal = Signal::done(409).when_field("error.code", "already_created").naming("error.resource_id");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signal {
    first: u16,
    last: u16,
    marker: Marker,
    meaning: Meaning,
}

/// What an answer has beside its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Marker {
    /// Nothing: the status says it all.
    None,
    /// A header with this value; both in any case.
    Header(&'static str, &'static str),
    /// A text or number in the JSON body with this value. Dots lead into objects, `*` means every item of a list. In an XML
    /// body, the text of an element: dots lead from the outermost one into those inside, such as `Response.Error.Code`.
    Field(&'static str, &'static str),
}

/// What an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Meaning {
    /// A request with this key is under way: nobody knows how it ends.
    InFlight,
    /// The effect happened, under this key, before.
    Done {
        /// Where the body names what the effect made.
        resource: Option<&'static str>,
    },
    /// The destination knows the key with another request, so some request with it has arrived.
    Mismatch,
    /// Refused, by a destination that looked the key up first and keeps the refusal: no request with it had an effect.
    RefusedAfterLookup,
    /// This request certainly had no effect; an earlier one may have had it.
    NotApplied,
}

impl Signal {
    /// A request with the key is under way.
    #[must_use]
    pub const fn in_flight(status: u16) -> Self {
        Self::new(status, Meaning::InFlight)
    }

    /// The effect happened before; [`naming`](Self::naming) says where the answer names what it made.
    #[must_use]
    pub const fn done(status: u16) -> Self {
        Self::new(status, Meaning::Done { resource: None })
    }

    /// The destination knows the key with another request.
    #[must_use]
    pub const fn mismatch(status: u16) -> Self {
        Self::new(status, Meaning::Mismatch)
    }

    /// Refused after the key was looked up, so that no earlier request had an effect either.
    ///
    /// Only for a refusal that the destination keeps under the key and gives to every later request: an earlier one may
    /// still be under way, and would act where the refusal is forgotten.
    #[must_use]
    pub const fn refused_after_lookup(status: u16) -> Self {
        Self::new(status, Meaning::RefusedAfterLookup)
    }

    /// This request certainly had no effect.
    #[must_use]
    pub const fn not_applied(status: u16) -> Self {
        Self::new(status, Meaning::NotApplied)
    }

    const fn new(status: u16, meaning: Meaning) -> Self {
        Self { first: status, last: status, marker: Marker::None, meaning }
    }

    /// Every status from the one given first to this one.
    #[must_use]
    pub const fn to(mut self, last: u16) -> Self {
        self.last = last;
        self
    }

    /// Only with this header; name and value in any case.
    ///
    /// # Panics
    /// If `name` is not the name of a header; in a constant, the compiler says so.
    #[must_use]
    pub const fn when_header(mut self, name: &'static str, value: &'static str) -> Self {
        require_header_name(name);
        self.marker = Marker::Header(name, value);
        self
    }

    /// Only with this text or number in the JSON body: dots lead into objects, `*` means every item of a list. In an XML body,
    /// dots lead from the outermost element into those inside.
    ///
    /// # Panics
    /// If `path` does not lead to a field; in a constant, the compiler says so.
    #[must_use]
    pub const fn when_field(mut self, path: &'static str, value: &'static str) -> Self {
        require_path(path);
        self.marker = Marker::Field(path, value);
        self
    }

    /// Where the body of an answer that means [`done`](Self::done) names what the effect made.
    ///
    /// # Panics
    /// If `path` does not lead to a field, or the signal does not mean done; in a constant, the compiler says so.
    #[must_use]
    pub const fn naming(mut self, path: &'static str) -> Self {
        require_path(path);
        assert!(
            matches!(self.meaning, Meaning::Done { .. }),
            "only an answer that means done names what was made"
        );
        self.meaning = Meaning::Done { resource: Some(path) };
        self
    }

    /// What the answer has beside its status.
    #[must_use]
    pub const fn marker(&self) -> Marker {
        self.marker
    }

    /// What the answer means.
    #[must_use]
    pub const fn meaning(&self) -> Meaning {
        self.meaning
    }

    /// The first and the last status.
    #[must_use]
    pub const fn statuses(&self) -> (u16, u16) {
        (self.first, self.last)
    }

    /// Whether it speaks of this status.
    #[must_use]
    pub const fn is_about(&self, status: u16) -> bool {
        self.first <= status && status <= self.last
    }
}
