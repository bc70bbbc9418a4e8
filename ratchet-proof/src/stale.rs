//! Which commands come from an attempt that the record has left behind.

use ratchet_core::decide::Command;
use ratchet_core::{OutcomeKind, Record, State, Token};

/// Whether a command comes from a superseded attempt, so that it must not change the record. Told here once more, since the
/// decision function must not be its own judge. That the effect happened is true whoever says it.
pub(crate) fn is_stale(record: &Record, command: &Command) -> bool {
    let superseded = |token: Token| token != record.token || record.state != State::Running;
    match command {
        Command::Start { token }
        | Command::Renew { token, .. }
        | Command::Release { token }
        | Command::Pin { token, .. }
        | Command::BeginStep { token, .. }
        | Command::RestartStep { token, .. }
        | Command::FinishStep { token, .. } => superseded(*token),
        Command::Settle { token, outcome } => {
            let waits = matches!(record.state, State::Pending | State::Uncertain | State::Abandoned);
            let proves = outcome.kind() == OutcomeKind::Done && waits && record.may_be_applied();
            superseded(*token) && !proves
        }
        _ => false,
    }
}
