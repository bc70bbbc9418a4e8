//! Documents of surfaces, beside the records.

use ratchet_core::Payload;
use ratchet_core::ledger::{Document, DocumentId, DocumentQuery, DocumentWrite, DocumentWritten};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use crate::columns::Columns;
use crate::error::{Fault, While as _};

pub(crate) async fn find(connection: &mut PgConnection, id: &DocumentId) -> Result<Option<Document>, Fault> {
    const FIND: &str = "SELECT kind, namespace, name, version, body FROM ratchet.documents \
        WHERE kind = $1 AND namespace = $2 AND name = $3";
    let row = sqlx::query(FIND)
        .bind(id.kind.as_str())
        .bind(id.namespace.as_str())
        .bind(id.name.as_str())
        .fetch_optional(connection)
        .await
        .while_trying("read a document")?;
    row.as_ref().map(read).transpose()
}

pub(crate) async fn query(
    connection: &mut PgConnection,
    query: &DocumentQuery,
) -> Result<Vec<Document>, Fault> {
    const QUERY: &str = "SELECT kind, namespace, name, version, body FROM ratchet.documents \
        WHERE kind = $1 AND namespace = $2 AND name >= $3 AND ($4 OR name > $3) AND name < $5 ORDER BY name LIMIT $6";
    let (start, inclusive) = query.start();
    let rows = sqlx::query(QUERY)
        .bind(query.kind.as_str())
        .bind(query.namespace.as_str())
        .bind(start)
        .bind(inclusive)
        .bind(query.end())
        .bind(i64::try_from(query.limit).unwrap_or(i64::MAX))
        .fetch_all(connection)
        .await
        .while_trying("read documents")?;
    rows.iter().map(read).collect()
}

/// Carries a write out by one statement, which says itself whether the row is as it was seen.
pub(crate) async fn write(
    connection: &mut PgConnection,
    write: &DocumentWrite,
) -> Result<DocumentWritten, Fault> {
    const INSERT: &str = "INSERT INTO ratchet.documents (kind, namespace, name, version, body) \
        VALUES ($1, $2, $3, 1, $4) ON CONFLICT (kind, namespace, name) DO NOTHING";
    const UPDATE: &str = "UPDATE ratchet.documents SET version = version + 1, body = $5 \
        WHERE kind = $1 AND namespace = $2 AND name = $3 AND version = $4";
    const DELETE: &str = "DELETE FROM ratchet.documents \
        WHERE kind = $1 AND namespace = $2 AND name = $3 AND version = $4";
    let DocumentWrite { id, seen, body } = write;
    let statement = match (seen, body) {
        (None, Some(_)) => INSERT,
        (Some(_), Some(_)) => UPDATE,
        (Some(_), None) => DELETE,
        (None, None) => return Ok(write.decide(find(connection, id).await?.as_ref())),
    };
    let mut statement =
        sqlx::query(statement).bind(id.kind.as_str()).bind(id.namespace.as_str()).bind(id.name.as_str());
    if let Some(seen) = seen {
        statement = statement.bind(i64::try_from(*seen).unwrap_or(i64::MAX));
    }
    if let Some(body) = body {
        statement = statement.bind(body.as_str());
    }
    let done = statement.execute(&mut *connection).await.while_trying("write a document")?;
    if done.rows_affected() == 1 {
        return Ok(DocumentWritten::Done);
    }
    Ok(DocumentWritten::Other(find(connection, id).await?))
}

pub(crate) fn read(row: &PgRow) -> Result<Document, Fault> {
    let row = Columns(row);
    let id =
        DocumentId { kind: row.name("kind")?, namespace: row.name("namespace")?, name: row.name("name")? };
    Ok(Document { id, version: row.small("version")?, body: Payload::from_stored(row.text("body")?) })
}
