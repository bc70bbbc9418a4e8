//! The two writes that most records get and no more: their first lease, and the end of that attempt with success.
//!
//! Each sets only what it can change, which is half the work of the update that sets every column.

use ratchet_core::{OutcomeKind, Payload, Record, State, Token};

use crate::row::purge_at;
use crate::write::{Change, Update, column, millis, number};

const FIRST: Token = Token::NONE.next();

// The planner takes rows behind such a limit for few, and goes to each place at once. It would rather read all of a table
// that it has seen small, and keeps such a plan while the table grows.
macro_rules! update {
    ($set:literal, $parameters:literal, $names:literal, $token:literal) => {
        concat!(
            "UPDATE ratchet.progress AS p SET ",
            $set,
            " FROM (SELECT * FROM unnest($1::bigint[], $2::xid[], $3::tid[]",
            $parameters,
            ") LIMIT cardinality($1)) AS c(record_id, seen, place",
            $names,
            ") WHERE p.ctid = c.place AND p.xmin = c.seen AND p.record_id = c.record_id AND p.token = ",
            $token,
            " RETURNING p.record_id, p.xmin AS seen, p.ctid AS place"
        )
    };
}

const LEASE: &str = update!(
    "state = 'running', token = $5, attempts = c.started::int, lease_until = $6, \
        first_started_at = CASE WHEN c.started THEN $7::bigint END, attempt_token = $5, attempt_worker = $8, \
        attempt_leased_at = $7, attempt_started_at = CASE WHEN c.started THEN $7::bigint END",
    ", $4::boolean[]",
    ", started",
    "0"
);

const END: &str = update!(
    "state = 'succeeded', lease_until = NULL, result = c.result, purge_at = c.purge_at, settled_at = $6, \
        attempt_ended_at = $7, attempt_outcome = 'done', attempt_late = false",
    ", $4::text[], $5::bigint[], $8::bigint[]",
    ", result, purge_at, token",
    "c.token"
);

/// The statement for these changes, if all of them are first leases or all are ends, of one moment.
pub(crate) fn update<'q>(rows: &'q [Change<'_>]) -> Option<Update<'q>> {
    let first = rows.first()?;
    if rows.iter().all(|change| is_first_lease(change) && is_leased_with(change, first)) {
        Some(lease(rows, first))
    } else if rows.iter().all(|change| is_success(change) && is_ended_with(change, first)) {
        Some(end(rows, first))
    } else {
        None
    }
}

/// Nothing but one command led from no token to the first, and what is told of the start is when it was leased.
fn is_first_lease(change: &Change<'_>) -> bool {
    let Some(attempt) = change.opened() else { return false };
    let Record { state, token, attempts, spent, effect, .. } = change.record;
    let first = change.was == (State::Pending, Token::NONE) && *token == FIRST && *state == State::Running;
    let started = change.latest.started_at();
    let by_lease = started.is_none_or(|at| at == attempt.leased_at);
    let counted =
        *attempts == u32::from(started.is_some()) && *spent == 0 && effect.first_started_at == started;
    first && by_lease && counted && change.stays_plain()
}

/// What a claim leases, it leases to one worker for one time.
fn is_leased_with(change: &Change<'_>, first: &Change<'_>) -> bool {
    let (Some(one), Some(other)) = (change.opened(), first.opened()) else { return false };
    let until = |change: &Change<'_>| change.lease().map(|lease| lease.until);
    until(change) == until(first) && one.leased_at == other.leased_at && one.worker == other.worker
}

fn lease<'q>(rows: &'q [Change<'_>], first: &'q Change<'_>) -> Update<'q> {
    by_place(LEASE, rows)
        .bind(column(rows, |change| change.latest.started_at().is_some()))
        .bind(number(FIRST))
        .bind(first.lease().map(|lease| millis(lease.until)))
        .bind(first.opened().map(|attempt| millis(attempt.leased_at)))
        .bind(first.opened().map(|attempt| attempt.worker.as_str()))
}

/// The attempt that the row has ended, and it was known there that it had started.
fn is_success(change: &Change<'_>) -> bool {
    let same = change.was == (State::Running, change.record.token) && change.latest.started_at().is_none();
    let done = change.end().is_some_and(|end| end.outcome == OutcomeKind::Done && !end.late);
    same && done && change.record.state == State::Succeeded && change.stays_plain()
}

fn is_ended_with(change: &Change<'_>, first: &Change<'_>) -> bool {
    let at = |change: &Change<'_>| (change.record.settled_at, change.end().map(|end| end.at));
    at(change) == at(first)
}

fn end<'q>(rows: &'q [Change<'_>], first: &'q Change<'_>) -> Update<'q> {
    by_place(END, rows)
        .bind(column(rows, |change| change.record.result.as_ref().map(Payload::as_str)))
        .bind(column(rows, |change| purge_at(change.record).map(millis)))
        .bind(first.record.settled_at.map(millis))
        .bind(first.end().map(|end| millis(end.at)))
        .bind(column(rows, |change| number(change.was.1)))
}

/// Binds what finds the rows.
fn by_place<'q>(statement: &'static str, rows: &'q [Change<'_>]) -> Update<'q> {
    sqlx::query(statement)
        .bind(column(rows, |change| change.row))
        .bind(column(rows, |change| change.mark.seen.by))
        .bind(column(rows, |change| change.mark.seen.place))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sqlx::{AssertSqlSafe, Row as _};

    use super::*;
    use crate::schema;
    use crate::session::Connector;

    /// A program that starts on an empty store keeps its plans while that grows.
    #[tokio::test]
    async fn a_plan_made_for_an_empty_table_goes_to_the_places_too() {
        let database = ratchet_test_postgres::shared().database().await;
        let connector = Connector {
            options: database.url().parse().unwrap(),
            lock_timeout: Duration::from_secs(1),
            answer_timeout: Duration::from_secs(10),
        };
        let mut connection = connector.connect().await.unwrap();
        schema::bring_up_to_date(&mut connection).await.unwrap();
        sqlx::raw_sql("VACUUM ANALYZE ratchet.progress").execute(&mut connection).await.unwrap();
        for (name, statement, arguments) in
            [("lease", LEASE, "'{t}', 1, 1, 1, 'w'"), ("ending", END, "'{1}', '{1}', 1, 1, '{1}'")]
        {
            let prepare = format!("PREPARE {name} AS {statement}");
            sqlx::raw_sql(AssertSqlSafe(prepare)).execute(&mut connection).await.unwrap();
            let explain = format!("EXPLAIN EXECUTE {name}('{{1}}', '{{1}}', NULL, {arguments})");
            let plan = sqlx::raw_sql(AssertSqlSafe(explain)).fetch_all(&mut connection).await.unwrap();
            let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
            let plan = plan.join("\n");
            assert!(plan.contains("TID Cond: (ctid = c.place)"), "{plan}");
            assert!(!plan.contains("Index Scan"), "{plan}");
        }
    }
}
