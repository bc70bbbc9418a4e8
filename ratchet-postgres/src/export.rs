//! What the store holds, a page at a time, in the order in which another one is filled.

use std::collections::BTreeMap;

use ratchet_core::Attempt;
use ratchet_core::admission::KnownGate;
use ratchet_core::decide::Stored;
use ratchet_core::ledger::moving::{Batch, Carried, DocumentPlace, Page, Place};
use ratchet_core::ledger::{Cursor, Served};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use crate::columns::{Columns, by_json};
use crate::error::{Fault, While as _};
use crate::read::read_attempt;
use crate::row::{Snapshots, read_stored, record_columns, steps_column};
use crate::text::unescaped;
use crate::{audit, declare, document};

const DOING: &str = "read what it holds";

pub(crate) async fn export(
    connection: &mut PgConnection,
    place: &Place,
    limit: usize,
) -> Result<Batch, Fault> {
    let page = match place {
        Place::Facts => Page { items: facts(connection).await?, next: None },
        Place::Documents { after } => documents(connection, after.as_ref(), limit).await?,
        Place::Records { after } => records(connection, *after, limit).await?,
        Place::Audit { after } => trail(connection, *after, limit).await?,
        Place::End => Page::default(),
    };
    Ok(Batch::of(place, page))
}

async fn facts(connection: &mut PgConnection) -> Result<Vec<Carried>, Fault> {
    const TEMPLATES: &str =
        "SELECT operation, template, new_identity FROM ratchet.templates ORDER BY operation, id";
    const DECLARATIONS: &str = "SELECT operation, version, policy, contract, priority, queue, volatile, template, forms, \
            concurrency FROM ratchet.declarations ORDER BY operation, version";
    const HIDDEN: &str = "SELECT operation, version, paths FROM ratchet.hidden ORDER BY operation, version";
    const GATES: &str = "SELECT destination, gate FROM ratchet.gates ORDER BY destination";
    const ACKNOWLEDGED: &str = "SELECT epoch, by, reason FROM ratchet.acknowledgements ORDER BY epoch";
    let mut facts = all(connection, TEMPLATES, template).await?;
    facts.extend(all(connection, DECLARATIONS, declaration).await?);
    facts.extend(all(connection, HIDDEN, hidden).await?);
    facts.extend(all(connection, GATES, gate).await?);
    facts.extend(all(connection, ACKNOWLEDGED, acknowledgement).await?);
    Ok(facts)
}

async fn all(
    connection: &mut PgConnection,
    statement: &'static str,
    read: fn(&PgRow) -> Result<Carried, Fault>,
) -> Result<Vec<Carried>, Fault> {
    let rows = sqlx::query(statement).fetch_all(connection).await.while_trying(DOING)?;
    rows.iter().map(read).collect()
}

fn template(row: &PgRow) -> Result<Carried, Fault> {
    let row = Columns(row);
    Ok(Carried::Template {
        operation: row.name("operation")?,
        template: unescaped(row.text("template")?),
        new_identity: row.text_if_any("new_identity")?.map(unescaped),
    })
}

fn declaration(row: &PgRow) -> Result<Carried, Fault> {
    let columns = Columns(row);
    Ok(Carried::Declaration {
        declared: declare::read(row)?,
        template: unescaped(columns.text("template")?),
        forms: columns.text("forms")?.to_owned(),
    })
}

fn hidden(row: &PgRow) -> Result<Carried, Fault> {
    let row = Columns(row);
    let of = Served { operation: row.name("operation")?, version: row.name("version")? };
    Ok(Carried::Hidden { of, paths: by_json(row.text("paths")?)? })
}

fn gate(row: &PgRow) -> Result<Carried, Fault> {
    let row = Columns(row);
    let gate = KnownGate::from_stored(row.text("destination")?.to_owned(), row.text("gate")?);
    Ok(Carried::Gate(gate.ok_or(Fault::Damaged("a destination has no name"))?))
}

fn acknowledgement(row: &PgRow) -> Result<Carried, Fault> {
    let row = Columns(row);
    Ok(Carried::Acknowledgement {
        epoch: row.time("epoch")?,
        by: unescaped(row.text("by")?),
        reason: unescaped(row.text("reason")?),
    })
}

async fn documents(
    connection: &mut PgConnection,
    after: Option<&DocumentPlace>,
    limit: usize,
) -> Result<Page, Fault> {
    const BEHIND: &str = "SELECT kind, namespace, name, version, body FROM ratchet.documents \
        WHERE (kind, namespace, name) > ($1, $2, $3) ORDER BY kind, namespace, name LIMIT $4";
    let rows = sqlx::query(BEHIND)
        .bind(after.map_or("", |after| after.kind.as_str()))
        .bind(after.map_or("", |after| after.namespace.as_str()))
        .bind(after.map_or("", |after| after.name.as_str()))
        .bind(as_limit(limit))
        .fetch_all(connection)
        .await
        .while_trying(DOING)?;
    let documents = rows.iter().map(document::read).collect::<Result<Vec<_>, Fault>>()?;
    let last = documents.last().filter(|_| documents.len() >= limit);
    let next = last.map(|last| Place::Documents { after: Some(last.id.clone().into()) });
    Ok(Page { items: documents.into_iter().map(Carried::Document).collect(), next })
}

async fn records(connection: &mut PgConnection, after: Cursor, limit: usize) -> Result<Page, Fault> {
    const BEHIND: &str = concat!(
        "SELECT ",
        record_columns!(),
        ", p.after_id, ",
        steps_column!(),
        " FROM ratchet.records AS r LEFT JOIN ratchet.progress AS p ON p.record_id = r.id \
          WHERE r.id > $1 ORDER BY r.id LIMIT $2"
    );
    let rows = sqlx::query(BEHIND)
        .bind(after.0)
        .bind(as_limit(limit))
        .fetch_all(&mut *connection)
        .await
        .while_trying(DOING)?;
    let places: Vec<i64> = rows.iter().map(|row| Columns(row).number("id")).collect::<Result<_, Fault>>()?;
    let mut attempts = attempts(connection, &places).await?;
    let (mut items, mut snapshots) = (Vec::with_capacity(rows.len()), Snapshots::default());
    for (row, number) in rows.iter().zip(&places) {
        let place = Cursor(*number);
        items.push(match read_stored(row, &mut snapshots)? {
            Stored::Tombstone(tombstone) => Carried::Tombstone { place, tombstone },
            Stored::Record(record) => Carried::Record {
                place,
                record,
                after: Columns(row).number_if_any("after_id")?.map(Cursor),
                attempts: attempts.remove(number).unwrap_or_default(),
            },
        });
    }
    let next = places.last().filter(|_| places.len() >= limit);
    Ok(Page { next: next.map(|last| Place::Records { after: Cursor(*last) }), items })
}

/// The attempts of records, in the order of their tokens.
async fn attempts(
    connection: &mut PgConnection,
    places: &[i64],
) -> Result<BTreeMap<i64, Vec<Attempt>>, Fault> {
    const OF: &str = "SELECT record_id, token, worker, version, leased_at, started_at, ended_at, outcome, cause, late \
            FROM ratchet.attempts WHERE record_id = ANY($1) \
        UNION ALL \
        SELECT record_id, attempt_token, attempt_worker, version, attempt_leased_at, attempt_started_at, \
            attempt_ended_at, attempt_outcome, attempt_cause, attempt_late \
            FROM ratchet.progress WHERE record_id = ANY($1) AND attempt_token IS NOT NULL \
        ORDER BY record_id, token";
    let rows = sqlx::query(OF).bind(places).fetch_all(connection).await.while_trying(DOING)?;
    let mut attempts: BTreeMap<i64, Vec<Attempt>> = BTreeMap::new();
    for row in &rows {
        attempts.entry(Columns(row).number("record_id")?).or_default().push(read_attempt(row)?);
    }
    Ok(attempts)
}

async fn trail(connection: &mut PgConnection, after: Cursor, limit: usize) -> Result<Page, Fault> {
    const BEHIND: &str = "SELECT id, record_id, at, by, action, reason, from_state, to_state FROM ratchet.audit \
        WHERE id > $1 ORDER BY id LIMIT $2";
    let rows = sqlx::query(BEHIND)
        .bind(after.0)
        .bind(as_limit(limit))
        .fetch_all(connection)
        .await
        .while_trying(DOING)?;
    let entry = |row: &PgRow| {
        let record = Cursor(Columns(row).number("record_id")?);
        Ok(Carried::Audit { record, entry: audit::read(row)? })
    };
    let items = rows.iter().map(entry).collect::<Result<Vec<_>, Fault>>()?;
    let last = rows.last().filter(|_| rows.len() >= limit);
    let last = last.map(|row| Columns(row).number("id")).transpose()?;
    Ok(Page { items, next: last.map(|last| Place::Audit { after: Cursor(last) }) })
}

fn as_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
