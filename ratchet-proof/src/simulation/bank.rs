//! A destination that counts effects, behind a network that fails.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use super::script::{Call, Stage};
use crate::planted::Mutation;

/// For how long the destination remembers a key, where it does.
pub(crate) const MEMORY: Duration = Duration::from_mins(30);

/// The longest time that a request or an answer is under way; together less than the margin of the contract.
const LONGEST_WAY: Duration = Duration::from_secs(40);

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether the destination recognises keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recognises {
    Keys,
    Nothing,
}

/// What a client learns of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    /// It acted, now or before.
    Acted,
    /// It refused without a look at the key.
    Refused,
    /// It refused after it had looked the key up.
    RefusedAfterLookup,
    /// It asks to come later.
    Busy,
    /// It failed, and may have acted.
    Failed,
}

/// Why there is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoReply {
    /// The connection was refused: nothing was sent.
    NoConnection,
    /// The connection broke, or the client waits no longer.
    Broken,
}

/// What is on its books under one key.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Account {
    pub(crate) effects: u32,
    acted_at: Option<Instant>,
    closed: bool,
}

/// The destination as its clients have it.
#[derive(Debug, Clone)]
pub(crate) struct Bank(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    books: Mutex<BTreeMap<String, Account>>,
    stage: Arc<Stage>,
    broken: Option<Mutation>,
}

impl Bank {
    pub(crate) fn new(stage: Arc<Stage>, broken: Option<Mutation>) -> Self {
        Self(Arc::new(Inner { books: Mutex::default(), stage, broken }))
    }

    pub(crate) fn is_broken(&self, mutation: Mutation) -> bool {
        self.0.broken == Some(mutation)
    }

    /// How often it acted for an identity, whatever an attempt has put behind it.
    pub(crate) fn effects(&self, key: &str) -> u32 {
        let is_of =
            |known: &str| known == key || known.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
        self.books().iter().filter(|(known, _)| is_of(known)).map(|(_, account)| account.effects).sum()
    }

    fn books(&self) -> MutexGuard<'_, BTreeMap<String, Account>> {
        self.0.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request. What has left goes on without its client.
    pub(crate) async fn send(&self, key: &str, recognises: Recognises) -> Result<Reply, NoReply> {
        let call = self.0.stage.call(&format!("send@{key}"));
        if call.is(40, "no-connection") {
            return Err(NoReply::NoConnection);
        }
        let (answer, answered) = oneshot::channel();
        let (bank, key) = (self.clone(), key.to_owned());
        // Who refuses a request refuses all its copies.
        let refuses = call.is(30, "refused");
        tokio::spawn(async move {
            call.way(LONGEST_WAY, "").await;
            if call.is(30, "lost") {
                return;
            }
            // A copy is an action of its own for who recognises nothing, and no client can help that.
            if recognises == Recognises::Keys && call.is(30, "twice") {
                let (copy, key) = (bank.clone(), key.clone());
                tokio::spawn(async move {
                    let call = copy.0.stage.call(&format!("copy@{key}"));
                    call.way(LONGEST_WAY, "").await;
                    copy.receive(&key, recognises, refuses, &call);
                });
            }
            let reply = bank.receive(&key, recognises, refuses, &call);
            call.way(LONGEST_WAY, "-back").await;
            if !call.is(50, "lost-back") {
                let _client_is_gone = answer.send(reply);
            }
        });
        match timeout(PATIENCE, answered).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(_)) | Err(_) => Err(NoReply::Broken),
        }
    }

    fn receive(&self, key: &str, recognises: Recognises, refuses: bool, call: &Call) -> Reply {
        let now = Instant::now();
        if refuses {
            return Reply::Refused;
        }
        let forgets = self.is_broken(Mutation::NoDeduplication);
        let (declines, is_busy, fails) =
            (call.is(20, "declined"), call.is(40, "busy"), call.is(30, "failed-after-all"));
        let mut books = self.books();
        let account = books.entry(key.to_owned()).or_default();
        if account.closed {
            return Reply::RefusedAfterLookup;
        }
        let remembered = account.acted_at.is_some_and(|at| now.duration_since(at) < MEMORY);
        if recognises == Recognises::Keys && !forgets {
            if remembered {
                return Reply::Acted;
            }
            if declines {
                // Kept under the key, since an earlier request may be under way.
                account.closed = true;
                return Reply::RefusedAfterLookup;
            }
            if is_busy {
                return Reply::Busy;
            }
        }
        account.effects += 1;
        account.acted_at.get_or_insert(now);
        if fails { Reply::Failed } else { Reply::Acted }
    }

    /// Asks whether it acted under a key; if it did not, it never will.
    pub(crate) async fn ask_and_close(&self, key: &str) -> Result<bool, NoReply> {
        let call = self.0.stage.call(&format!("ask@{key}"));
        if call.is(100, "lost") {
            return Err(NoReply::Broken);
        }
        call.way(LONGEST_WAY, "").await;
        let acted = {
            let mut books = self.books();
            let account = books.entry(key.to_owned()).or_default();
            account.closed |= account.effects == 0 && !self.is_broken(Mutation::AskWithoutClosing);
            account.effects > 0
        };
        call.way(LONGEST_WAY, "-back").await;
        if call.is(100, "lost-back") { Err(NoReply::Broken) } else { Ok(acted) }
    }

    /// Waits until nothing is under way any more.
    pub(crate) async fn calm_down(&self) {
        sleep(3 * LONGEST_WAY).await;
    }
}
