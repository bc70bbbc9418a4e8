//! One simulated life of a system, made from a seed: first things go wrong, then nothing does, and all must end.

use std::sync::Arc;
use std::time::Duration;

use ratchet::{Enqueued, Ratchet};
use ratchet_core::decide::Stored;
use ratchet_core::ledger::{Filter, Ledger as _};
use ratchet_core::random::SystemRandom;
use ratchet_core::{MemoryLedger, Record, RecordId};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::bank::Bank;
use super::chance::Chance;
use super::clock::VirtualClock;
use super::judge::Verdicts;
use super::network::{LEASE, Network};
use super::operations::{self, Bill, charge, fax, order, remind, transfer};
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
    ratchet: Ratchet,
    workers: Vec<Machine>,
    pub(super) acknowledged: Vec<RecordId>,
}

/// A process with a worker, which may be dead.
struct Machine {
    clock: Arc<VirtualClock>,
    running: Option<JoinHandle<()>>,
}

impl Life {
    fn new(seed: u64, broken: Option<Mutation>) -> Self {
        let clock = VirtualClock::new();
        let store = MemoryLedger::with(clock, SystemRandom::seeded(seed));
        let network = Network::new(Arc::clone(&store), seed ^ 0x6e65_7477, broken);
        let chance = Chance::new(seed);
        let workers = 1 + chance.below(3);
        let machine = |_| Machine { clock: VirtualClock::new(), running: None };
        Self {
            ratchet: Ratchet::with_ledger(Arc::new(Through(Arc::clone(&network)))),
            bank: Bank::new(seed ^ 0x6261_6e6b, broken),
            workers: (0..workers).map(machine).collect(),
            acknowledged: Vec::new(),
            store,
            network,
            chance,
        }
    }

    /// Lives, and is judged.
    pub(super) async fn live(seed: u64, broken: Option<Mutation>) -> (Verdicts, u64) {
        let mut life = Self::new(seed, broken);
        (0..life.workers.len()).for_each(|place| life.start(place));
        life.trouble().await;
        let ended = life.recover().await;
        let verdicts = Verdicts::of(&life, ended).await;
        let trace =
            life.chance.trace() ^ life.network.trace().rotate_left(1) ^ life.bank.trace().rotate_left(2);
        (verdicts, trace)
    }

    fn start(&mut self, place: usize) {
        let machine = &mut self.workers[place];
        let random = SystemRandom::seeded(self.chance.below(u64::MAX));
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
        let mut next = 0;
        while tokio::time::Instant::now() < ends_at {
            sleep(self.chance.span(Duration::from_millis(5), Duration::from_secs(20))).await;
            match self.chance.below(100) {
                0..45 => {
                    next += 1;
                    self.submit(next).await;
                }
                45..55 if next > 0 => {
                    let again = 1 + self.chance.below(next);
                    self.submit(again).await;
                }
                55..75 => {
                    let place = self.any_worker();
                    self.kill(place).await;
                    sleep(self.chance.span(Duration::ZERO, 2 * LEASE)).await;
                    self.start(place);
                }
                75..85 => self.interfere().await,
                85..95 => {
                    let by = i64::try_from(self.chance.below(7_200_000)).unwrap_or(0) - 3_600_000;
                    let place = self.any_worker();
                    self.workers[place].clock.be_off_by(by);
                }
                95 => self.outage().await,
                _ => {}
            }
        }
    }

    fn any_worker(&self) -> usize {
        usize::try_from(self.chance.below(self.workers.len() as u64)).unwrap_or(0)
    }

    /// All processes are gone for longer than any destination remembers.
    async fn outage(&mut self) {
        for place in 0..self.workers.len() {
            self.kill(place).await;
        }
        sleep(self.chance.span(Duration::from_mins(1), Duration::from_mins(45))).await;
        (0..self.workers.len()).for_each(|place| self.start(place));
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
    async fn interfere(&mut self) {
        let records = self.records().await;
        if records.is_empty() {
            return;
        }
        let chosen = usize::try_from(self.chance.below(records.len() as u64)).unwrap_or(0);
        let record = &records[chosen];
        let id = record.id.clone();
        // That it is refused, or not answered, is part of the game.
        match self.chance.below(3) {
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
        self.network.stop_faults();
        self.bank.stop_faults();
        for place in 0..self.workers.len() {
            self.workers[place].clock.be_off_by(0);
            if self.workers[place].running.is_none() {
                self.start(place);
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
