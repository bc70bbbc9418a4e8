//! The statement that makes records.

use std::collections::HashSet;

use ratchet_core::ledger::follow::Predecessor;
use ratchet_core::{After, GroupId, Record, Timestamp};
use sqlx::PgConnection;

use crate::bell::{Bell, CHANNEL};
use crate::columns::InOrder;
use crate::error::{Fault, While as _};
use crate::row::{Texts, now};
use crate::submit::Terms;
use crate::write::column;

/// What an insert made.
#[derive(Default)]
pub(crate) struct Made {
    /// The number that each record has, if it was made.
    pub(crate) numbers: Vec<i64>,
    /// The numbers of those that were.
    pub(crate) rows: HashSet<i64>,
    pub(crate) at: Option<Timestamp>,
}

/// Inserts records into both tables; with further columns, their parameters and names.
macro_rules! insert_records {
    () => {
        insert_records!("", "", "", "", "", "", "")
    };
    (linked) => {
        insert_records!(
            ", $19::text[], $20::text[], $22::text[]",
            ", group_id, comes_after, trace",
            ", group_id, comes_after, trace, after_id",
            ", w.group_id, w.comes_after, w.trace, $21::bigint",
            ", comes_after",
            ", state",
            ", CASE WHEN comes_after IS NULL THEN 'pending' ELSE 'waiting' END"
        )
    };
    ($parameters:literal, $names:literal, $columns:literal, $values:literal, $returned:literal, $begun:literal,
        $state:literal) => {
        concat!(
            "WITH numbers AS MATERIALIZED (SELECT array_agg(nextval('ratchet.records_id')) AS ids \
                FROM generate_series(1, cardinality($2::text[]))), \
            moment AS MATERIALIZED (SELECT ",
            now!("$1"),
            " AS now), \
            made AS (INSERT INTO ratchet.records (id, namespace, operation, key, generation, version, fingerprint, \
                    priority, created_at, not_before, policy, contract, input, queue",
            $columns,
            ") SELECT n.ids[w.place], w.namespace, w.operation, w.key, w.generation, w.version, w.fingerprint, \
                    w.priority, m.now, greatest(w.not_before, m.now), ($16::text[])[w.policy], \
                    ($17::text[])[w.contract], w.input, w.queue",
            $values,
            " FROM numbers AS n CROSS JOIN moment AS m CROSS JOIN unnest($2::text[], $3::text[], $4::text[], \
                    $5::bigint[], $6::text[], $7::bytea[], $8::smallint[], $9::bigint[], $10::integer[], $11::integer[], \
                    $12::text[], $15::text[], $18::integer[]",
            $parameters,
            ") AS w(namespace, operation, key, generation, version, fingerprint, priority, not_before, policy, \
                    contract, input, queue, place",
            $names,
            ") ON CONFLICT (namespace, operation, key, generation) DO NOTHING \
                RETURNING id, namespace, operation, version, priority, created_at, not_before, queue",
            $returned,
            "), \
            begun AS (INSERT INTO ratchet.progress (record_id, ready_at, priority, namespace, operation, version, queue",
            $begun,
            ") SELECT id, not_before, priority, namespace, operation, version, queue",
            $state,
            " FROM made) \
            SELECT (SELECT ids FROM numbers), coalesce(array_agg(id), '{}'), max(created_at), \
                CASE WHEN count(*) > 0 AND $13::text IS NOT NULL THEN pg_notify($14, $13)::text END FROM made"
        )
    };
}

/// Inserts those of the records whose identity is free.
///
/// In the order of their identities, so that two batches with the same keys do not wait for each other in a circle; the
/// numbers of the rows are in the order of the submissions, which `place` says.
pub(crate) async fn insert(
    connection: &mut PgConnection,
    records: &[&Record],
    predecessor: Predecessor,
    terms: Terms<'_>,
) -> Result<Made, Fault> {
    if records.is_empty() {
        return Ok(Made::default());
    }
    let mut sorted: Vec<(i32, &Record)> = (1..).zip(records.iter().copied()).collect();
    sorted.sort_unstable_by(|(_, one), (_, other)| one.id.cmp(&other.id));
    let (mut policies, mut contracts) = (Texts::default(), Texts::default());
    for (_, record) in &sorted {
        policies.add(&record.policy)?;
        contracts.add(&record.effect.contract)?;
    }
    let linked = records
        .iter()
        .any(|record| record.group.is_some() || record.after.is_some() || record.trace.is_some());
    let mut query = sqlx::query(if linked { insert_records!(linked) } else { insert_records!() })
        .bind(terms.now)
        .bind(column(&sorted, |(_, record)| record.id.namespace.as_str()))
        .bind(column(&sorted, |(_, record)| record.id.operation.as_str()))
        .bind(column(&sorted, |(_, record)| record.id.key.as_str()))
        .bind(column(&sorted, |(_, record)| i64::from(record.id.generation.get())))
        .bind(column(&sorted, |(_, record)| record.version.as_str()))
        .bind(column(&sorted, |(_, record)| record.fingerprint.as_bytes().as_slice()))
        .bind(column(&sorted, |(_, record)| record.priority.0))
        .bind(column(&sorted, |(_, record)| record.ready_at.as_millis()))
        .bind(policies.places())
        .bind(contracts.places())
        .bind(column(&sorted, |(_, record)| record.input.as_str()))
        .bind(terms.bell.map_or(Some(""), Bell::tone))
        .bind(CHANNEL)
        .bind(column(&sorted, |(_, record)| record.queue.as_str()))
        .bind(policies.distinct())
        .bind(contracts.distinct())
        .bind(column(&sorted, |(place, _)| *place));
    if linked {
        query = query
            .bind(column(&sorted, |(_, record)| record.group.as_ref().map(GroupId::as_str)))
            .bind(column(&sorted, |(_, record)| record.after.as_ref().map(After::to_stored)))
            .bind(predecessor.row())
            .bind(column(&sorted, |(_, record)| record.trace.map(|place| place.to_string())));
    }
    let row = query.fetch_one(connection).await.while_trying("insert records")?;
    let mut row = InOrder::new(&row);
    let numbers = row.next()?;
    let rows = row.next::<Vec<i64>>()?.into_iter().collect();
    Ok(Made { numbers, rows, at: row.time_if_any()? })
}
