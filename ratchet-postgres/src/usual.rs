//! The two writes that most records get and no more: their first lease, and the end of that attempt with success.
//!
//! Each sets only what it can change, which is half the work of the update that sets every column.

use ratchet_core::{OutcomeKind, Payload, State, Token};

use crate::row::purge_at;
use crate::write::{Change, Update, column, millis, number};

macro_rules! update {
    ($set:literal, $parameters:literal, $names:literal, $token:literal) => {
        concat!(
            "UPDATE ratchet.progress AS p SET ",
            $set,
            " FROM unnest($1::bigint[], $2::xid[], ",
            $parameters,
            ") AS c(record_id, seen, ",
            $names,
            ") CROSS JOIN LATERAL (SELECT t.ctid FROM ratchet.progress AS t WHERE t.record_id = c.record_id LIMIT 1) AS f \
            WHERE p.ctid = f.ctid AND p.xmin = c.seen AND p.token = ",
            $token,
            " RETURNING p.record_id, p.xmin AS seen"
        )
    };
}

/// The statement for these changes, if all of them are first leases or all are ends.
pub(crate) fn update<'q>(rows: &'q [Change<'_>]) -> Option<Update<'q>> {
    if rows.iter().all(is_first_lease) {
        Some(lease(rows))
    } else if rows.iter().all(is_success) {
        Some(end(rows))
    } else {
        None
    }
}

/// Nothing but one command led from no token to the first.
fn is_first_lease(change: &Change<'_>) -> bool {
    let first = change.was == (State::Pending, Token::NONE) && change.record.token == Token::NONE.next();
    first && change.record.state == State::Running && change.opened().is_some() && change.stays_plain()
}

fn lease<'q>(rows: &'q [Change<'_>]) -> Update<'q> {
    const LEASE: &str = update!(
        "state = 'running', token = c.token, attempts = c.attempts, lease_until = c.lease_until, \
            first_started_at = c.first_started_at, attempt_token = c.token, attempt_worker = c.worker, \
            attempt_leased_at = c.leased_at, attempt_started_at = c.started_at",
        "$3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[], $9::bigint[]",
        "token, attempts, lease_until, first_started_at, worker, leased_at, started_at",
        "0"
    );
    sqlx::query(LEASE)
        .bind(column(rows, |change| change.row))
        .bind(column(rows, |change| change.mark.seen))
        .bind(column(rows, |change| number(change.record.token)))
        .bind(column(rows, |change| i64::from(change.record.attempts)))
        .bind(column(rows, |change| change.lease().map(|lease| millis(lease.until))))
        .bind(column(rows, |change| change.record.effect.first_started_at.map(millis)))
        .bind(column(rows, |change| change.opened().map(|attempt| attempt.worker.as_str())))
        .bind(column(rows, |change| change.opened().map(|attempt| millis(attempt.leased_at))))
        .bind(column(rows, |change| change.latest.started_at().map(millis)))
}

/// The attempt that the row has ended, and it was known there that it had started.
fn is_success(change: &Change<'_>) -> bool {
    let same = change.was == (State::Running, change.record.token) && change.latest.started_at().is_none();
    let done = change.end().is_some_and(|end| end.outcome == OutcomeKind::Done && !end.late);
    same && done && change.record.state == State::Succeeded && change.stays_plain()
}

fn end<'q>(rows: &'q [Change<'_>]) -> Update<'q> {
    const END: &str = update!(
        "state = 'succeeded', lease_until = NULL, result = c.result, settled_at = c.settled_at, \
            purge_at = c.purge_at, attempt_ended_at = c.ended_at, attempt_outcome = 'done', attempt_late = false",
        "$3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[]",
        "result, settled_at, purge_at, ended_at, token",
        "c.token"
    );
    sqlx::query(END)
        .bind(column(rows, |change| change.row))
        .bind(column(rows, |change| change.mark.seen))
        .bind(column(rows, |change| change.record.result.as_ref().map(Payload::as_str)))
        .bind(column(rows, |change| change.record.settled_at.map(millis)))
        .bind(column(rows, |change| purge_at(change.record).map(millis)))
        .bind(column(rows, |change| change.end().map(|end| millis(end.at))))
        .bind(column(rows, |change| number(change.was.1)))
}
