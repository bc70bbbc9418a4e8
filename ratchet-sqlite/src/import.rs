//! Fills the store with what another one held.

use ratchet_core::admission::KnownGate;
use ratchet_core::ledger::moving::{Carried, Import, StandingRefused};
use ratchet_core::ledger::{Declared, Document, Served};
use ratchet_core::{
    After, Generation, GroupId, HiddenPaths, Priority, Record, Timestamp, Tombstone, TraceParent,
};
use serde::Serialize;
use sqlx::SqliteConnection;

use crate::declare::as_json;
use crate::error::{Fault, While as _};
use crate::write::{self, ChangedStep, Facts};
use crate::{audit, hex, mark, standing, terms};

const DOING: &str = "take in what another store held";

/// Writes a batch, and in the same transaction where the next one begins.
pub(crate) async fn import(
    connection: &mut SqliteConnection,
    import: &Import,
) -> Result<Result<(), StandingRefused>, Fault> {
    let next = match standing::read(&mut *connection).await?.after_import(import) {
        Ok(next) => next,
        Err(refused) => return Ok(Err(refused)),
    };
    standing::let_through(connection, true).await?;
    take(connection, &import.batch.items).await?;
    standing::let_through(connection, false).await?;
    standing::write(connection, &next).await?;
    Ok(Ok(()))
}

async fn take(connection: &mut SqliteConnection, items: &[Carried]) -> Result<(), Fault> {
    records(connection, items).await?;
    for item in items {
        match item {
            Carried::Template { operation, template, new_identity } => {
                self::template(connection, operation.as_str(), template, new_identity.as_deref()).await?;
            }
            Carried::Declaration { declared, template, forms } => {
                declaration(connection, declared, template, forms).await?;
            }
            Carried::Hidden { of, paths } => hidden(connection, of, paths).await?,
            Carried::Gate(known) => gate(connection, known).await?,
            Carried::Acknowledgement { epoch, by, reason } => {
                mark::acknowledged(connection, *epoch, by, reason).await?;
            }
            Carried::Document(document) => self::document(connection, document).await?,
            Carried::Tombstone { place, tombstone } => {
                self::tombstone(connection, place.0, tombstone).await?;
            }
            Carried::Audit { record, entry } => audit::write(connection, record.0, entry).await?,
            Carried::Record { .. } => {}
        }
    }
    Ok(())
}

/// A whole record: what was asked for, and what became of it.
#[derive(Serialize)]
struct RecordRow<'a> {
    id: i64,
    namespace: &'a str,
    operation: &'a str,
    key: &'a str,
    generation: Generation,
    version: &'a str,
    fingerprint: String,
    queue: &'a str,
    priority: Priority,
    created_at: Timestamp,
    terms: String,
    input: &'a str,
    group_id: Option<&'a GroupId>,
    after_id: Option<i64>,
    comes_after: Option<String>,
    trace: Option<TraceParent>,
    #[serde(flatten)]
    facts: Facts<'a>,
}

impl<'a> RecordRow<'a> {
    fn new(id: i64, record: &'a Record, after_id: Option<i64>) -> Result<Self, Fault> {
        Ok(Self {
            id,
            namespace: record.id.namespace.as_str(),
            operation: record.id.operation.as_str(),
            key: record.id.key.as_str(),
            generation: record.id.generation,
            version: record.version.as_str(),
            fingerprint: hex::encode(&record.fingerprint),
            queue: record.queue.as_str(),
            priority: record.priority,
            created_at: record.created_at,
            terms: terms::of(record)?,
            input: record.input.as_str(),
            group_id: record.group.as_ref(),
            after_id,
            comes_after: record.after.as_ref().map(After::to_stored),
            trace: record.trace,
            facts: record.into(),
        })
    }
}

async fn records(connection: &mut SqliteConnection, items: &[Carried]) -> Result<(), Fault> {
    const INSERT: &str = "WITH carried AS MATERIALIZED (SELECT value AS c FROM json_each(?1)) \
        INSERT INTO ratchet_records (id, namespace, operation, key, generation, version, fingerprint, queue, priority, \
            created_at, state, ready_at, token, attempts, spent, may_be_applied, first_started_at, pin, \
            cancel_requested, risk_accepted, cause, uncertainty, reconcile_at, settled_at, purge_at, attention, \
            result, terms, input, group_id, after_id, comes_after, trace) \
        SELECT c ->> 'id', c ->> 'namespace', c ->> 'operation', c ->> 'key', c ->> 'generation', c ->> 'version', \
            unhex(c ->> 'fingerprint'), c ->> 'queue', c ->> 'priority', c ->> 'created_at', c ->> 'state', \
            c ->> 'ready_at', c ->> 'token', c ->> 'attempts', c ->> 'spent', c ->> 'may_be_applied', \
            c ->> 'first_started_at', c ->> 'pin', c ->> 'cancel_requested', c ->> 'risk_accepted', c ->> 'cause', \
            c ->> 'uncertainty', c ->> 'reconcile_at', c ->> 'settled_at', c ->> 'purge_at', c ->> 'attention', c ->> 'result', \
            (SELECT t.id FROM ratchet_terms AS t WHERE t.terms = c ->> 'terms'), c ->> 'input', c ->> 'group_id', c ->> 'after_id', c ->> 'comes_after', \
            c ->> 'trace' \
        FROM carried";
    let (mut rows, mut steps, mut tries) = (Vec::new(), Vec::new(), Vec::new());
    for item in items {
        let Carried::Record { place, record, after, attempts } = item else { continue };
        rows.push(RecordRow::new(place.0, record, after.map(|after| after.0))?);
        steps.extend(record.steps.iter().map(|(name, step)| ChangedStep::new(place.0, name, step)));
        tries.extend(attempts.iter().map(|attempt| (place.0, attempt)));
    }
    let terms: Vec<&str> = rows.iter().map(|row| row.terms.as_str()).collect();
    terms::put_on_record(connection, &terms).await?;
    let written = write::run(connection, INSERT, &rows).await?;
    write::require_all(written, rows.len())?;
    write::write_steps(connection, &steps).await?;
    write::write_attempts(connection, &tries).await
}

async fn tombstone(connection: &mut SqliteConnection, place: i64, of: &Tombstone) -> Result<(), Fault> {
    const INSERT: &str = "INSERT INTO ratchet_tombstones \
            (namespace, operation, key, generation, version, fingerprint, state, ended_at, place) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    // The number of a purged record never comes back, so those that follow begin behind it.
    const PASS_BY: &str = "INSERT INTO sqlite_sequence (name, seq) SELECT 'ratchet_records', 0 \
        WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'ratchet_records')";
    const RAISE: &str = "UPDATE sqlite_sequence SET seq = max(seq, ?1) WHERE name = 'ratchet_records'";
    sqlx::query(INSERT)
        .bind(of.id.namespace.as_str())
        .bind(of.id.operation.as_str())
        .bind(of.id.key.as_str())
        .bind(i64::from(of.id.generation.get()))
        .bind(of.version.as_str())
        .bind(of.fingerprint.as_bytes().as_slice())
        .bind(of.state.as_str())
        .bind(of.ended_at.as_millis())
        .bind(place)
        .execute(&mut *connection)
        .await
        .while_trying(DOING)?;
    sqlx::query(PASS_BY).execute(&mut *connection).await.while_trying(DOING)?;
    sqlx::query(RAISE).bind(place).execute(connection).await.while_trying(DOING)?;
    Ok(())
}

async fn template(
    connection: &mut SqliteConnection,
    operation: &str,
    template: &str,
    new_identity: Option<&str>,
) -> Result<(), Fault> {
    const ADD: &str = "INSERT INTO ratchet_templates (operation, template, new_identity) VALUES (?1, ?2, ?3)";
    let add = sqlx::query(ADD).bind(operation).bind(template).bind(new_identity);
    add.execute(connection).await.while_trying(DOING)?;
    Ok(())
}

async fn declaration(
    connection: &mut SqliteConnection,
    declared: &Declared,
    template: &str,
    forms: &str,
) -> Result<(), Fault> {
    const ADD: &str = "INSERT INTO ratchet_declarations \
            (operation, version, policy, contract, priority, queue, volatile, template, forms, concurrency) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    sqlx::query(ADD)
        .bind(declared.of.operation.as_str())
        .bind(declared.of.version.as_str())
        .bind(as_json(&declared.policy)?)
        .bind(as_json(&declared.contract)?)
        .bind(declared.priority.0)
        .bind(declared.queue.as_str())
        .bind(as_json(&declared.volatile)?)
        .bind(template)
        .bind(forms)
        .bind(declared.concurrency.map(|limit| i64::from(limit.get())))
        .execute(connection)
        .await
        .while_trying(DOING)?;
    Ok(())
}

async fn hidden(connection: &mut SqliteConnection, of: &Served, paths: &HiddenPaths) -> Result<(), Fault> {
    const ADD: &str = "INSERT INTO ratchet_hidden (operation, version, paths) VALUES (?1, ?2, ?3)";
    let add = sqlx::query(ADD).bind(of.operation.as_str()).bind(of.version.as_str()).bind(as_json(paths)?);
    add.execute(connection).await.while_trying(DOING)?;
    Ok(())
}

async fn gate(connection: &mut SqliteConnection, known: &KnownGate) -> Result<(), Fault> {
    const ADD: &str = "INSERT INTO ratchet_gates (destination, gate) VALUES (?1, ?2)";
    let add = sqlx::query(ADD).bind(known.destination.as_str()).bind(as_json(&known.gate)?);
    add.execute(connection).await.while_trying(DOING)?;
    Ok(())
}

async fn document(connection: &mut SqliteConnection, document: &Document) -> Result<(), Fault> {
    const ADD: &str = "INSERT INTO ratchet_documents (kind, namespace, name, version, body) \
        VALUES (?1, ?2, ?3, ?4, ?5)";
    sqlx::query(ADD)
        .bind(document.id.kind.as_str())
        .bind(document.id.namespace.as_str())
        .bind(document.id.name.as_str())
        .bind(i64::try_from(document.version).unwrap_or(i64::MAX))
        .bind(document.body.as_str())
        .execute(connection)
        .await
        .while_trying(DOING)?;
    Ok(())
}
