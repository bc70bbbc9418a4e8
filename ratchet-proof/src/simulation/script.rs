//! What happens in a life, by names: so that less of it can happen.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt;
use std::hash::{DefaultHasher, Hasher as _};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::sleep;

use super::chance::Chance;
use crate::planted::Mutation;

/// The longest that a call takes one way when nothing is wrong.
const ON_TIME: Duration = Duration::from_millis(20);

const NOTHING: &str = "none";

/// What of a life happens: everything that its seed says, or only these deeds and faults of it, as in
/// `d3,settle@charge:5.0.late`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    only: Option<BTreeSet<String>>,
}

impl Script {
    /// Only what has these names.
    pub(super) fn only(names: impl IntoIterator<Item = String>) -> Self {
        Self { only: Some(names.into_iter().collect()) }
    }

    /// What lives such a life again.
    #[must_use]
    pub fn command(&self, seed: u64, broken: Option<Mutation>) -> String {
        let only = self.only.as_ref().map(|_| format!(" --only {self}")).unwrap_or_default();
        let broken = broken.map(|broken| format!(" --broken {}", broken.word())).unwrap_or_default();
        format!("cargo xtask prove --seed {seed}{only}{broken}")
    }

    fn contains(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(name))
    }
}

impl FromStr for Script {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::only(text.split(',').filter(|name| *name != NOTHING).map(str::to_owned)))
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let only = self.only.iter().flatten();
        let names: Vec<&str> = only.map(String::as_str).collect();
        if names.is_empty() { f.write_str(NOTHING) } else { f.write_str(&names.join(",")) }
    }
}

/// A deed or a fault that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// By which a script names it.
    pub name: String,
    /// What a deed was, in words. A fault says it by its name.
    pub what: Option<String>,
}

/// Follows a script, and keeps account of what happened.
#[derive(Debug)]
pub(crate) struct Stage {
    seed: u64,
    script: Script,
    faulty: AtomicBool,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    /// How many calls of each kind there were.
    calls: BTreeMap<String, u64>,
    trace: u64,
    incidents: Vec<Incident>,
}

impl Stage {
    pub(super) fn new(seed: u64, script: Script) -> Arc<Self> {
        Arc::new(Self { seed, script, faulty: AtomicBool::new(true), told: Mutex::default() })
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing goes wrong any more.
    pub(super) fn stop_faults(&self) {
        self.faulty.store(false, Ordering::SeqCst);
    }

    pub(crate) fn is_faulty(&self) -> bool {
        self.faulty.load(Ordering::SeqCst)
    }

    /// A call begins. What goes wrong with it depends on how many of its kind were before it, and on nothing else: when
    /// less happens, the rest stays what it was.
    pub(crate) fn call(self: &Arc<Self>, kind: &str) -> Call {
        // Names go through a shell.
        let kind = kind.replace(' ', "-").replace('!', "/");
        let mut told = self.told();
        let calls = told.calls.entry(kind.clone()).or_default();
        let nth = *calls;
        *calls += 1;
        told.trace = hash(&(told.trace, &kind, nth));
        let chance = Chance::new(hash(&(self.seed, &kind, nth)));
        Call { stage: Arc::clone(self), chance, name: format!("{kind}.{nth}") }
    }

    /// Whether something happens that comes up.
    pub(super) fn happens(&self, name: String, what: Option<String>) -> bool {
        let happens = self.script.contains(&name);
        if happens {
            self.told().incidents.push(Incident { name, what });
        }
        happens
    }

    /// What happened, and a number that tells two lives apart.
    pub(super) fn account(&self) -> (Vec<Incident>, u64) {
        let told = self.told();
        (told.incidents.clone(), told.trace)
    }
}

fn hash(what: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// One call over a network, and what goes wrong with it.
#[derive(Debug)]
pub(crate) struct Call {
    stage: Arc<Stage>,
    pub(crate) chance: Chance,
    name: String,
}

impl Call {
    /// So many times of a thousand it goes wrong in this way.
    pub(crate) fn is(&self, per_mille: u64, how: &str) -> bool {
        let comes_up = self.chance.is(per_mille);
        comes_up && self.stage.is_faulty() && self.stage.happens(format!("{}.{how}", self.name), None)
    }

    /// Waits as calls over a network do: mostly a little, now and then long.
    pub(crate) async fn way(&self, longest: Duration, how: &str) {
        let on_time = self.chance.span(Duration::ZERO, ON_TIME);
        let (late, very_late) = (self.chance.span(ON_TIME, longest / 20), self.chance.span(ON_TIME, longest));
        let taken = if self.is(10, &format!("very-late{how}")) {
            very_late
        } else if self.is(90, &format!("late{how}")) {
            late
        } else if self.stage.is_faulty() {
            on_time
        } else {
            return;
        };
        sleep(taken).await;
    }
}
