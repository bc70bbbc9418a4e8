//! The statement that makes records.

use std::collections::HashSet;

use ratchet_core::ledger::follow::Predecessor;
use ratchet_core::{After, GroupId, Record, RecordId, Timestamp};
use sqlx::PgConnection;

use crate::bell::CHANNEL;
use crate::columns::Columns;
use crate::error::{Fault, While as _};
use crate::row::{Texts, now};
use crate::submit::Terms;
use crate::write::column;

/// What an insert made.
pub(crate) struct Made {
    /// The number of the first row, and when it was made.
    pub(crate) first: Option<(i64, Timestamp)>,
    /// The identities, unless it made all.
    names: HashSet<RecordId>,
    all: bool,
}

impl Made {
    pub(crate) fn includes(&self, id: &RecordId) -> bool {
        self.all || self.names.contains(id)
    }
}

/// Inserts records into both tables; with further columns, their parameters and names.
macro_rules! insert_records {
    () => {
        insert_records!("", "", "", "", "", "", "")
    };
    (linked) => {
        insert_records!(
            ", $18::text[], $19::text[]",
            ", group_id, comes_after",
            ", group_id, comes_after, after_id",
            ", w.group_id, w.comes_after, $20::bigint",
            ", comes_after",
            ", state",
            ", CASE WHEN comes_after IS NULL THEN 'pending' ELSE 'waiting' END"
        )
    };
    ($parameters:literal, $names:literal, $columns:literal, $values:literal, $returned:literal, $begun:literal,
        $state:literal) => {
        concat!(
            "WITH wanted AS MATERIALIZED (SELECT nextval('ratchet.records_id') AS id, w.* \
                FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bytea[], $8::smallint[], \
                    $9::bigint[], $10::integer[], $11::integer[], $12::text[], $15::text[]",
            $parameters,
            ") AS w(namespace, operation, key, generation, version, fingerprint, priority, not_before, policy, \
                    contract, input, queue",
            $names,
            ")), \
            moment AS MATERIALIZED (SELECT ",
            now!("$1"),
            " AS now), \
            made AS (INSERT INTO ratchet.records (id, namespace, operation, key, generation, version, fingerprint, \
                    priority, created_at, not_before, policy, contract, input, queue",
            $columns,
            ") SELECT w.id, w.namespace, w.operation, w.key, w.generation, w.version, w.fingerprint, w.priority, \
                    m.now, greatest(w.not_before, m.now), ($16::text[])[w.policy], ($17::text[])[w.contract], w.input, \
                    w.queue",
            $values,
            " FROM wanted AS w CROSS JOIN moment AS m \
                ORDER BY w.namespace, w.operation, w.key, w.generation \
                ON CONFLICT (namespace, operation, key, generation) DO NOTHING \
                RETURNING id, namespace, operation, key, generation, version, priority, created_at, not_before, queue",
            $returned,
            "), \
            begun AS (INSERT INTO ratchet.progress (record_id, ready_at, priority, namespace, operation, version, queue",
            $begun,
            ") SELECT id, not_before, priority, namespace, operation, version, queue",
            $state,
            " FROM made), \
            total AS MATERIALIZED (SELECT count(*) AS records, min(id) AS id, max(created_at) AS created_at FROM made) \
            SELECT records, id, created_at, NULL AS namespace, NULL AS operation, NULL AS key, NULL::bigint AS generation, \
                CASE WHEN records > 0 AND $13::text IS NOT NULL THEN pg_notify($14, $13)::text END AS notified FROM total \
            UNION ALL SELECT NULL, NULL, NULL, namespace, operation, key, generation, NULL FROM made \
                WHERE (SELECT records FROM total) < cardinality($2::text[])"
        )
    };
}

/// Inserts those of the records whose identity is free.
///
/// In the order of their identities, so that two batches with the same keys do not wait for each other in a circle; the
/// numbers of the rows are in the order of the submissions.
pub(crate) async fn insert(
    connection: &mut PgConnection,
    records: &[&Record],
    predecessor: Predecessor,
    terms: Terms<'_>,
) -> Result<Made, Fault> {
    if records.is_empty() {
        return Ok(Made { first: None, names: HashSet::new(), all: true });
    }
    let (mut policies, mut contracts) = (Texts::default(), Texts::default());
    for record in records {
        policies.add(&record.policy)?;
        contracts.add(&record.effect.contract)?;
    }
    let linked = records.iter().any(|record| record.group.is_some() || record.after.is_some());
    let mut query = sqlx::query(if linked { insert_records!(linked) } else { insert_records!() })
        .bind(terms.now)
        .bind(column(records, |record| record.id.namespace.as_str()))
        .bind(column(records, |record| record.id.operation.as_str()))
        .bind(column(records, |record| record.id.key.as_str()))
        .bind(column(records, |record| i64::from(record.id.generation.get())))
        .bind(column(records, |record| record.version.as_str()))
        .bind(column(records, |record| record.fingerprint.as_bytes().as_slice()))
        .bind(column(records, |record| record.priority.0))
        .bind(column(records, |record| record.ready_at.as_millis()))
        .bind(policies.places())
        .bind(contracts.places())
        .bind(column(records, |record| record.input.as_str()))
        .bind(terms.tone)
        .bind(CHANNEL)
        .bind(column(records, |record| record.queue.as_str()))
        .bind(policies.distinct())
        .bind(contracts.distinct());
    if linked {
        query = query
            .bind(column(records, |record| record.group.as_ref().map(GroupId::as_str)))
            .bind(column(records, |record| record.after.as_ref().map(After::to_stored)))
            .bind(predecessor.row());
    }
    let rows = query.fetch_all(connection).await.while_trying("insert records")?;
    let Some((total, identities)) = rows.split_first() else {
        return Err(Fault::Damaged("an insert has no answer"));
    };
    let all = Columns(total).small::<usize>("records")? == records.len();
    let names = identities.iter().map(|row| Columns(row).identity()).collect::<Result<_, _>>()?;
    let first = match Columns(total).number_if_any("id")? {
        Some(row) => Some((row, Columns(total).time("created_at")?)),
        None => None,
    };
    Ok(Made { first, names, all })
}
