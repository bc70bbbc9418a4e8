//! One simulated life of a system, made from a seed: first things go wrong, then nothing does, and all must end.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ratchet::{Enqueued, Ratchet};
use ratchet_core::decide::Stored;
use ratchet_core::ledger::{Filter, Ledger as _};
use ratchet_core::random::SystemRandom;
use ratchet_core::{MemoryLedger, Record, RecordId};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::Lived;
use super::bank::Bank;
use super::chance::Chance;
use super::clock::VirtualClock;
use super::judge::Verdicts;
use super::network::{LEASE, Network};
use super::operations::{self, Bill, charge, fax, order, remind, transfer};
use super::script::{Script, Stage};
use crate::planted::Mutation;
use crate::way::Through;

/// For how long things go wrong.
const TROUBLE: Duration = Duration::from_mins(6);

/// In this time everything ends when nothing goes wrong any more; a record of many attempts needs a few minutes.
const PATIENCE: Duration = Duration::from_hours(3);

/// Everything that one simulation is made of.
pub(super) struct Life {
    pub(super) store: Arc<MemoryLedger>,
    pub(super) network: Arc<Network>,
    pub(super) bank: Bank,
    chance: Chance,
    stage: Arc<Stage>,
    ratchet: Ratchet,
    workers: Vec<Machine>,
    pub(super) acknowledged: Vec<RecordId>,
}

/// A process with a worker, which may be dead.
struct Machine {
    clock: Arc<VirtualClock>,
    running: Option<JoinHandle<()>>,
}

/// What somebody or something does to the system.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Submit {
        id: u64,
    },
    Die {
        place: usize,
        for_: Duration,
    },
    /// All processes are gone for longer than any destination remembers.
    AllDie {
        for_: Duration,
    },
    Interfere {
        which: u64,
        how: u64,
    },
    SetClock {
        place: usize,
        by: i64,
    },
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Submit { id } => write!(f, "number {id} is submitted"),
            Self::Die { place, for_ } => write!(f, "worker {place} dies and is back after {for_:?}"),
            Self::AllDie { for_ } => write!(f, "all workers are gone for {for_:?}"),
            Self::Interfere { how: 0, .. } => f.write_str("a person cancels a record"),
            Self::Interfere { how: 1, .. } => f.write_str("a person replays a record"),
            Self::Interfere { .. } => f.write_str("a person asks for a new generation"),
            Self::SetClock { place, by } => write!(f, "the clock of worker {place} is off by {by} ms"),
        }
    }
}

impl Life {
    fn new(seed: u64, script: Script, broken: Option<Mutation>) -> Self {
        let clock = VirtualClock::new();
        let store = MemoryLedger::with(clock, SystemRandom::seeded(seed));
        let stage = Stage::new(seed, script);
        let network = Network::new(Arc::clone(&store), Arc::clone(&stage), broken);
        let chance = Chance::new(seed);
        let workers = 1 + chance.below(3);
        let machine = |_| Machine { clock: VirtualClock::new(), running: None };
        Self {
            ratchet: Ratchet::with_ledger(Arc::new(Through(Arc::clone(&network)))),
            bank: Bank::new(Arc::clone(&stage), broken),
            workers: (0..workers).map(machine).collect(),
            acknowledged: Vec::new(),
            store,
            network,
            chance,
            stage,
        }
    }

    /// Lives, and is judged.
    pub(super) async fn live(seed: u64, script: Script, broken: Option<Mutation>) -> Lived {
        let mut life = Self::new(seed, script, broken);
        let chance = life.chance.fork();
        (0..life.workers.len()).for_each(|place| life.start(place, &chance));
        life.trouble().await;
        let ended = life.recover().await;
        let verdicts = Verdicts::of(&life, ended).await;
        let (incidents, trace) = life.stage.account();
        Lived { verdicts, trace, incidents }
    }

    fn start(&mut self, place: usize, chance: &Chance) {
        let machine = &mut self.workers[place];
        let random = SystemRandom::seeded(chance.below(u64::MAX));
        let worker = self.ratchet.worker(operations::registry()).state(self.bank.clone());
        let worker = worker.clock(machine.clock.clone()).random(random).lease(LEASE).poll_interval(LEASE / 5);
        let worker = worker.grace(Duration::from_secs(3)).build();
        machine.running = worker.ok().map(|worker| {
            tokio::spawn(async move {
                let _cannot_fail = worker.run(std::future::pending()).await;
            })
        });
    }

    /// Ends a process as SIGKILL does: nothing of it is polled again.
    async fn kill(&mut self, place: usize) {
        if let Some(running) = self.workers[place].running.take() {
            running.abort();
            let _is_gone = running.await;
        }
    }

    async fn trouble(&mut self) {
        let ends_at = tokio::time::Instant::now() + TROUBLE;
        let mut number = 0;
        let mut submitted = 0;
        while tokio::time::Instant::now() < ends_at {
            let chance = self.chance.fork();
            sleep(chance.span(Duration::from_millis(5), Duration::from_secs(20))).await;
            if let Some(deed) = self.any_deed(&chance, &mut submitted) {
                if self.stage.happens(format!("d{number}"), Some(deed.to_string())) {
                    self.act(deed, &chance).await;
                }
                number += 1;
            }
        }
    }

    /// What comes next, whatever of all before it was done.
    fn any_deed(&self, chance: &Chance, submitted: &mut u64) -> Option<Deed> {
        let worker = || usize::try_from(chance.below(self.workers.len() as u64)).unwrap_or(0);
        Some(match chance.below(100) {
            0..45 => {
                *submitted += 1;
                Deed::Submit { id: *submitted }
            }
            45..55 if *submitted > 0 => Deed::Submit { id: 1 + chance.below(*submitted) },
            55..75 => Deed::Die { place: worker(), for_: chance.span(Duration::ZERO, 2 * LEASE) },
            75..85 => Deed::Interfere { which: chance.below(u64::MAX), how: chance.below(3) },
            85..95 => Deed::SetClock {
                place: worker(),
                by: i64::try_from(chance.below(7_200_000)).unwrap_or(0) - 3_600_000,
            },
            95 => Deed::AllDie { for_: chance.span(Duration::from_mins(1), Duration::from_mins(45)) },
            _ => return None,
        })
    }

    async fn act(&mut self, deed: Deed, chance: &Chance) {
        match deed {
            Deed::Submit { id } => self.submit(id).await,
            Deed::Die { place, for_ } => {
                self.kill(place).await;
                sleep(for_).await;
                self.start(place, chance);
            }
            Deed::Interfere { which, how } => self.interfere(which, how).await,
            Deed::SetClock { place, by } => self.workers[place].clock.be_off_by(by),
            Deed::AllDie { for_ } => {
                for place in 0..self.workers.len() {
                    self.kill(place).await;
                }
                sleep(for_).await;
                (0..self.workers.len()).for_each(|place| self.start(place, chance));
            }
        }
    }

    async fn submit(&mut self, id: u64) {
        // The same number is the same operation whoever submits it.
        let bill = Bill { id };
        let answer = match id % 5 {
            0 => charge::enqueue(&self.ratchet, bill).await,
            1 => transfer::enqueue(&self.ratchet, bill).await,
            2 => fax::enqueue(&self.ratchet, bill).await,
            3 => remind::enqueue(&self.ratchet, bill).await,
            _ => order::enqueue(&self.ratchet, bill).await,
        };
        if let Ok(Enqueued::New { id } | Enqueued::Existing { id, .. } | Enqueued::Ended { id, .. }) = answer
        {
            self.acknowledged.push(id);
        }
    }

    /// A person does something about a record, whatever its state.
    async fn interfere(&mut self, which: u64, how: u64) {
        let records = self.records().await;
        if records.is_empty() {
            return;
        }
        let chosen = usize::try_from(which % records.len() as u64).unwrap_or(0);
        let record = &records[chosen];
        let id = record.id.clone();
        // That it is refused, or not answered, is part of the game.
        match how {
            0 => drop(self.ratchet.cancel(id, "ada", "a mistake").await),
            1 => drop(self.ratchet.replay(id, "ada", "once more", false).await),
            _ => drop(self.ratchet.renew(record, "ada", "meant anew").await),
        }
    }

    pub(super) async fn records(&self) -> Vec<Record> {
        let filter = Filter { limit: 10_000, ..Filter::default() };
        self.store.list(filter).await.map(|page| page.records).unwrap_or_default()
    }

    /// Nothing goes wrong any more. Says whether everything came to an end.
    async fn recover(&mut self) -> bool {
        self.stage.stop_faults();
        let chance = self.chance.fork();
        for place in 0..self.workers.len() {
            self.workers[place].clock.be_off_by(0);
            if self.workers[place].running.is_none() {
                self.start(place, &chance);
            }
        }
        let ends_at = tokio::time::Instant::now() + PATIENCE;
        let mut ended = false;
        while !ended && tokio::time::Instant::now() < ends_at {
            sleep(LEASE).await;
            ended = self.records().await.iter().all(super::judge::is_ended);
        }
        for place in 0..self.workers.len() {
            self.kill(place).await;
        }
        // What is late arrives still, and changes nothing.
        self.bank.calm_down().await;
        ended
    }

    /// What is on record under an identity.
    pub(super) async fn find(&self, id: &RecordId) -> Option<Stored> {
        self.store.find(id.clone()).await.ok().flatten()
    }
}
