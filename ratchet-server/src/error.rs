//! What stops the program: what happened, why, and what to do.

use std::io;

use crate::lint::MAX_LINE_BYTES;

/// The program could not do what was asked. Ends it with exit code 2.
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
    #[error("the output cannot be written: {0}; free space or name another place")]
    Output(#[from] io::Error),
}

impl Error {
    /// Whether the reader of the output went away, as `head` does when it has seen enough.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(reason) if reason.kind() == io::ErrorKind::BrokenPipe)
    }
}
