//! How far the store has come, for restored backups to be recognised.

use ratchet_core::Timestamp;
use ratchet_core::ledger::{HighWaterMark, MarkChange, StoreMark};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection};

use crate::columns::Columns;
use crate::error::{Fault, While as _};
use crate::row::now;
use crate::text::escaped;

const MISSING: Fault = Fault::Damaged("its high-water mark is missing");

pub(crate) async fn read(connection: &mut PgConnection) -> Result<StoreMark, Fault> {
    const READ: &str = "SELECT epoch, raised, held_since FROM ratchet.mark";
    let row = sqlx::query(READ).fetch_optional(connection).await.while_trying("read its high-water mark")?;
    mark(&row.ok_or(MISSING)?)
}

pub(crate) async fn change(
    connection: &mut PgConnection,
    change: &MarkChange,
    clock: Option<i64>,
) -> Result<StoreMark, Fault> {
    const LOCK: &str =
        concat!("SELECT epoch, raised, held_since, ", now!("$1"), " AS now FROM ratchet.mark FOR UPDATE");
    let doing = "write its high-water mark";
    let mut transaction = connection.begin().await.while_trying(doing)?;
    let row = sqlx::query(LOCK).bind(clock).fetch_optional(&mut *transaction).await.while_trying(doing)?;
    let row = row.ok_or(MISSING)?;
    let mark = mark(&row)?.after(change, Columns(&row).time("now")?);
    write(&mut transaction, mark).await?;
    if let MarkChange::Acknowledge { by, reason } = change {
        acknowledged(&mut transaction, mark.mark.epoch, by, reason).await?;
    }
    transaction.commit().await.while_trying(doing)?;
    Ok(mark)
}

pub(crate) async fn write(connection: &mut PgConnection, mark: StoreMark) -> Result<(), Fault> {
    const WRITE: &str = "UPDATE ratchet.mark SET epoch = $1, raised = $2, held_since = $3";
    sqlx::query(WRITE)
        .bind(mark.mark.epoch.as_millis())
        .bind(i64::try_from(mark.mark.raised).unwrap_or(i64::MAX))
        .bind(mark.held_since.map(Timestamp::as_millis))
        .execute(connection)
        .await
        .while_trying("write its high-water mark")?;
    Ok(())
}

pub(crate) async fn acknowledged(
    connection: &mut PgConnection,
    epoch: Timestamp,
    by: &str,
    reason: &str,
) -> Result<(), Fault> {
    const INSERT: &str = "INSERT INTO ratchet.acknowledgements (epoch, by, reason) VALUES ($1, $2, $3)";
    sqlx::query(INSERT)
        .bind(epoch.as_millis())
        .bind(escaped(by))
        .bind(escaped(reason))
        .execute(connection)
        .await
        .while_trying("write who acknowledged a restored backup")?;
    Ok(())
}

fn mark(row: &PgRow) -> Result<StoreMark, Fault> {
    let row = Columns(row);
    Ok(StoreMark {
        mark: HighWaterMark { epoch: row.time("epoch")?, raised: row.small("raised")? },
        held_since: row.time_if_any("held_since")?,
    })
}
