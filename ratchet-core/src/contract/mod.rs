//! What a destination documents about repeated requests.

mod facts;
mod key_format;
mod mechanism;
mod signal;
mod terms;

use std::borrow::Cow;
use std::time::Duration;

pub use facts::{OtherInput, Remembered, Repeats, ScopePart, Source};
pub use key_format::{Characters, KeyFormat, Shape};
pub use mechanism::Mechanism;
use mechanism::{require_header_name, require_path};
pub use signal::{Marker, Meaning, Signal};
pub use terms::{MechanismKind, Retention, Terms};
use terms::{recognises, safe, whole_millis};

/// What one endpoint of a destination promises about a request that arrives twice.
///
/// A contract is a constant next to the operation that uses it. Those of known providers are in
/// [`contracts`](crate::contracts), and any part of them can be said differently:
///
/// ```
/// use std::time::Duration;
/// use ratchet_core::contract::{Contract, KeyFormat, Signal};
/// use ratchet_core::contracts;
///
/// const BANK: Contract = Contract::header("X-Request-Id")
///     .key(KeyFormat::up_to(64))
///     .remembers_for(Duration::from_hours(24))
///     .signals(&[Signal::in_flight(409), Signal::mismatch(422)]);
///
/// /// Our account has a longer window than the usual one.
/// const ORDERS: Contract = contracts::paypal::ORDERS_V2.remembers_for(Duration::from_hours(72));
///
/// assert!(BANK.deduplicates() && ORDERS.deduplicates());
/// assert!(!Contract::NONE.deduplicates());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Contract {
    name: &'static str,
    mechanism: Mechanism,
    first_sent: Option<&'static str>,
    key: KeyFormat,
    scope: &'static [ScopePart],
    retention: Retention,
    other_input: OtherInput,
    repeats: Repeats,
    remembered: Remembered,
    signals: &'static [Signal],
    replayed: Option<(&'static str, &'static str)>,
    lookup: &'static str,
    sources: &'static [Source],
}

/// How a contract is made.
impl Contract {
    /// No deduplication: what is assumed of a destination that nobody declared.
    pub const NONE: Self = Self::new(Mechanism::None, Retention::Forever);

    /// The handler has no effect outside its named steps.
    pub const STEPS: Self = Self::new(Mechanism::Steps, Retention::Forever);

    /// The effect is in a database of the operation's own, guarded by `once`, which keeps what it did beside it.
    ///
    /// It is remembered for as long as its row is there: a program that removes old rows says so with
    /// [`remembers_for`](Self::remembers_for).
    pub const DATABASE: Self = Self::new(Mechanism::Database, Retention::Forever);

    const fn new(mechanism: Mechanism, retention: Retention) -> Self {
        Self {
            name: "",
            mechanism,
            first_sent: None,
            key: KeyFormat::ANY,
            scope: &[],
            retention,
            other_input: OtherInput::Undocumented,
            repeats: Repeats::Undocumented,
            remembered: Remembered::Undocumented,
            signals: &[],
            replayed: None,
            lookup: "",
            sources: &[],
        }
    }

    const fn for_a_day(mechanism: Mechanism) -> Self {
        Self::new(mechanism, Retention::For(Duration::from_hours(24)))
    }

    /// The destination recognises a repeated request by the HTTP header `name`, for 24 hours unless
    /// [`remembers_for`](Self::remembers_for) or [`remembers_forever`](Self::remembers_forever) says otherwise.
    ///
    /// # Panics
    /// If `name` is not the name of a header; in a constant, the compiler says so.
    #[must_use]
    pub const fn header(name: &'static str) -> Self {
        require_header_name(name);
        Self::for_a_day(Mechanism::Header(name))
    }

    /// The same by a member of the JSON body; dots lead into objects, such as `headers.idempotencyKey`.
    ///
    /// # Panics
    /// If `path` does not lead to a field; in a constant, the compiler says so.
    #[must_use]
    pub const fn body_field(path: &'static str) -> Self {
        require_path(path);
        Self::for_a_day(Mechanism::BodyField(path))
    }

    /// The same by a parameter in the query of the URL.
    ///
    /// # Panics
    /// If `name` is empty; in a constant, the compiler says so.
    #[must_use]
    pub const fn query_parameter(name: &'static str) -> Self {
        assert!(!name.is_empty(), "a parameter has a name, such as `requestId`");
        Self::for_a_day(Mechanism::QueryParameter(name))
    }

    /// The name that records and pages show.
    #[must_use]
    pub const fn named(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// Which keys the destination takes: up to 255 characters that can be seen unless said otherwise.
    #[must_use]
    pub const fn key(mut self, format: KeyFormat) -> Self {
        self.key = format;
        self
    }

    /// By what the destination keeps equal keys apart; by nothing unless said otherwise, which is the safe assumption.
    ///
    /// What it does not keep apart is made part of a key that is not sent as it is.
    #[must_use]
    pub const fn kept_apart_by(mut self, parts: &'static [ScopePart]) -> Self {
        self.scope = parts;
        self
    }

    /// The destination also wants to know, in this header, when the request was sent first.
    ///
    /// # Panics
    /// If `name` is not the name of a header; in a constant, the compiler says so.
    #[must_use]
    pub const fn first_sent_in(mut self, name: &'static str) -> Self {
        require_header_name(name);
        self.first_sent = Some(name);
        self
    }

    /// How long the destination promises to remember an identity.
    #[must_use]
    pub const fn remembers_for(mut self, span: Duration) -> Self {
        self.retention = Retention::For(span);
        self
    }

    /// The destination never forgets an identity.
    #[must_use]
    pub const fn remembers_forever(mut self) -> Self {
        self.retention = Retention::Forever;
        self
    }

    /// The destination recognises a repeated request, and does not say for how long. What is unknown is not sent again
    /// without asking until [`remembers_for`](Self::remembers_for) says how long it is.
    #[must_use]
    pub const fn remembers_for_unstated_time(mut self) -> Self {
        self.retention = Retention::Unstated;
        self
    }

    /// What comes of another request under a known key.
    #[must_use]
    pub const fn other_input(mut self, other_input: OtherInput) -> Self {
        self.other_input = other_input;
        self
    }

    /// What a repeated request gets.
    #[must_use]
    pub const fn repeats(mut self, repeats: Repeats) -> Self {
        self.repeats = repeats;
        self
    }

    /// Which answers are kept for those that repeat a request.
    #[must_use]
    pub const fn remembers(mut self, remembered: Remembered) -> Self {
        self.remembered = remembered;
        self
    }

    /// Answers that mean something else than their status; the first that fits counts. It replaces those given before.
    #[must_use]
    pub const fn signals(mut self, signals: &'static [Signal]) -> Self {
        self.signals = signals;
        self
    }

    /// The header, and its value, of an answer that repeats an earlier one.
    ///
    /// # Panics
    /// If `name` is not the name of a header; in a constant, the compiler says so.
    #[must_use]
    pub const fn marks_replays(mut self, name: &'static str, value: &'static str) -> Self {
        require_header_name(name);
        self.replayed = Some((name, value));
        self
    }

    /// How to ask what became of a key, for people.
    #[must_use]
    pub const fn lookup(mut self, how: &'static str) -> Self {
        self.lookup = how;
        self
    }

    /// Where this is documented. It replaces those given before.
    #[must_use]
    pub const fn sources(mut self, sources: &'static [Source]) -> Self {
        self.sources = sources;
        self
    }
}

/// What a contract says.
impl Contract {
    /// What a record keeps of it.
    #[must_use]
    pub const fn terms(&self) -> Terms {
        let retention = match self.retention {
            Retention::For(span) => Retention::For(Duration::from_millis(whole_millis(span))),
            other => other,
        };
        let name = if self.name.is_empty() { None } else { Some(Cow::Borrowed(self.name)) };
        Terms { mechanism: self.mechanism.kind(), retention, name }
    }

    /// The name that records and pages show; empty for one without.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Where the destination looks for the identity.
    #[must_use]
    pub const fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// The header that says when the request was sent first, if the destination wants to know.
    #[must_use]
    pub const fn first_sent_header(&self) -> Option<&'static str> {
        self.first_sent
    }

    /// Which keys the destination takes.
    #[must_use]
    pub const fn key_format(&self) -> &KeyFormat {
        &self.key
    }

    /// By what the destination keeps equal keys apart.
    #[must_use]
    pub const fn scope(&self) -> &'static [ScopePart] {
        self.scope
    }

    /// Whether equal keys are one key for the destination although they differ in this.
    #[must_use]
    pub fn forgets(&self, part: ScopePart) -> bool {
        !self.scope.contains(&part)
    }

    /// How long the destination remembers; without a meaning where it does not deduplicate.
    #[must_use]
    pub const fn retention(&self) -> Retention {
        self.retention
    }

    /// What comes of another request under a known key.
    #[must_use]
    pub const fn on_other_input(&self) -> OtherInput {
        self.other_input
    }

    /// What a repeated request gets.
    #[must_use]
    pub const fn on_repeat(&self) -> Repeats {
        self.repeats
    }

    /// Which answers are kept.
    #[must_use]
    pub const fn remembered(&self) -> Remembered {
        self.remembered
    }

    /// Answers that mean something else than their status.
    #[must_use]
    pub const fn all_signals(&self) -> &'static [Signal] {
        self.signals
    }

    /// The header, and its value, of an answer that repeats an earlier one.
    #[must_use]
    pub const fn replay_marker(&self) -> Option<(&'static str, &'static str)> {
        self.replayed
    }

    /// How to ask what became of a key; empty where nobody says.
    #[must_use]
    pub const fn how_to_ask(&self) -> &'static str {
        self.lookup
    }

    /// Where this is documented.
    #[must_use]
    pub const fn all_sources(&self) -> &'static [Source] {
        self.sources
    }

    /// Whether the destination is sure to refuse a second effect under one identity, for a time that is known.
    #[must_use]
    pub const fn deduplicates(&self) -> bool {
        recognises(self.mechanism.kind(), self.retention)
    }

    /// Whether the destination recognises a repeated request for some time, known or not.
    pub(crate) const fn recognises_for_unstated_time(&self) -> bool {
        self.mechanism.carries_key() && matches!(self.retention, Retention::Unstated)
    }

    /// For how long after the first request a repeated one is safe; `None` where it always is, or never.
    pub(crate) const fn window(&self) -> Option<Duration> {
        match (self.deduplicates(), self.retention) {
            (true, Retention::For(span)) => Some(safe(span)),
            _ => None,
        }
    }
}
