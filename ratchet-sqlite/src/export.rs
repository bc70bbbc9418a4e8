//! What the store holds, a page at a time, in the order in which another one is filled.

use std::collections::BTreeMap;

use ratchet_core::Attempt;
use ratchet_core::admission::KnownGate;
use ratchet_core::ledger::moving::{Batch, Carried, DocumentPlace, Page, Place};
use ratchet_core::ledger::{Cursor, Served};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

use crate::columns::Columns;
use crate::error::{Fault, While as _};
use crate::first_attempt::first_attempt;
use crate::read::read_attempt;
use crate::row::{record_json, rows_as_json, tombstone_json};
use crate::stored::{is_tombstone, read_all, read_tombstone};
use crate::{audit, declare, document};

const DOING: &str = "read what it holds";

pub(crate) async fn export(
    connection: &mut SqliteConnection,
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

async fn facts(connection: &mut SqliteConnection) -> Result<Vec<Carried>, Fault> {
    let mut facts = Vec::new();
    let templates = "SELECT operation, template, new_identity FROM ratchet_templates ORDER BY operation, id";
    facts.extend(
        all(connection, templates, |row| {
            let columns = Columns(row);
            Ok(Carried::Template {
                operation: columns.name("operation")?,
                template: columns.text("template")?.to_owned(),
                new_identity: columns.text_if_any("new_identity")?.map(str::to_owned),
            })
        })
        .await?,
    );
    let declarations = "SELECT * FROM ratchet_declarations ORDER BY operation, version";
    facts.extend(
        all(connection, declarations, |row| {
            let columns = Columns(row);
            let (template, forms) = (columns.text("template")?.to_owned(), columns.text("forms")?.to_owned());
            Ok(Carried::Declaration { declared: declare::read(row)?, template, forms })
        })
        .await?,
    );
    let hidden = "SELECT operation, version, paths FROM ratchet_hidden ORDER BY operation, version";
    facts.extend(
        all(connection, hidden, |row| {
            let columns = Columns(row);
            let of = Served { operation: columns.name("operation")?, version: columns.name("version")? };
            Ok(Carried::Hidden { of, paths: columns.json("paths")? })
        })
        .await?,
    );
    let gates = "SELECT destination, gate FROM ratchet_gates ORDER BY destination";
    facts.extend(
        all(connection, gates, |row| {
            let columns = Columns(row);
            let gate = KnownGate::from_stored(columns.text("destination")?.to_owned(), columns.text("gate")?);
            Ok(Carried::Gate(gate.ok_or(Fault::Damaged("a destination has no name"))?))
        })
        .await?,
    );
    let acknowledged = "SELECT epoch, by, reason FROM ratchet_acknowledgements ORDER BY epoch";
    facts.extend(
        all(connection, acknowledged, |row| {
            let columns = Columns(row);
            Ok(Carried::Acknowledgement {
                epoch: columns.time("epoch")?,
                by: columns.text("by")?.to_owned(),
                reason: columns.text("reason")?.to_owned(),
            })
        })
        .await?,
    );
    Ok(facts)
}

async fn all(
    connection: &mut SqliteConnection,
    statement: &'static str,
    read: fn(&SqliteRow) -> Result<Carried, Fault>,
) -> Result<Vec<Carried>, Fault> {
    let rows = sqlx::query(statement).fetch_all(connection).await.while_trying(DOING)?;
    rows.iter().map(read).collect()
}

async fn documents(
    connection: &mut SqliteConnection,
    after: Option<&DocumentPlace>,
    limit: usize,
) -> Result<Page, Fault> {
    const BEHIND: &str = "SELECT kind, namespace, name, version, body FROM ratchet_documents \
        WHERE (kind, namespace, name) > (?1, ?2, ?3) ORDER BY kind, namespace, name LIMIT ?4";
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

/// Records and tombstones in one order: those of both tables that come first, and of these the first.
async fn records(connection: &mut SqliteConnection, after: Cursor, limit: usize) -> Result<Page, Fault> {
    const BEHIND: &str = concat!(
        "SELECT * FROM (SELECT r.id AS place, r.after_id, ",
        record_json!(),
        " AS stored FROM ratchet_records AS r WHERE r.id > ?1 ORDER BY r.id LIMIT ?2) \
         UNION ALL SELECT * FROM (SELECT t.place, NULL, ",
        tombstone_json!(),
        " FROM ratchet_tombstones AS t WHERE t.place > ?1 ORDER BY t.place LIMIT ?2) ORDER BY place LIMIT ?2"
    );
    let rows = sqlx::query(BEHIND)
        .bind(after.0)
        .bind(as_limit(limit))
        .fetch_all(&mut *connection)
        .await
        .while_trying(DOING)?;
    let places: Vec<i64> =
        rows.iter().map(|row| Columns(row).number("place")).collect::<Result<_, Fault>>()?;
    let mut attempts = attempts(connection, &places).await?;
    let texts = rows.iter().map(|row| row.try_get("stored").while_trying(DOING));
    let texts: Vec<&[u8]> = texts.collect::<Result<_, Fault>>()?;
    let of_records: Vec<&[u8]> = texts.iter().copied().filter(|text| !is_tombstone(text)).collect();
    let mut records = read_all(&mut *connection, &of_records).await?.into_iter();
    let mut items = Vec::with_capacity(rows.len());
    for ((row, text), place) in rows.iter().zip(texts).zip(&places) {
        let at = Cursor(*place);
        items.push(if is_tombstone(text) {
            Carried::Tombstone { place: at, tombstone: read_tombstone(text)? }
        } else {
            let (_, record) = records.next().ok_or(Fault::Damaged("a row was not read"))??;
            let after = Columns(row).number_if_any("after_id")?.map(Cursor);
            let attempts = attempts.remove(place).unwrap_or_default();
            Carried::Record { place: at, record: Box::new(record), after, attempts }
        });
    }
    let next = places.last().filter(|_| places.len() >= limit);
    Ok(Page { next: next.map(|last| Place::Records { after: Cursor(*last) }), items })
}

/// The attempts of records, in the order of their tokens.
async fn attempts(
    connection: &mut SqliteConnection,
    places: &[i64],
) -> Result<BTreeMap<i64, Vec<Attempt>>, Fault> {
    const OF: &str = concat!(
        "SELECT * FROM ratchet_attempts WHERE record_id IN (SELECT value FROM json_each(?1)) UNION ALL ",
        first_attempt!("json_each(?1) AS w CROSS JOIN ratchet_records AS r ON r.id = w.value WHERE TRUE"),
        " ORDER BY record_id, token"
    );
    let rows = sqlx::query(OF).bind(rows_as_json(places)?).fetch_all(connection).await.while_trying(DOING)?;
    let mut attempts: BTreeMap<i64, Vec<Attempt>> = BTreeMap::new();
    for row in &rows {
        attempts.entry(Columns(row).number("record_id")?).or_default().push(read_attempt(row)?);
    }
    Ok(attempts)
}

async fn trail(connection: &mut SqliteConnection, after: Cursor, limit: usize) -> Result<Page, Fault> {
    const BEHIND: &str = "SELECT * FROM ratchet_audit WHERE id > ?1 ORDER BY id LIMIT ?2";
    let rows = sqlx::query(BEHIND)
        .bind(after.0)
        .bind(as_limit(limit))
        .fetch_all(connection)
        .await
        .while_trying(DOING)?;
    let entry = |row: &SqliteRow| {
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
