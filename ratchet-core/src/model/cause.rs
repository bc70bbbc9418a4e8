//! Why an attempt ended as it did.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why something did not end well: a kind that programs read, and one bounded line for people.
///
/// The line is kept in the record and shown to operators. It never reaches logs or metrics, which hold the kind alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cause {
    kind: CauseKind,
    detail: String,
}

/// The kinds of causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CauseKind {
    /// The handler said so.
    Handler,
    /// An error of other code came through `?`.
    Error,
    /// The handler panicked.
    Panic,
    /// The attempt ran longer than its timeout.
    Timeout,
    /// The worker was stopped.
    Shutdown,
    /// The lease passed before the attempt ended.
    LeaseLost,
    /// Somebody cancelled the operation.
    Cancelled,
    /// Its destination takes nothing more at the moment, or asked everybody to wait: nothing was sent.
    NotAdmitted,
    /// The destination could not be reached: nothing was sent.
    Connect,
    /// The connection failed after the request may have left.
    Transport,
    /// The destination answered with this status of HTTP, or this reply code of SMTP.
    Status(u16),
    /// The destination answered success, and its body could not be read.
    UnreadableAnswer,
    /// A request with this identity is under way at the destination.
    InFlight,
    /// The destination knows this identity with another request.
    Mismatch,
    /// The request differs from the one that was pinned before the first send.
    RequestChanged,
    /// The stored input does not fit the handler's type.
    UnreadableInput,
    /// The result could not be stored.
    UnstorableResult,
    /// A handler of another language failed; what became of its effect it does not say.
    Failed,
    /// The handler failed and said that another attempt is of no use; what became of its effect it does not say.
    NotRetryable,
    /// An attempt that was given up has reported the effect, while a newer one runs.
    ReportedLate,
    /// A person or a reconciler decided.
    Resolved,
}

impl Cause {
    /// The most bytes that a line for people keeps.
    pub const LONGEST_DETAIL: usize = 500;

    /// A cause with a line for people, which is cut to one line of at most 500 bytes.
    #[must_use]
    pub fn new(kind: CauseKind, detail: impl fmt::Display) -> Self {
        Self { kind, detail: one_line(&detail.to_string()) }
    }

    /// What kind of cause it is.
    #[must_use]
    pub const fn kind(&self) -> CauseKind {
        self.kind
    }

    /// One line for people.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(Cause::LONGEST_DETAIL));
    for word in text.split(|c: char| c.is_control() || c.is_whitespace()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        for character in word.chars() {
            if line.len() + character.len_utf8() > Cause::LONGEST_DETAIL - '…'.len_utf8() {
                line.push('…');
                return line;
            }
            line.push(character);
        }
    }
    line
}

impl CauseKind {
    /// The name that logs, metrics and ledgers use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Handler => "handler",
            Self::Error => "error",
            Self::Panic => "panic",
            Self::Timeout => "timeout",
            Self::Shutdown => "shutdown",
            Self::LeaseLost => "lease_lost",
            Self::Cancelled => "cancelled",
            Self::NotAdmitted => "not_admitted",
            Self::Connect => "connect",
            Self::Transport => "transport",
            Self::Status(_) => "status",
            Self::UnreadableAnswer => "unreadable_answer",
            Self::InFlight => "in_flight",
            Self::Mismatch => "mismatch",
            Self::RequestChanged => "request_changed",
            Self::UnreadableInput => "unreadable_input",
            Self::UnstorableResult => "unstorable_result",
            Self::Failed => "failed",
            Self::NotRetryable => "not_retryable",
            Self::ReportedLate => "reported_late",
            Self::Resolved => "resolved",
        }
    }
}

impl fmt::Display for CauseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "status {status}"),
            other => f.write_str(other.as_str()),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.detail.is_empty() { self.kind.fmt(f) } else { write!(f, "{}: {}", self.kind, self.detail) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_is_one_bounded_line() {
        assert_eq!(Cause::new(CauseKind::Error, " two\r\n lines\u{7} ").detail(), "two lines");
        let long = Cause::new(CauseKind::Error, "ä".repeat(400));
        assert!(long.detail().len() <= Cause::LONGEST_DETAIL);
        assert!(long.detail().ends_with("ä…"));
    }
}
