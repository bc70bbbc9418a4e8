//! Documents of surfaces, beside the records.

use ratchet_core::Payload;
use ratchet_core::ledger::{Document, DocumentId, DocumentQuery, DocumentWrite, DocumentWritten};
use sqlx::sqlite::SqliteRow;
use sqlx::{SqliteConnection, SqliteExecutor};

use crate::columns::Columns;
use crate::error::{Fault, While as _};

pub(crate) async fn find(
    executor: impl SqliteExecutor<'_>,
    id: &DocumentId,
) -> Result<Option<Document>, Fault> {
    const FIND: &str = "SELECT kind, namespace, name, version, body FROM ratchet_documents \
        WHERE kind = ?1 AND namespace = ?2 AND name = ?3";
    let row = sqlx::query(FIND)
        .bind(id.kind.as_str())
        .bind(id.namespace.as_str())
        .bind(id.name.as_str())
        .fetch_optional(executor)
        .await
        .while_trying("read a document")?;
    row.as_ref().map(read).transpose()
}

pub(crate) async fn query(
    executor: impl SqliteExecutor<'_>,
    query: &DocumentQuery,
) -> Result<Vec<Document>, Fault> {
    const QUERY: &str = "SELECT kind, namespace, name, version, body FROM ratchet_documents \
        WHERE kind = ?1 AND namespace = ?2 AND name >= ?3 AND (?4 OR name > ?3) AND name < ?5 ORDER BY name LIMIT ?6";
    let (start, inclusive) = query.start();
    let rows = sqlx::query(QUERY)
        .bind(query.kind.as_str())
        .bind(query.namespace.as_str())
        .bind(start)
        .bind(inclusive)
        .bind(query.end())
        .bind(i64::try_from(query.limit).unwrap_or(i64::MAX))
        .fetch_all(executor)
        .await
        .while_trying("read documents")?;
    rows.iter().map(read).collect()
}

/// Carries a write out, under the write lock.
pub(crate) async fn write(
    connection: &mut SqliteConnection,
    write: &DocumentWrite,
) -> Result<DocumentWritten, Fault> {
    const WRITE: &str = "INSERT OR REPLACE INTO ratchet_documents (kind, namespace, name, version, body) \
        VALUES (?1, ?2, ?3, ?4, ?5)";
    const DELETE: &str = "DELETE FROM ratchet_documents WHERE kind = ?1 AND namespace = ?2 AND name = ?3";
    let DocumentWrite { id, body, .. } = write;
    let decided = write.decide(find(&mut *connection, id).await?.as_ref());
    if !decided.is_done() {
        return Ok(decided);
    }
    let statement = sqlx::query(if body.is_some() { WRITE } else { DELETE })
        .bind(id.kind.as_str())
        .bind(id.namespace.as_str())
        .bind(id.name.as_str());
    let statement = match body {
        Some(body) => statement.bind(i64::try_from(write.version()).unwrap_or(i64::MAX)).bind(body.as_str()),
        None => statement,
    };
    statement.execute(connection).await.while_trying("write a document")?;
    Ok(decided)
}

pub(crate) fn read(row: &SqliteRow) -> Result<Document, Fault> {
    let row = Columns(row);
    let id =
        DocumentId { kind: row.name("kind")?, namespace: row.name("namespace")?, name: row.name("name")? };
    Ok(Document { id, version: row.small("version")?, body: Payload::from_stored(row.text("body")?) })
}
