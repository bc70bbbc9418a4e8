//! What stops the program: what happened, why, and what to do.

use std::io;

use ratchet::ledger::moving::MoveError;
use ratchet::{KeyError, LedgerError, ManageError, NameError, RecordState, Timestamp};

use crate::lint::MAX_LINE_BYTES;
use crate::serve::shelf::KeepError;

/// The program could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{source_name} cannot be read: {reason}; name a readable file, or `-` for standard input")]
    Unreadable { source_name: String, reason: io::Error },
    #[error("line {line} of {source_name} is not UTF-8 from its byte {byte} on; save the text as UTF-8")]
    NotUtf8 { source_name: String, line: u64, byte: usize },
    #[error(
        "line {line} of {source_name} is longer than {MAX_LINE_BYTES} bytes; put one template or field on a line"
    )]
    LineTooLong { source_name: String, line: u64 },
    #[error("there is no finding `{code}`; `ratchet explain` lists them: {known}")]
    UnknownCode { code: String, known: String },
    #[error("{source_name} cannot be used: {why}")]
    BadManifest { source_name: String, why: String },
    #[error("the output cannot be written: {0}; free space or name another place")]
    Output(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] LedgerError),
    #[error(transparent)]
    NotDone(#[from] ManageError),
    #[error(transparent)]
    Move(#[from] MoveError),
    #[error("this is no key: {0}")]
    Key(#[from] KeyError),
    #[error("this is no name: {0}")]
    Name(#[from] NameError),
    #[error("what stands behind `#` is the number of a generation, from 1 on")]
    BadGeneration,
    #[error("there is no record under this key; `ratchet list` shows what there is in this namespace")]
    NoRecord,
    #[error("nothing was ever sent to a destination of this name; `ratchet destinations` lists them")]
    NoDestination,
    #[error("several operations have a record under this key: name one with `--operation`: {operations}")]
    SeveralOperations { operations: String },
    #[error("the record is purged: it was {state} on {ended_on}, and nothing more is known")]
    Purged { ended_on: Timestamp, state: RecordState },
    #[error("say why with `--reason`: it is kept with who decided")]
    NoReason,
    #[error("nothing was done: confirm on a terminal, or with `--yes`")]
    NotConfirmed,
    #[error("a result belongs to an effect that happened: use it with `--found applied`")]
    ResultWithoutEffect,
    #[error("the result cannot be stored: {0}")]
    BadResult(String),
    #[error("the probe cannot begin: {0}")]
    BadProbe(String),
    #[error("there is no contract `{name}`; the catalogue has: {known}")]
    UnknownContract { name: String, known: String },
    #[error("the sandbox did not answer: {0}; what was sent may have had its effect")]
    Sandbox(#[source] ratchet::http::reqwest::Error),
    #[error(
        "the first request was answered {status}, so there is nothing to compare: send one that succeeds, with \
         `--header-env` for its credentials"
    )]
    NotProbed { status: u16 },
    #[error("{address} cannot be listened on: {reason}; name another with `--listen`")]
    NotListening { address: std::net::SocketAddr, reason: io::Error },
    #[error(
        "traces cannot be sent: {0}; `--otlp` takes the address of a collector, such as http://127.0.0.1:4318"
    )]
    Collector(#[from] opentelemetry_otlp::ExporterBuildError),
    #[error("the system gives no random bytes, so no key can be made: {0}")]
    NoRandomness(#[from] getrandom::Error),
    #[error("there is no key `{id}`; `ratchet keys list` shows them")]
    NoKey { id: String },
    #[error(transparent)]
    Unkept(#[from] KeepError),
}

impl Error {
    /// 1 where the store refused or has nothing of the kind, 2 where the program could not do its work.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::NotDone(ManageError::Ledger(_)) => 2,
            Self::NotDone(_)
            | Self::Move(_)
            | Self::NoRecord
            | Self::NoDestination
            | Self::Purged { .. }
            | Self::NotConfirmed
            | Self::NoKey { .. } => 1,
            _ => 2,
        }
    }

    /// The message, and after it what the drivers below say.
    pub(crate) fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let more = error.to_string();
            if !text.contains(&more) {
                text.push_str(": ");
                text.push_str(&more);
            }
            cause = error.source();
        }
        text
    }

    /// Whether the reader of the output went away, as `head` does when it has seen enough.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(reason) if reason.kind() == io::ErrorKind::BrokenPipe)
    }
}
