//! Policies with contracts, which records share.

use std::collections::{BTreeSet, HashMap};

use ratchet_core::{Policy, Record, Terms, serde_json};
use sqlx::{SqliteConnection, SqliteExecutor};

use crate::error::{Fault, While as _};
use crate::row::{as_json, rows_as_json};

/// The policy and the contract of a record as the JSON list that a row of `ratchet_terms` holds.
pub(crate) fn of(record: &Record) -> Result<String, Fault> {
    as_json(&(&record.policy, &record.effect.contract))
}

/// Makes sure that there are rows for these terms.
pub(crate) async fn put_on_record(connection: &mut SqliteConnection, terms: &[&str]) -> Result<(), Fault> {
    const ADD: &str = "INSERT INTO ratchet_terms (terms) SELECT value FROM json_each(?1) WHERE TRUE \
        ON CONFLICT DO NOTHING";
    if terms.is_empty() {
        return Ok(());
    }
    sqlx::query(ADD).bind(rows_as_json(terms)?).execute(connection).await.while_trying("write terms")?;
    Ok(())
}

/// Terms by the number of their row, for rows that are read together.
pub(crate) struct KnownTerms(HashMap<i64, (Policy, Terms)>);

impl KnownTerms {
    /// What cannot be read is missed later, by the records that have it.
    pub(crate) async fn load(executor: impl SqliteExecutor<'_>, ids: BTreeSet<i64>) -> Result<Self, Fault> {
        const LOAD: &str = "SELECT t.id, t.terms \
            FROM json_each(?1) AS wanted CROSS JOIN ratchet_terms AS t ON t.id = wanted.value";
        if ids.is_empty() {
            return Ok(Self(HashMap::new()));
        }
        let ids: Vec<i64> = ids.into_iter().collect();
        let rows: Vec<(i64, String)> = sqlx::query_as(LOAD)
            .bind(rows_as_json(&ids)?)
            .fetch_all(executor)
            .await
            .while_trying("read terms")?;
        let known = rows.into_iter().filter_map(|(id, terms)| Some((id, serde_json::from_str(&terms).ok()?)));
        Ok(Self(known.collect()))
    }

    pub(crate) fn get(&self, id: i64) -> Result<&(Policy, Terms), Fault> {
        self.0.get(&id).ok_or(Fault::Damaged("its policy and contract cannot be read"))
    }
}
