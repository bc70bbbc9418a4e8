//! The list of planted bugs: each rule broken once.

/// A rule that is broken on purpose, to see that somebody notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// An outcome counts whatever its token.
    NoFence,
    /// A new lease has the token of the one before.
    TokenReused,
    /// The destination forgets what it acted on.
    NoDeduplication,
    /// A submission is acknowledged before it is written.
    EarlyAcknowledgement,
    /// It is not written down that a handler was entered, nor what it sends.
    NoStartMark,
    /// The maintenance writes what it decided about a lease that it read earlier.
    RescueByIdOnly,
    /// A lease that is over is never decided about.
    NoRescue,
    /// A lease that is over counts as if nothing was started.
    LostLeaseIsHarmless,
    /// A destination is asked and goes on taking the key.
    AskWithoutClosing,
    /// A destination refuses after it looked the key up, and takes an earlier request that comes later.
    RefusalNotKept,
    /// What was found out about one attempt settles the next one.
    StaleVerdict,
    /// A key is free again after a failure.
    KeyFreedOnFailure,
    /// A later certain answer makes an unknown one forgotten.
    UnknownForgotten,
    /// A broken connection counts as a refusal.
    UnknownIsFailure,
    /// The time in which a repetition is safe begins anew with each send.
    WindowRenewed,
    /// What the operation says about unknown outcomes is ignored: it is sent again.
    TradeoffIgnored,
    /// Each attempt sends a key of its own.
    AttemptInKey,
    /// A cancelled record that runs counts as cancelled at once.
    CancelIsRollback,
    /// Spent attempts make an unknown outcome a failure.
    BoundsEndInFailure,
    /// A record becomes uncertain and does not say why.
    UncertainWithoutReason,
    /// What is uncertain is purged.
    PurgeOfUncertain,
    /// Commits of `SQLite` are acknowledged before they are on the disk: `synchronous=NORMAL`.
    CommitsUnsynced,
    /// Commits of `PostgreSQL` do not wait for the standby that takes over.
    StandbyNotAwaited,
}

impl Mutation {
    /// Those of the decisions and of who obeys them; the others are settings of a store, of which the model knows nothing.
    pub const OF_THE_MODEL: [Self; 21] = [
        Self::NoFence,
        Self::TokenReused,
        Self::NoDeduplication,
        Self::EarlyAcknowledgement,
        Self::NoStartMark,
        Self::RescueByIdOnly,
        Self::NoRescue,
        Self::LostLeaseIsHarmless,
        Self::AskWithoutClosing,
        Self::RefusalNotKept,
        Self::StaleVerdict,
        Self::KeyFreedOnFailure,
        Self::UnknownForgotten,
        Self::UnknownIsFailure,
        Self::WindowRenewed,
        Self::TradeoffIgnored,
        Self::AttemptInKey,
        Self::CancelIsRollback,
        Self::BoundsEndInFailure,
        Self::UncertainWithoutReason,
        Self::PurgeOfUncertain,
    ];

    /// The one of that name, or of that word.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::OF_THE_MODEL.into_iter().chain([Self::CommitsUnsynced, Self::StandbyNotAwaited]);
        all.find(|mutation| mutation.name() == name || mutation.word() == name)
    }

    /// The name as one word of a command.
    #[must_use]
    pub fn word(self) -> String {
        self.name().replace(' ', "-")
    }

    /// The name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoFence => "no fence",
            Self::TokenReused => "token reused",
            Self::NoDeduplication => "no deduplication",
            Self::EarlyAcknowledgement => "early acknowledgement",
            Self::NoStartMark => "no start mark",
            Self::RescueByIdOnly => "rescue by id only",
            Self::NoRescue => "no rescue",
            Self::LostLeaseIsHarmless => "a lost lease is harmless",
            Self::AskWithoutClosing => "ask without closing",
            Self::RefusalNotKept => "refusal not kept",
            Self::StaleVerdict => "stale verdict",
            Self::KeyFreedOnFailure => "key freed on failure",
            Self::UnknownForgotten => "unknown forgotten",
            Self::UnknownIsFailure => "unknown is a failure",
            Self::WindowRenewed => "window renewed by each send",
            Self::TradeoffIgnored => "tradeoff ignored",
            Self::AttemptInKey => "attempt in the key",
            Self::CancelIsRollback => "cancel is a rollback",
            Self::BoundsEndInFailure => "bounds end in failure",
            Self::UncertainWithoutReason => "uncertain without a reason",
            Self::PurgeOfUncertain => "purge of what is uncertain",
            Self::CommitsUnsynced => "synchronous=NORMAL",
            Self::StandbyNotAwaited => "standby not awaited",
        }
    }
}
