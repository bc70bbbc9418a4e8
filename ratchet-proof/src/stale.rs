//! Which commands come from an attempt that the record has left behind.

use ratchet_core::decide::Command;
use ratchet_core::{OutcomeKind, Record, State, Token};

/// Whether a command comes from a superseded attempt, so that it must not change the record. Told here once more, since the
/// decision function must not be its own judge. That the effect happened is true whoever says it.
pub(crate) fn is_stale(record: &Record, command: &Command) -> bool {
    let superseded = |token: Token| token != record.token || record.state != State::Running;
    match command {
        Command::Start { token }
        | Command::Adopt { token, .. }
        | Command::Renew { token, .. }
        | Command::Release { token }
        | Command::Pin { token, .. }
        | Command::BeginStep { token, .. }
        | Command::RestartStep { token, .. }
        | Command::FinishStep { token, .. } => superseded(*token),
        Command::Settle { token, outcome } => {
            let unstarted = record.lease.as_ref().is_some_and(|lease| lease.started_at.is_none());
            let waits = matches!(record.state, State::Pending | State::Uncertain | State::Abandoned);
            let proves =
                outcome.kind() == OutcomeKind::Done && (waits || unstarted) && record.may_be_applied();
            superseded(*token) && !proves
        }
        _ => false,
    }
}

/// Whether a superseded attempt changed what is not its own. That its effect happened is kept beside the attempt that runs.
pub(crate) fn oversteps(before: &Record, command: &Command, after: &Record) -> bool {
    let but_for_the_news = |record: &Record| Record { cause: None, result: None, ..record.clone() };
    let is_news = matches!(command, Command::Settle { outcome, .. } if outcome.kind() == OutcomeKind::Done);
    is_stale(before, command)
        && if is_news { but_for_the_news(before) != but_for_the_news(after) } else { before != after }
}
