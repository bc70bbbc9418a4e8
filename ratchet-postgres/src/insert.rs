//! The statement that makes records.

use std::collections::HashSet;

use ratchet_core::ledger::follow::Predecessor;
use ratchet_core::{After, GroupId, Record, Timestamp};
use sqlx::PgConnection;

use crate::bell::{Bell, CHANNEL};
use crate::columns::InOrder;
use crate::error::{Fault, While as _};
use crate::row::{Texts, as_json, now};
use crate::submit::Terms;
use crate::write::{Update, column};

/// What an insert made.
#[derive(Default)]
pub(crate) struct Made {
    /// The number that each record has, if it was made.
    pub(crate) numbers: Vec<i64>,
    /// The numbers of those that were.
    pub(crate) rows: HashSet<i64>,
    pub(crate) at: Option<Timestamp>,
}

/// Inserts records into both tables. `$1` is the moment, `$2` and `$3` say who is told, `$4` to `$7` are keys, fingerprints,
/// inputs and places; what the others have in common comes as it is, and what differs as further columns.
macro_rules! insert_records {
    // Neither groups nor predecessors, and but for the inputs all alike.
    (alike) => {
        insert_records!(
            "$8::text, $9::text, $10::bigint, $11::text, $12::smallint, greatest($13::bigint, m.now), $14::text, \
                $15::text, $16::text",
            "", "", "", "", "", "", "", "", ""
        )
    };
    (mixed) => {
        insert_records!(mixed: "", "", "", "", "", "", "")
    };
    (linked) => {
        insert_records!(
            mixed: ", $19::text[], $20::text[], $22::text[]",
            ", group_id, comes_after, trace",
            ", group_id, comes_after, trace",
            ", w.group_id, w.comes_after, w.trace",
            ", comes_after",
            ", state, after_id",
            ", CASE WHEN comes_after IS NULL THEN 'pending' ELSE 'waiting' END, $21::bigint"
        )
    };
    (mixed: $parameters:literal, $names:literal, $columns:literal, $values:literal, $returned:literal,
        $begun:literal, $state:literal) => {
        insert_records!(
            "w.namespace, w.operation, w.generation, w.version, w.priority, greatest(w.not_before, m.now), \
                ($14::text[])[w.policy], ($15::text[])[w.contract], w.queue",
            ", $8::text[], $9::text[], $10::bigint[], $11::text[], $12::smallint[], $13::bigint[], $16::text[], \
                $17::integer[], $18::integer[]",
            ", namespace, operation, generation, version, priority, not_before, queue, policy, contract",
            $parameters, $names, $columns, $values, $returned, $begun, $state
        )
    };
    ($shared:literal, $each:literal, $named:literal, $parameters:literal, $names:literal, $columns:literal, $values:literal, $returned:literal,
        $begun:literal, $state:literal) => {
        concat!(
            "WITH numbers AS MATERIALIZED (SELECT array_agg(nextval('ratchet.records_id')) AS ids \
                FROM generate_series(1, cardinality($4::text[]))), \
            moment AS MATERIALIZED (SELECT ",
            now!("$1"),
            " AS now), \
            made AS (INSERT INTO ratchet.records (id, key, fingerprint, input, created_at, namespace, operation, \
                    generation, version, priority, not_before, policy, contract, queue",
            $columns,
            ") SELECT n.ids[w.place], w.key, w.fingerprint, w.input, m.now, ",
            $shared,
            $values,
            " FROM numbers AS n CROSS JOIN moment AS m CROSS JOIN unnest($4::text[], $5::bytea[], $6::text[], \
                    $7::integer[]",
            $each,
            $parameters,
            ") AS w(key, fingerprint, input, place",
            $named,
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
                CASE WHEN count(*) > 0 AND $2::text IS NOT NULL THEN pg_notify($3, $2)::text END FROM made"
        )
    };
}

/// Whether two records differ in no more than their keys and inputs.
fn are_alike(one: &Record, other: &Record) -> bool {
    let numbers = |record: &Record| (record.id.generation, record.priority, record.ready_at);
    numbers(one) == numbers(other)
        && one.id.namespace == other.id.namespace
        && one.id.operation == other.id.operation
        && one.version == other.version
        && one.queue == other.queue
        && one.policy == other.policy
        && one.effect.contract == other.effect.contract
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
    let rows = &sorted[..];
    let linked = records
        .iter()
        .any(|record| record.group.is_some() || record.after.is_some() || record.trace.is_some());
    let alike = !linked && records.iter().all(|record| are_alike(record, records[0]));
    let statement = match (alike, linked) {
        (true, _) => insert_records!(alike),
        (_, true) => insert_records!(linked),
        _ => insert_records!(mixed),
    };
    let query = sqlx::query(statement)
        .bind(terms.now)
        .bind(terms.bell.map_or(Some(""), Bell::tone))
        .bind(CHANNEL)
        .bind(column(rows, |(_, record)| record.id.key.as_str()))
        .bind(column(rows, |(_, record)| record.fingerprint.as_bytes().as_slice()))
        .bind(column(rows, |(_, record)| record.input.as_str()))
        .bind(column(rows, |(place, _)| *place));
    let query = if alike {
        bind_shared(query, records[0])?
    } else if linked {
        bind_each(query, rows)?
            .bind(column(rows, |(_, record)| record.group.as_ref().map(GroupId::as_str)))
            .bind(column(rows, |(_, record)| record.after.as_ref().map(After::to_stored)))
            .bind(predecessor.row())
            .bind(column(rows, |(_, record)| record.trace.map(|place| place.to_string())))
    } else {
        bind_each(query, rows)?
    };
    let row = query.fetch_one(connection).await.while_trying("insert records")?;
    let mut row = InOrder::new(&row);
    let numbers = row.next()?;
    let rows = row.next::<Vec<i64>>()?.into_iter().collect();
    Ok(Made { numbers, rows, at: row.time_if_any()? })
}

fn bind_shared<'q>(query: Update<'q>, record: &'q Record) -> Result<Update<'q>, Fault> {
    Ok(query
        .bind(record.id.namespace.as_str())
        .bind(record.id.operation.as_str())
        .bind(i64::from(record.id.generation.get()))
        .bind(record.version.as_str())
        .bind(record.priority.0)
        .bind(record.ready_at.as_millis())
        .bind(as_json(&record.policy)?)
        .bind(as_json(&record.effect.contract)?)
        .bind(record.queue.as_str()))
}

fn bind_each<'q>(query: Update<'q>, rows: &[(i32, &'q Record)]) -> Result<Update<'q>, Fault> {
    let (mut policies, mut contracts) = (Texts::default(), Texts::default());
    for (_, record) in rows {
        policies.add(&record.policy)?;
        contracts.add(&record.effect.contract)?;
    }
    Ok(query
        .bind(column(rows, |(_, record)| record.id.namespace.as_str()))
        .bind(column(rows, |(_, record)| record.id.operation.as_str()))
        .bind(column(rows, |(_, record)| i64::from(record.id.generation.get())))
        .bind(column(rows, |(_, record)| record.version.as_str()))
        .bind(column(rows, |(_, record)| record.priority.0))
        .bind(column(rows, |(_, record)| record.ready_at.as_millis()))
        .bind(policies.distinct().to_vec())
        .bind(contracts.distinct().to_vec())
        .bind(column(rows, |(_, record)| record.queue.as_str()))
        .bind(policies.places().to_vec())
        .bind(contracts.places().to_vec()))
}
