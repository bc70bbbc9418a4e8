//! The two writes that most records get and no more: their first lease, and success at its end.
//!
//! The records of a claim get the same lease, and those that are settled together end at the same moment. What they share
//! is a parameter of one statement, so that only what differs has to be taken out of JSON. An attempt that starts with its
//! lease stays in the row of its record, as long as no more than these two happens.

use std::collections::{BTreeMap, HashMap, HashSet};

use ratchet_core::ledger::desk::{Desk, Sheet};
use ratchet_core::{OutcomeKind, Payload, Record, State, Timestamp, Token, WorkerId};
use sqlx::SqliteConnection;

use crate::error::{Fault, While as _};
use crate::first_attempt;
use crate::row::{as_json, purge_at};
use crate::write::require_all;

/// What the usual writes cover of that which was decided.
#[derive(Default)]
pub(crate) struct Usual<'a> {
    leases: HashMap<FirstLease<'a>, Vec<i64>>,
    successes: HashMap<Success, Results<'a>>,
    covered: HashSet<(i64, Token)>,
}

/// What records that are leased for the first time share.
#[derive(PartialEq, Eq, Hash)]
struct FirstLease<'a> {
    worker: &'a WorkerId,
    until: Timestamp,
    leased_at: Timestamp,
    started_at: Option<Timestamp>,
    attempts: u32,
}

/// What records that end together share.
#[derive(PartialEq, Eq, Hash)]
struct Success {
    token: Token,
    attempts: u32,
    spent: u32,
    first_started_at: Option<Timestamp>,
    settled_at: Timestamp,
    purge_at: Option<Timestamp>,
}

/// The result of each row: as JSON, an object by the number of the row.
type Results<'a> = BTreeMap<i64, Option<&'a str>>;

impl<'a> Usual<'a> {
    pub(crate) fn of(desk: &'a Desk) -> Self {
        let mut usual = Self::default();
        for sheet in desk.sheets.iter().filter(|sheet| is_plain(sheet)) {
            if let Some(lease) = first_lease(sheet, desk) {
                usual.leases.entry(lease).or_default().push(sheet.row);
            } else if let Some(success) = success(sheet, desk) {
                let result = sheet.record.result.as_ref().map(Payload::as_str);
                usual.successes.entry(success).or_default().insert(sheet.row, result);
            } else {
                continue;
            }
            usual.covered.insert((sheet.row, sheet.record.token));
        }
        usual
    }

    /// Whether nothing is left to write of this record and its attempt with this token.
    pub(crate) fn covers(&self, row: i64, token: Token) -> bool {
        self.covered.contains(&(row, token))
    }

    pub(crate) async fn write(&self, connection: &mut SqliteConnection) -> Result<(), Fault> {
        for (lease, rows) in &self.leases {
            lease.write(connection, rows).await?;
        }
        for (success, results) in &self.successes {
            success.write(connection, results).await?;
        }
        Ok(())
    }
}

/// Whether the record has nothing that few records have, also if it had it before.
fn is_plain(sheet: &Sheet) -> bool {
    let Record { effect, cause, uncertainty, reconcile_at, cancel_requested, risk_accepted, .. } =
        &sheet.record;
    sheet.changed
        && sheet.changed_steps.is_empty()
        && !sheet.changed_terms
        && !effect.may_be_applied
        && effect.pin.is_none()
        && cause.is_none()
        && uncertainty.is_none()
        && reconcile_at.is_none()
        && !cancel_requested
        && !risk_accepted
}

/// A lease changes nothing of what a plain record has not.
fn first_lease<'a>(sheet: &'a Sheet, desk: &'a Desk) -> Option<FirstLease<'a>> {
    let record = &sheet.record;
    let lease = record.lease.as_ref()?;
    let attempt = desk.attempts.opened.get(&(sheet.row, record.token))?;
    let is_first = sheet.was == (State::Pending, Token::NONE) && record.token == Token::NONE.next();
    let as_leased = record.state == State::Running
        && record.spent == 0
        && record.effect.first_started_at == lease.started_at
        && attempt.started_at == lease.started_at
        && attempt.worker == lease.worker
        && attempt.version == record.version
        && attempt.end.is_none();
    (is_first && as_leased).then_some(FirstLease {
        worker: &lease.worker,
        until: lease.until,
        leased_at: attempt.leased_at,
        started_at: lease.started_at,
        attempts: record.attempts,
    })
}

fn success(sheet: &Sheet, desk: &Desk) -> Option<Success> {
    let (record, attempt) = (&sheet.record, (sheet.row, sheet.record.token));
    let end = desk.attempts.ended.get(&attempt)?;
    let is_end = sheet.was == (State::Running, record.token)
        && record.state == State::Succeeded
        && end.outcome == OutcomeKind::Done
        && end.cause.is_none()
        && !end.late
        && record.settled_at == Some(end.at)
        && !desk.attempts.started.contains_key(&attempt);
    is_end.then_some(Success {
        token: record.token,
        attempts: record.attempts,
        spent: record.spent,
        first_started_at: record.effect.first_started_at,
        settled_at: end.at,
        purge_at: purge_at(record),
    })
}

// The `+` in these statements keeps partial indexes out of the plan: with statistics of another hour they look cheaper
// than the row ids, and each row is then compared with the whole list.
pub(crate) const LEASE: &str = "UPDATE ratchet_records SET state = 'running', token = 1, attempts = ?2, lease_worker = ?3, \
        lease_until = ?4, lease_started_at = ?5, first_started_at = ?5, first_worker = iif(?5 IS NULL, NULL, ?3), \
        first_leased_at = iif(?5 IS NULL, NULL, ?6) \
    WHERE id IN (SELECT value FROM json_each(?1)) AND +state = 'pending' AND token = 0";
/// Of the only attempt there was, if all of it is in the row.
pub(crate) const SUCCEED_AT_ONCE: &str = "UPDATE ratchet_records AS r SET state = 'succeeded', result = done.atom, \
        attempts = ?3, spent = ?4, settled_at = ?6, purge_at = ?7, lease_worker = NULL, lease_until = NULL, \
        lease_started_at = NULL \
    FROM json_each(?1) AS done WHERE r.id = CAST(done.key AS INTEGER) AND +r.state = 'running' AND r.token = ?2 \
        AND r.first_worker IS NOT NULL AND r.first_started_at = ?5";
pub(crate) const SUCCEED: &str = "UPDATE ratchet_records AS r SET state = 'succeeded', result = done.atom, attempts = ?3, \
        spent = ?4, first_started_at = ?5, settled_at = ?6, purge_at = ?7, lease_worker = NULL, \
        lease_until = NULL, lease_started_at = NULL, may_be_applied = 0, pin = NULL, cancel_requested = 0, \
        risk_accepted = 0, cause = NULL, uncertainty = NULL, reconcile_at = NULL, attention = NULL \
    FROM json_each(?1) AS done WHERE r.id = CAST(done.key AS INTEGER) AND +r.state = 'running' AND r.token = ?2";

impl FirstLease<'_> {
    async fn write(&self, connection: &mut SqliteConnection, rows: &[i64]) -> Result<(), Fault> {
        const OPEN: &str = "INSERT INTO ratchet_attempts (record_id, token, worker, version, leased_at, started_at) \
            SELECT r.id, r.token, r.lease_worker, r.version, ?2, r.lease_started_at \
            FROM json_each(?1) AS leased CROSS JOIN ratchet_records AS r ON r.id = leased.value";
        let json = as_json(rows)?;
        let leased = sqlx::query(LEASE)
            .bind(&json)
            .bind(i64::from(self.attempts))
            .bind(self.worker.as_str())
            .bind(self.until.as_millis())
            .bind(self.started_at.map(Timestamp::as_millis))
            .bind(self.leased_at.as_millis())
            .execute(&mut *connection)
            .await
            .while_trying("write leases")?;
        require_all(leased.rows_affected(), rows.len())?;
        // An attempt that still has to start gets a row now: its start would be the time to make one.
        if self.started_at.is_none() {
            let open = sqlx::query(OPEN).bind(json).bind(self.leased_at.as_millis());
            open.execute(connection).await.while_trying("write attempts")?;
        }
        Ok(())
    }
}

impl Success {
    async fn write(&self, connection: &mut SqliteConnection, results: &Results<'_>) -> Result<(), Fault> {
        const END: &str = "UPDATE ratchet_attempts SET ended_at = ?3, outcome = 'done', cause = NULL, late = 0 \
            WHERE record_id IN (SELECT CAST(key AS INTEGER) FROM json_each(?1)) AND token = ?2 \
                AND (outcome IS NULL OR outcome = 'unknown')";
        let json = as_json(results)?;
        let at_once =
            if self.is_of_first() { self.run(SUCCEED_AT_ONCE, &json, connection).await? } else { 0 };
        if at_once == results.len() as u64 {
            return Ok(());
        }
        first_attempt::move_out(connection, &results.keys().copied().collect::<Vec<_>>()).await?;
        let succeeded = self.run(SUCCEED, &json, connection).await?;
        require_all(at_once + succeeded, results.len())?;
        let end = sqlx::query(END).bind(json).bind(self.token()).bind(self.settled_at.as_millis());
        end.execute(connection).await.while_trying("write attempts")?;
        Ok(())
    }

    fn is_of_first(&self) -> bool {
        self.token == Token::NONE.next() && self.first_started_at.is_some()
    }

    fn token(&self) -> i64 {
        i64::try_from(self.token.get()).unwrap_or(i64::MAX)
    }

    async fn run(
        &self,
        statement: &'static str,
        results: &str,
        connection: &mut SqliteConnection,
    ) -> Result<u64, Fault> {
        let done = sqlx::query(statement)
            .bind(results)
            .bind(self.token())
            .bind(i64::from(self.attempts))
            .bind(i64::from(self.spent))
            .bind(self.first_started_at.map(Timestamp::as_millis))
            .bind(self.settled_at.as_millis())
            .bind(self.purge_at.map(Timestamp::as_millis))
            .execute(connection)
            .await
            .while_trying("write ends")?;
        Ok(done.rows_affected())
    }
}
