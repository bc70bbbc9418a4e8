//! What the model knows at one moment.

use std::sync::Arc;

use ratchet_core::Token;
use ratchet_core::decide::Stored;

/// One key with its generations, those who work on it, and what is under way between them.
///
/// Workers and letters are kept sorted, since it makes no difference which worker holds which job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct World {
    /// The store's clock.
    pub(crate) now: u8,
    /// What the store holds, by generation.
    pub(crate) rows: Vec<Arc<Stored>>,
    /// What the destination holds, by generation and effect.
    pub(crate) accounts: Vec<Vec<Account>>,
    pub(crate) workers: Vec<Worker>,
    pub(crate) letters: Vec<Letter>,
    /// A row whose lease was found to be over, as the maintenance read it.
    pub(crate) rescue: Option<(usize, Arc<Stored>)>,
    /// How many more things go wrong.
    pub(crate) faults: u8,
    /// How many more orders people give.
    pub(crate) orders: u8,
    pub(crate) seen: Seen,
}

/// What happened and must not, or must be known to judge what happens later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Seen {
    /// A producer was told that its submission is on record.
    pub(crate) acknowledged: bool,
    /// Somebody accepted that an effect may happen twice.
    pub(crate) risk_accepted: bool,
    /// A superseded attempt changed a record.
    pub(crate) stale_accepted: bool,
    /// Something was pinned for a send that the destination may not recognise.
    pub(crate) blind_send: bool,
    /// A key got a second record without a new generation.
    pub(crate) key_freed: bool,
}

/// What a destination holds under one identity.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Account {
    /// How often it acted; counted to two.
    pub(crate) effects: u8,
    /// When it first acted, and for which attempt.
    pub(crate) acted: Option<(u8, Token)>,
    /// It refuses the key for ever.
    pub(crate) closed: bool,
    /// It refuses calls of these attempts and all before them.
    pub(crate) refuses_to: Token,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Worker {
    Idle,
    Busy(Job),
}

/// A lease as its holder sees it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Job {
    pub(crate) row: usize,
    pub(crate) token: Token,
    /// Which of the handler's effects is under way.
    pub(crate) effect: usize,
    /// The end of the lease by the clocks of the worker.
    pub(crate) until: u8,
    pub(crate) phase: Phase,
}

/// How far an attempt has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Phase {
    Leased,
    Started,
    /// What is about to be sent was written down at this time.
    Pinned(u8),
    Sent,
    /// A step was entered.
    Entered,
    /// The destination of a step is to be asked what an earlier attempt did.
    Asking,
    /// This was found out about a step.
    Found(Finding),
    /// A step ended.
    StepEnded(Word),
    /// It is over, and is reported.
    Ended(Word),
}

/// What an attempt knows at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Word {
    Done,
    /// Nothing was sent.
    NotApplied,
    /// The handler was not entered.
    NotEntered,
    /// Refused, without a look at the key.
    Refused,
    /// Refused after the key was looked up.
    RefusedAfterLookup,
    Unknown,
    /// The destination asks to come later.
    Busy,
}

/// What a reconciler found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Finding {
    Applied,
    Closed,
    OldCallsRefused,
}

/// Something that is under way, and may be lost, doubled or overtaken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Letter {
    /// A submission that was acknowledged before it was written.
    Submission,
    /// A request to the destination; it does not arrive after `until`. One that was doubled has a twin.
    Request { row: usize, effect: usize, token: Token, until: u8, doubled: bool },
    /// An attempt's outcome on its way to the store.
    Outcome { row: usize, token: Token, said: Word },
    /// A question to the destination, about the attempts up to a token.
    Question { row: usize, seen: Token },
    /// What was found out, on its way to the store.
    Verdict { row: usize, seen: Token, finding: Finding },
}

impl World {
    pub(crate) fn new(workers: usize, faults: u8, orders: u8) -> Self {
        Self {
            now: 0,
            rows: Vec::new(),
            accounts: Vec::new(),
            workers: vec![Worker::Idle; workers],
            letters: Vec::new(),
            rescue: None,
            faults,
            orders,
            seen: Seen::default(),
        }
    }

    /// The same for whoever looks: sorted, without requests that are too old, and with every outcome on its way: a worker
    /// that is slow to report one is a letter that is late.
    pub(crate) fn tidy(mut self) -> Self {
        let Self { now, workers, letters, .. } = &mut self;
        letters.retain(|letter| !matches!(letter, Letter::Request { until, .. } if *until < *now));
        for worker in workers.iter_mut() {
            if let Worker::Busy(Job { row, token, phase: Phase::Ended(said), .. }) = *worker {
                letters.push(Letter::Outcome { row, token, said });
                *worker = Worker::Idle;
            }
        }
        workers.sort_unstable();
        letters.sort_unstable();
        self
    }
}
