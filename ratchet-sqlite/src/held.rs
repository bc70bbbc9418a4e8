//! Records that run, as the writer wrote them last.
//!
//! Most orders are for records that this writer has leased. As long as no other connection has written to the database,
//! they are what is known of them here, and nothing has to be loaded.

use std::collections::HashMap;

use ratchet_core::ledger::desk::Sheet;
use ratchet_core::{Payload, Record, RecordId, State};
use sqlx::SqliteConnection;

use crate::error::{Fault, While as _};

/// How many records are kept in mind; bounds the memory that leases take which nobody ends.
const MOST: usize = 8_192;

/// What one connection knows; it is given up together with the connection.
#[derive(Debug)]
pub(crate) struct Held {
    records: HashMap<RecordId, (i64, Record)>,
    /// Changes when another connection has written.
    version: Option<i64>,
    no_input: Payload,
}

impl Held {
    pub(crate) fn new() -> Self {
        Self { records: HashMap::new(), version: None, no_input: Payload::from_stored("") }
    }

    /// Forgets all if another connection has written since the last call. To be called under the write lock.
    pub(crate) async fn look(&mut self, connection: &mut SqliteConnection) -> Result<(), Fault> {
        let version: i64 = sqlx::query_scalar("PRAGMA data_version")
            .fetch_one(connection)
            .await
            .while_trying("look for changes of others")?;
        if self.version.replace(version) != Some(version) {
            self.records.clear();
        }
        Ok(())
    }

    /// Hands out what is known of this record, without its input: nothing is decided by that.
    pub(crate) fn take(&mut self, id: &RecordId) -> Option<Sheet> {
        let (row, record) = self.records.remove(id)?;
        Some(Sheet::new(row, record))
    }

    /// Keeps in mind what was written.
    pub(crate) fn remember(&mut self, sheets: Vec<Sheet>) {
        if self.records.len() > MOST {
            self.records.clear();
        }
        for Sheet { row, record, .. } in sheets {
            if record.state == State::Running {
                let record = Record { input: self.no_input.clone(), ..record };
                self.records.insert(record.id.clone(), (row, record));
            } else {
                self.records.remove(&record.id);
            }
        }
    }
}
