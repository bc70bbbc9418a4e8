//! Fills the store with what another one held.

use ratchet_core::admission::KnownGate;
use ratchet_core::ledger::moving::{Carried, Import, StandingRefused};
use ratchet_core::ledger::{Declared, Document, Served};
use ratchet_core::{
    After, Attempt, AttemptEnd, AuditEntry, GroupId, HiddenPaths, Payload, Record, Tombstone,
};
use sqlx::{Connection as _, PgConnection};

use crate::error::{Fault, While as _};
use crate::notes::Key;
use crate::row::{StepRow, as_json, name_of, purge_at};
use crate::text::escaped;
use crate::write::{column, millis, number, try_column};
use crate::{audit, mark, notes, standing};

const DOING: &str = "take in what another store held";

/// Writes a batch, and in the same transaction where the next one begins.
pub(crate) async fn import(
    connection: &mut PgConnection,
    import: &Import,
) -> Result<Result<(), StandingRefused>, Fault> {
    let mut transaction = connection.begin().await.while_trying(DOING)?;
    let next = match standing::lock(&mut transaction).await?.after_import(import) {
        Ok(next) => next,
        Err(refused) => {
            transaction.rollback().await.while_trying(DOING)?;
            return Ok(Err(refused));
        }
    };
    standing::let_through(&mut transaction, true).await?;
    take(&mut transaction, &import.batch.items).await?;
    standing::let_through(&mut transaction, false).await?;
    standing::write(&mut transaction, &next).await?;
    transaction.commit().await.while_trying(DOING)?;
    Ok(Ok(()))
}

async fn take(connection: &mut PgConnection, items: &[Carried]) -> Result<(), Fault> {
    records(connection, items).await?;
    let mut trail: Vec<(i64, AuditEntry)> = Vec::new();
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
            Carried::Audit { record, entry } => trail.push((record.0, entry.clone())),
            Carried::Record { .. } => {}
        }
    }
    audit::write(connection, &trail).await?;
    pass_by(connection).await
}

/// A record that is carried.
struct Row<'a> {
    place: i64,
    record: &'a Record,
    after: Option<i64>,
    attempts: &'a [Attempt],
}

impl<'a> Row<'a> {
    /// The one that the progress holds; those before it have rows of their own.
    fn latest(&self) -> Option<&'a Attempt> {
        self.attempts.last()
    }

    fn end(&self) -> Option<&'a AttemptEnd> {
        self.latest().and_then(|attempt| attempt.end.as_ref())
    }
}

async fn records(connection: &mut PgConnection, items: &[Carried]) -> Result<(), Fault> {
    let (mut rows, mut steps, mut earlier) = (Vec::new(), Vec::new(), Vec::<(Key, &Attempt)>::new());
    for item in items {
        let Carried::Record { place, record, after, attempts } = item else { continue };
        rows.push(Row { place: place.0, record, after: after.map(|after| after.0), attempts });
        for (name, step) in &record.steps {
            steps.push((place.0, name_of(&step.state)?, StepRow::new(name, step)?));
        }
        let followed = attempts.split_last().map_or(&[][..], |(_, followed)| followed);
        earlier.extend(followed.iter().map(|attempt| ((place.0, attempt.token), attempt)));
    }
    if rows.is_empty() {
        return Ok(());
    }
    asked_for(connection, &rows).await?;
    progress(connection, &rows).await?;
    notes::write_steps(connection, &steps).await?;
    notes::open(connection, &earlier).await
}

/// What was asked for.
async fn asked_for(connection: &mut PgConnection, rows: &[Row<'_>]) -> Result<(), Fault> {
    const INSERT: &str = "INSERT INTO ratchet.records (id, created_at, not_before, generation, priority, namespace, \
            operation, queue, key, version, fingerprint, policy, contract, input, group_id, comes_after, trace) \
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::smallint[], $6::text[], \
            $7::text[], $8::text[], $9::text[], $10::text[], $11::bytea[], $12::text[], $13::text[], $14::text[], \
            $15::text[], $16::text[], $17::text[])";
    sqlx::query(INSERT)
        .bind(column(rows, |row| row.place))
        .bind(column(rows, |row| millis(row.record.created_at)))
        .bind(column(rows, |row| millis(row.record.ready_at)))
        .bind(column(rows, |row| i64::from(row.record.id.generation.get())))
        .bind(column(rows, |row| row.record.priority.0))
        .bind(column(rows, |row| row.record.id.namespace.as_str()))
        .bind(column(rows, |row| row.record.id.operation.as_str()))
        .bind(column(rows, |row| row.record.queue.as_str()))
        .bind(column(rows, |row| row.record.id.key.as_str()))
        .bind(column(rows, |row| row.record.version.as_str()))
        .bind(column(rows, |row| row.record.fingerprint.as_bytes().as_slice()))
        .bind(try_column(rows, |row| as_json(&row.record.policy))?)
        .bind(try_column(rows, |row| as_json(&row.record.effect.contract))?)
        .bind(column(rows, |row| row.record.input.as_str()))
        .bind(column(rows, |row| row.record.group.as_ref().map(GroupId::as_str)))
        .bind(column(rows, |row| row.record.after.as_ref().map(After::to_stored)))
        .bind(column(rows, |row| row.record.trace.map(|place| place.to_string())))
        .execute(connection)
        .await
        .while_trying(DOING)?;
    Ok(())
}

/// What became of it. Nothing runs, so there is no lease.
async fn progress(connection: &mut PgConnection, rows: &[Row<'_>]) -> Result<(), Fault> {
    const INSERT: &str = "INSERT INTO ratchet.progress (record_id, ready_at, token, attempts, spent, first_started_at, \
            reconcile_at, settled_at, purge_at, attempt_token, attempt_leased_at, attempt_started_at, attempt_ended_at, \
            priority, may_be_applied, cancel_requested, risk_accepted, has_steps, attempt_late, state, namespace, \
            operation, version, queue, attempt_worker, attempt_outcome, attempt_cause, uncertainty, pin, cause, result, after_id) \
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], \
            $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], \
            $14::smallint[], $15::boolean[], $16::boolean[], $17::boolean[], $18::boolean[], $19::boolean[], $20::text[], \
            $21::text[], $22::text[], $23::text[], $24::text[], $25::text[], $26::text[], $27::text[], $28::text[], \
            $29::text[], $30::text[], $31::text[], $32::bigint[])";
    sqlx::query(INSERT)
        .bind(column(rows, |row| row.place))
        .bind(column(rows, |row| millis(row.record.ready_at)))
        .bind(column(rows, |row| number(row.record.token)))
        .bind(column(rows, |row| i64::from(row.record.attempts)))
        .bind(column(rows, |row| i64::from(row.record.spent)))
        .bind(column(rows, |row| row.record.effect.first_started_at.map(millis)))
        .bind(column(rows, |row| row.record.reconcile_at.map(millis)))
        .bind(column(rows, |row| row.record.settled_at.map(millis)))
        .bind(column(rows, |row| purge_at(row.record).map(millis)))
        .bind(column(rows, |row| row.latest().map(|attempt| number(attempt.token))))
        .bind(column(rows, |row| row.latest().map(|attempt| millis(attempt.leased_at))))
        .bind(column(rows, |row| row.latest().and_then(|attempt| attempt.started_at).map(millis)))
        .bind(column(rows, |row| row.end().map(|end| millis(end.at))))
        .bind(column(rows, |row| row.record.priority.0))
        .bind(column(rows, |row| row.record.effect.may_be_applied))
        .bind(column(rows, |row| row.record.cancel_requested))
        .bind(column(rows, |row| row.record.risk_accepted))
        .bind(column(rows, |row| !row.record.steps.is_empty()))
        .bind(column(rows, |row| row.end().map(|end| end.late)))
        .bind(column(rows, |row| row.record.state.as_str()))
        .bind(column(rows, |row| row.record.id.namespace.as_str()))
        .bind(column(rows, |row| row.record.id.operation.as_str()))
        .bind(column(rows, |row| row.record.version.as_str()))
        .bind(column(rows, |row| row.record.queue.as_str()))
        .bind(column(rows, |row| row.latest().map(|attempt| attempt.worker.as_str())))
        .bind(try_column(rows, |row| row.end().map(|end| name_of(&end.outcome)).transpose())?)
        .bind(try_column(rows, |row| row.end().and_then(|end| end.cause.as_ref()).map(as_json).transpose())?)
        .bind(try_column(rows, |row| row.record.uncertainty.as_ref().map(name_of).transpose())?)
        .bind(try_column(rows, |row| row.record.effect.pin.as_ref().map(as_json).transpose())?)
        .bind(try_column(rows, |row| row.record.cause.as_ref().map(as_json).transpose())?)
        .bind(column(rows, |row| row.record.result.as_ref().map(Payload::as_str)))
        .bind(column(rows, |row| row.after))
        .execute(connection)
        .await
        .while_trying(DOING)?;
    Ok(())
}

async fn tombstone(connection: &mut PgConnection, place: i64, of: &Tombstone) -> Result<(), Fault> {
    // When and how urgently it was asked for is forgotten with the rest.
    const INSERT: &str = "INSERT INTO ratchet.records (id, created_at, not_before, ended_at, generation, priority, \
            namespace, operation, key, version, fingerprint, ended_as) \
        VALUES ($1, $2, $2, $2, $3, 0, $4, $5, $6, $7, $8, $9)";
    sqlx::query(INSERT)
        .bind(place)
        .bind(millis(of.ended_at))
        .bind(i64::from(of.id.generation.get()))
        .bind(of.id.namespace.as_str())
        .bind(of.id.operation.as_str())
        .bind(of.id.key.as_str())
        .bind(of.version.as_str())
        .bind(of.fingerprint.as_bytes().as_slice())
        .bind(of.state.as_str())
        .execute(connection)
        .await
        .while_trying(DOING)?;
    Ok(())
}

/// The numbers of what was carried are taken, so those that follow begin behind them.
async fn pass_by(connection: &mut PgConnection) -> Result<(), Fault> {
    const PASS_BY: &str = "SELECT setval('ratchet.records_id', (SELECT id FROM ratchet.records ORDER BY id DESC LIMIT 1)) \
         WHERE EXISTS (SELECT FROM ratchet.records)";
    sqlx::query(PASS_BY).execute(connection).await.while_trying(DOING)?;
    Ok(())
}

async fn template(
    connection: &mut PgConnection,
    operation: &str,
    template: &str,
    new_identity: Option<&str>,
) -> Result<(), Fault> {
    const ADD: &str = "INSERT INTO ratchet.templates (operation, template, new_identity) VALUES ($1, $2, $3)";
    let add = sqlx::query(ADD).bind(operation).bind(escaped(template)).bind(new_identity.map(escaped));
    add.execute(connection).await.while_trying(DOING)?;
    Ok(())
}

async fn declaration(
    connection: &mut PgConnection,
    declared: &Declared,
    template: &str,
    forms: &str,
) -> Result<(), Fault> {
    const ADD: &str = "INSERT INTO ratchet.declarations \
            (operation, version, template, policy, contract, priority, queue, volatile, forms, concurrency) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    sqlx::query(ADD)
        .bind(declared.of.operation.as_str())
        .bind(declared.of.version.as_str())
        .bind(escaped(template))
        .bind(as_json(&declared.policy)?)
        .bind(as_json(&declared.contract)?)
        .bind(declared.priority.0)
        .bind(declared.queue.as_str())
        .bind(as_json(&declared.volatile)?)
        .bind(forms)
        .bind(declared.concurrency.map(|limit| i64::from(limit.get())))
        .execute(connection)
        .await
        .while_trying(DOING)?;
    Ok(())
}

async fn hidden(connection: &mut PgConnection, of: &Served, paths: &HiddenPaths) -> Result<(), Fault> {
    const ADD: &str = "INSERT INTO ratchet.hidden (operation, version, paths) VALUES ($1, $2, $3)";
    let add = sqlx::query(ADD).bind(of.operation.as_str()).bind(of.version.as_str()).bind(as_json(paths)?);
    add.execute(connection).await.while_trying(DOING)?;
    Ok(())
}

async fn gate(connection: &mut PgConnection, known: &KnownGate) -> Result<(), Fault> {
    const ADD: &str = "INSERT INTO ratchet.gates (destination, gate) VALUES ($1, $2)";
    let add = sqlx::query(ADD).bind(known.destination.as_str()).bind(as_json(&known.gate)?);
    add.execute(connection).await.while_trying(DOING)?;
    Ok(())
}

async fn document(connection: &mut PgConnection, document: &Document) -> Result<(), Fault> {
    const ADD: &str = "INSERT INTO ratchet.documents (kind, namespace, name, version, body) \
        VALUES ($1, $2, $3, $4, $5)";
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
