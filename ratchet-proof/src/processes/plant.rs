//! Bugs that are planted in the store: the decisions have no switches, but what was written down can be taken back.

use ratchet::sqlite::sqlx::{self, Connection as _, SqliteConnection};
use ratchet_core::LedgerError;

use crate::planted::Mutation;

/// The process that goes on knows what it does; the one that comes after it finds nothing.
const NO_START_MARK: &str = "CREATE TRIGGER IF NOT EXISTS planted AFTER UPDATE ON ratchet_records \
    WHEN NEW.lease_started_at IS NOT NULL OR NEW.pin IS NOT NULL OR NEW.may_be_applied \
    BEGIN UPDATE ratchet_records SET lease_started_at = NULL, first_started_at = NULL, pin = NULL, may_be_applied = 0 \
    WHERE id = NEW.id; END";

const KEY_FREED_ON_FAILURE: &str = "CREATE TRIGGER IF NOT EXISTS planted AFTER UPDATE OF state ON ratchet_records \
    WHEN NEW.state = 'failed' AND OLD.state <> 'failed' \
    BEGIN UPDATE ratchet_records SET key = key || ':' || id WHERE id = NEW.id; END";

/// Plants a bug in a file of `SQLite`, if it is one of these.
pub(super) async fn plant(store: &str, broken: Option<Mutation>) -> Result<(), LedgerError> {
    let trigger = match broken {
        Some(Mutation::NoStartMark) => NO_START_MARK,
        Some(Mutation::KeyFreedOnFailure) => KEY_FREED_ON_FAILURE,
        _ => return Ok(()),
    };
    let told = |source| LedgerError::Store { doing: "plant a bug", source: Box::new(source) };
    let mut connection = SqliteConnection::connect(store).await.map_err(told)?;
    sqlx::raw_sql(trigger).execute(&mut connection).await.map_err(told)?;
    connection.close().await.map_err(told)
}
