//! How far the store has come, for restored backups to be recognised.

use ratchet_core::Timestamp;
use ratchet_core::ledger::{HighWaterMark, MarkChange, StoreMark};
use sqlx::{SqliteConnection, SqliteExecutor};

use crate::columns::Columns;
use crate::error::{Fault, While as _};

pub(crate) async fn read(executor: impl SqliteExecutor<'_>) -> Result<StoreMark, Fault> {
    const READ: &str = "SELECT epoch, raised, held_since FROM ratchet_mark";
    let row = sqlx::query(READ).fetch_optional(executor).await.while_trying("read its high-water mark")?;
    let row = row.ok_or(Fault::Damaged("its high-water mark is missing"))?;
    let row = Columns(&row);
    Ok(StoreMark {
        mark: HighWaterMark { epoch: row.time("epoch")?, raised: row.small("raised")? },
        held_since: row.time_if_any("held_since")?,
    })
}

pub(crate) async fn change(
    connection: &mut SqliteConnection,
    change: &MarkChange,
    now: Timestamp,
) -> Result<StoreMark, Fault> {
    let mark = read(&mut *connection).await?.after(change, now);
    write(connection, mark).await?;
    if let MarkChange::Acknowledge { by, reason } = change {
        acknowledged(connection, mark.mark.epoch, by, reason).await?;
    }
    Ok(mark)
}

pub(crate) async fn write(connection: &mut SqliteConnection, mark: StoreMark) -> Result<(), Fault> {
    const WRITE: &str = "UPDATE ratchet_mark SET epoch = ?1, raised = ?2, held_since = ?3";
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
    connection: &mut SqliteConnection,
    epoch: Timestamp,
    by: &str,
    reason: &str,
) -> Result<(), Fault> {
    const INSERT: &str = "INSERT INTO ratchet_acknowledgements (epoch, by, reason) VALUES (?1, ?2, ?3)";
    sqlx::query(INSERT)
        .bind(epoch.as_millis())
        .bind(by)
        .bind(reason)
        .execute(connection)
        .await
        .while_trying("write who acknowledged a restored backup")?;
    Ok(())
}
