//! What must be so in the files and the store that dead processes left behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ratchet::Ratchet;
use ratchet::sqlite::sqlx::{self, Connection as _, SqliteConnection};
use ratchet_core::decide::Stored;
use ratchet_core::ledger::Filter;
use ratchet_core::{Key, LedgerError, Record, State};

use super::till::effects;
use crate::told::nothing_but_finished_steps;

/// What was found wrong.
#[derive(Debug, Clone, Default)]
pub(crate) struct Findings {
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
    pub(crate) stale: u64,
    pub(crate) said: Vec<String>,
}

/// Counts again what the destination did, and compares it with what is on record.
pub(super) async fn judge(store: &str, folder: &Path) -> Result<Findings, LedgerError> {
    let mut findings = losses(store, folder).await?;
    let ratchet = Ratchet::open(store).await?;
    let effects = effects(&folder.join("effects")).unwrap_or_default();
    for record in records(&ratchet).await?.values() {
        findings.look_at(&effects, record);
    }
    Ok(findings)
}

/// Looks for everything that was acknowledged.
pub(super) async fn losses(store: &str, folder: &Path) -> Result<Findings, LedgerError> {
    let ratchet = Ratchet::open(store).await?;
    let mut findings = Findings::default();
    let acknowledged = fs::read_to_string(folder.join("acknowledged")).unwrap_or_default();
    for key in acknowledged.lines() {
        let Ok(parsed) = Key::parse(key) else { continue };
        if ratchet.under_key(parsed).await?.is_empty() {
            findings.lost += 1;
            findings.said.push(format!("{key} was acknowledged and is gone"));
        }
    }
    findings.said.extend(damage(store).await?);
    Ok(findings)
}

/// What `SQLite` itself finds wrong with its file.
async fn damage(store: &str) -> Result<Option<String>, LedgerError> {
    if !store.starts_with("sqlite:") {
        return Ok(None);
    }
    let told = |source| LedgerError::Store { doing: "check the file", source: Box::new(source) };
    let mut connection = SqliteConnection::connect(store).await.map_err(told)?;
    let answer: String =
        sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut connection).await.map_err(told)?;
    connection.close().await.map_err(told)?;
    Ok((answer != "ok").then_some(answer))
}

/// Everything that is no tombstone, by its key.
pub(super) async fn records(ratchet: &Ratchet) -> Result<BTreeMap<String, Record>, LedgerError> {
    let (mut records, mut filter) = (BTreeMap::new(), Filter { limit: 1_000, ..Filter::default() });
    loop {
        let page = ratchet.list(filter.clone()).await?;
        records.extend(page.records.into_iter().map(|record| (record.id.key.as_str().to_owned(), record)));
        match page.next {
            Some(next) => filter.after = Some(next),
            None => return Ok(records),
        }
    }
}

/// How the records stand that no late word may change, by their keys.
pub(crate) async fn definite(store: &str) -> Result<BTreeMap<String, State>, LedgerError> {
    let ratchet = Ratchet::open(store).await?;
    let records = records(&ratchet).await?.into_iter();
    Ok(records
        .filter(|(_, record)| record.state.is_definite())
        .map(|(key, record)| (key, record.state))
        .collect())
}

/// How one of them stands now.
pub(crate) async fn state_of(store: &str, key: &str) -> Result<Option<State>, LedgerError> {
    let ratchet = Ratchet::open(store).await?;
    let Ok(key) = Key::parse(key) else { return Ok(None) };
    Ok(ratchet.under_key(key).await?.first().map(Stored::state))
}

impl Findings {
    pub(crate) fn add(&mut self, more: Self) {
        self.lost += more.lost;
        self.doubled += more.doubled;
        self.stale += more.stale;
        self.said.extend(more.said);
    }

    fn look_at(&mut self, effects: &BTreeMap<String, u64>, record: &Record) {
        let key = record.id.key.as_str();
        let of = |identity: &str| effects.get(identity).copied().unwrap_or(0);
        let own = of(key);
        let steps: Vec<u64> = record.steps.keys().map(|step| of(&format!("{key}!{step}"))).collect();
        for count in steps.iter().copied().chain([own]).filter(|count| *count > 1) {
            self.doubled += count - 1;
            self.said.push(format!("{key} had its effect {count} times"));
        }
        let happened = own > 0 || steps.len() == 2 && steps.iter().all(|count| *count > 0);
        let wrong = match record.state {
            State::Succeeded => !happened,
            State::Failed | State::Exhausted | State::Cancelled | State::Skipped => {
                !nothing_but_finished_steps(record, own, &steps)
            }
            State::Uncertain => record.uncertainty.is_none(),
            State::Waiting | State::Pending | State::Running => true,
            State::Abandoned => false,
        };
        if wrong {
            self.said.push(format!("{key} is {} and had its effect {own} {steps:?} times", record.state));
        }
    }
}
