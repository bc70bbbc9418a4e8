//! Records on the desk: loaded together, decided about one command at a time, written back together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use ratchet_core::decide::{Answer, AttemptNote, Command, Decision, Moment, Refusal, decide};
use ratchet_core::{
    Attempt, AttemptEnd, AuditEntry, OutcomeKind, Record, RecordId, State, StepName, Timestamp, Token,
};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use crate::columns::Columns;
use crate::error::{Fault, While as _};
use crate::row::{IdentityRow, read, record_columns, rows_as_json};
use crate::write;

/// Some records inside the writer's transaction, in the order in which they were loaded.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) sheets: Vec<Sheet>,
    /// What was found and cannot be decided about, so that it keeps nobody else from being served.
    pub(crate) damaged: Vec<Damaged>,
    pub(crate) attempts: AttemptNotes,
    pub(crate) audit: Vec<(i64, AuditEntry)>,
}

/// A row that is no record.
pub(crate) struct Damaged {
    row: i64,
    /// `None` if not even this can be read.
    pub(crate) id: Option<RecordId>,
    pub(crate) what: &'static str,
}

/// The damaged rows that were logged: a worker comes by many times a second, and one line says it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Logged(Arc<Mutex<BTreeSet<i64>>>);

impl Logged {
    fn is_first(&self, row: i64) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(row)
    }
}

/// One record, and how it differs from its row.
pub(crate) struct Sheet {
    pub(crate) row: i64,
    pub(crate) record: Record,
    /// What the row says, so that the write can insist on it.
    pub(crate) was: (State, Token),
    pub(crate) changed: bool,
    pub(crate) changed_steps: BTreeSet<StepName>,
}

/// What to write on attempts, one note for each attempt and kind.
#[derive(Default)]
pub(crate) struct AttemptNotes {
    pub(crate) opened: BTreeMap<(i64, Token), Attempt>,
    pub(crate) started: BTreeMap<(i64, Token), Timestamp>,
    pub(crate) ended: BTreeMap<(i64, Token), AttemptEnd>,
}

impl Desk {
    /// Loads the records of these identities; those that do not exist are left out.
    pub(crate) async fn with_identities(
        connection: &mut SqliteConnection,
        ids: &BTreeSet<&RecordId>,
    ) -> Result<Self, Fault> {
        const BY_IDENTITY: &str = concat!(
            "WITH wanted AS MATERIALIZED (SELECT value AS w FROM json_each(?1)) SELECT ",
            record_columns!(),
            " FROM wanted CROSS JOIN ratchet_records AS r INDEXED BY ratchet_records_identity \
              ON r.namespace = w ->> 'namespace' AND r.operation = w ->> 'operation' AND r.key = w ->> 'key' \
              AND r.generation = w ->> 'generation'"
        );
        let ids: Vec<IdentityRow<'_>> = ids.iter().map(|id| IdentityRow::from(*id)).collect();
        Self::load(connection, BY_IDENTITY, rows_as_json(&ids)?).await
    }

    /// Loads the records of these rows.
    pub(crate) async fn with_rows(connection: &mut SqliteConnection, rows: &[i64]) -> Result<Self, Fault> {
        const BY_ROW: &str = concat!(
            "SELECT ",
            record_columns!(),
            " FROM json_each(?1) AS wanted CROSS JOIN ratchet_records AS r ON r.id = wanted.value"
        );
        Self::load(connection, BY_ROW, rows_as_json(rows)?).await
    }

    async fn load(
        connection: &mut SqliteConnection,
        statement: &'static str,
        wanted: String,
    ) -> Result<Self, Fault> {
        let rows =
            sqlx::query(statement).bind(wanted).fetch_all(connection).await.while_trying("load records")?;
        let mut desk = Self::default();
        for row in &rows {
            match Sheet::read(row) {
                Ok(sheet) => desk.sheets.push(sheet),
                Err(Fault::Damaged(what)) => desk.damaged.push(Damaged::read(row, what)?),
                Err(fault) => return Err(fault),
            }
        }
        Ok(desk)
    }

    /// Whether it is worth looking at more than `looked_at` rows for `limit` sound ones: damaged ones took the places
    /// of others.
    pub(crate) fn lacks(&self, limit: usize, looked_at: usize) -> bool {
        let found = self.sheets.len() + self.damaged.len();
        self.sheets.len() < limit && found >= looked_at
    }

    /// Says which rows are left alone until somebody mends them.
    pub(crate) fn log_damaged(&self, logged: &Logged) {
        for Damaged { row, what, .. } in &self.damaged {
            if logged.is_first(*row) {
                tracing::error!(row, what, "a damaged record is left alone: restore it or ask for help");
            }
        }
    }

    /// Decides about the sheet at this place and keeps what follows.
    pub(crate) fn decide(
        &mut self,
        place: usize,
        command: &Command,
        moment: Moment,
    ) -> Result<Answer, Refusal> {
        let sheet = self.sheets.get_mut(place).ok_or(Refusal::NoRecord)?;
        let Decision { record, attempt, audit, answer } = decide(&sheet.record, command, moment)?;
        sheet.take(record);
        let row = sheet.row;
        self.audit.extend(audit.map(|entry| (row, entry)));
        if let Some(note) = attempt {
            self.attempts.add(row, note);
        }
        Ok(answer)
    }

    /// Writes everything that was decided.
    pub(crate) async fn write(&self, connection: &mut SqliteConnection) -> Result<(), Fault> {
        write::records(connection, &self.sheets).await?;
        write::steps(connection, &self.sheets).await?;
        write::attempts(connection, &self.attempts).await?;
        for (row, entry) in &self.audit {
            crate::audit::write(connection, *row, entry).await?;
        }
        Ok(())
    }
}

impl Damaged {
    fn read(row: &SqliteRow, what: &'static str) -> Result<Self, Fault> {
        let columns = Columns(row);
        Ok(Self { row: columns.number("id")?, id: columns.identity().ok(), what })
    }
}

impl Sheet {
    fn read(row: &SqliteRow) -> Result<Self, Fault> {
        let (row, record) = read(row)?;
        Ok(Self {
            row,
            was: (record.state, record.token),
            record,
            changed: false,
            changed_steps: BTreeSet::new(),
        })
    }

    fn take(&mut self, record: Record) {
        if record == self.record {
            return;
        }
        self.changed = true;
        let before = &self.record.steps;
        let changed = record.steps.iter().filter(|(name, step)| before.get(*name) != Some(*step));
        self.changed_steps.extend(changed.map(|(name, _)| name.clone()));
        self.record = record;
    }
}

impl AttemptNotes {
    fn add(&mut self, row: i64, note: AttemptNote) {
        match note {
            AttemptNote::Opened(attempt) => {
                self.opened.insert((row, attempt.token), attempt);
            }
            AttemptNote::Started { token, at } => match self.opened.get_mut(&(row, token)) {
                Some(attempt) => attempt.started_at = Some(at),
                None => {
                    self.started.insert((row, token), at);
                }
            },
            AttemptNote::Ended { token, end } => match self.opened.get_mut(&(row, token)) {
                Some(attempt) => attempt.end_with(end),
                None => self.end(row, token, end),
            },
        }
    }

    /// The rule of [`Attempt::end_with`]; the row applies it once more to what it holds.
    fn end(&mut self, row: i64, token: Token, end: AttemptEnd) {
        let stays = self.ended.get(&(row, token)).is_some_and(|earlier| {
            earlier.outcome != OutcomeKind::Unknown || end.outcome == OutcomeKind::Unknown
        });
        if !stays {
            self.ended.insert((row, token), end);
        }
    }
}
