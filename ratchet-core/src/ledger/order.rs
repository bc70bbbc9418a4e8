//! A command for one record, and how one that comes alone is carried out.

use std::time::Duration;

use tokio::time::sleep;

use super::{Ledger, LedgerError};
use crate::decide::{Answer, Command, Refusal};
use crate::model::{Outcome, Record, RecordId, Token};

/// A command for one record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Order {
    /// Which record.
    pub id: RecordId,
    /// What to do.
    pub command: Command,
}

impl Order {
    /// Gives back a lease that nobody took over: its handler was not entered. Where the lease counts as the start, that is an
    /// attempt which certainly had no effect.
    #[must_use]
    pub fn giving_back(record: Record) -> Self {
        let token = record.token;
        let started = record.lease.as_ref().is_some_and(|lease| lease.started_at.is_some());
        let command = if started {
            Command::Settle { token, outcome: Outcome::not_entered() }
        } else {
            Command::Release { token }
        };
        Self { id: record.id, command }
    }
}

/// What comes of a command.
pub(crate) type Ordered = Result<Result<Answer, Refusal>, LedgerError>;

/// Has one command carried out.
pub(crate) async fn order(ledger: &dyn Ledger, id: &RecordId, command: Command) -> Ordered {
    let answers = ledger.apply(vec![Order { id: id.clone(), command }]).await?;
    answers.into_iter().next().ok_or(LedgerError::Closed)
}

/// Reports an outcome until the ledger has it: what happened must not be forgotten because a disk was full.
pub(crate) async fn report(
    ledger: &dyn Ledger,
    id: &RecordId,
    token: Token,
    outcome: &Outcome,
) -> Result<Answer, Refusal> {
    let command = Command::Settle { token, outcome: outcome.clone() };
    let mut wait = Duration::from_millis(50);
    loop {
        match order(ledger, id, command.clone()).await {
            Ok(answer) => return answer,
            Err(error) => tracing::warn!(%error, "the outcome could not be written; trying again"),
        }
        sleep(wait).await;
        wait = (wait * 2).min(Duration::from_secs(5));
    }
}
