//! What an answer of the relay, or its absence, says about the message.

use std::error::Error as _;
use std::fmt;

use lettre::transport::smtp::Error;
use lettre::transport::smtp::response::{Code, Severity};
use ratchet_core::admission::Health;
use ratchet_core::{Cause, CauseKind, Failure, Outcome};

/// How far the dialogue came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Connection, greeting, TLS.
    Opening,
    /// Authentication.
    SignIn,
    /// `MAIL FROM`.
    Sender,
    /// `RCPT TO`.
    Recipient,
    /// `DATA`, and the message up to its final dot.
    Message,
    /// Everything after the first byte of what ends the message.
    Verdict,
}

/// The end of a dialogue that did not end well. It holds an answer's codes, never its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The relay was silent, or went away, or said what nobody can read.
    Unanswered(Stage),
    /// It said no.
    Answered(Stage, Reply),
    /// It takes ASCII only, and the message has more.
    AsciiOnly,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    code: u16,
    /// Such as `5.1.1` (RFC 3463).
    enhanced: Option<String>,
}

impl Refusal {
    pub(crate) fn read(stage: Stage, error: &Error) -> Self {
        error.status().map_or(Self::Unanswered(stage), |code| {
            Self::Answered(stage, Reply { code: code.into(), enhanced: enhanced(code, error) })
        })
    }

    /// What it says about the relay itself, and not about this message.
    pub(crate) fn health(&self) -> Health {
        match self {
            Self::Unanswered(_) | Self::Answered(Stage::Opening | Stage::SignIn, _) => Health::Failed,
            Self::Answered(_, reply) if matches!(reply.code, 421 | 452) => Health::Failed,
            Self::Answered(..) | Self::AsciiOnly => Health::Answered,
        }
    }

    pub(crate) fn into_failure(self) -> Failure {
        let (stage, reply) = match self {
            Self::Unanswered(stage) => return unanswered(stage),
            Self::AsciiOnly => {
                return not_applied(
                    CauseKind::Handler,
                    "the relay takes ASCII only, and the message has more",
                );
            }
            Self::Answered(stage, reply) => (stage, reply),
        };
        let (kind, detail) =
            (CauseKind::Status(reply.code), format_args!("the relay refused {stage}{reply}"));
        if reply.is_final(stage) {
            Failure::new(Outcome::Rejected { cause: Cause::new(kind, detail), after_lookup: false })
        } else {
            not_applied(kind, detail)
        }
    }
}

/// A relay acts on what is complete: without its final dot a message does not exist (RFC 5321, section 4.1.1.4).
fn unanswered(stage: Stage) -> Failure {
    match stage {
        Stage::Verdict => Failure::new(Outcome::unknown(Cause::new(
            CauseKind::Transport,
            "the message was handed over, and whether the relay took it was not answered",
        ))),
        Stage::Opening => {
            not_applied(CauseKind::Connect, "no connection to the relay, or none that became ready in time")
        }
        _ => not_applied(CauseKind::Connect, format_args!("the relay did not answer to {stage}")),
    }
}

fn not_applied(kind: CauseKind, detail: impl fmt::Display) -> Failure {
    Failure::new(Outcome::NotApplied { cause: Cause::new(kind, detail), retry_after: None })
}

impl Reply {
    /// Whether it speaks of this message for ever, and not of the relay's state or of our access to it.
    fn is_final(&self, stage: Stage) -> bool {
        let is_about_access = matches!(self.code, 530 | 534 | 535 | 538);
        self.code >= 500 && !is_about_access && !matches!(stage, Stage::Opening | Stage::SignIn)
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.enhanced.as_ref().map_or(Ok(()), |enhanced| write!(f, " ({enhanced})"))
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Opening => "the connection",
            Self::SignIn => "the credentials",
            Self::Sender => "the sender",
            Self::Recipient => "the recipient",
            Self::Message | Self::Verdict => "the message",
        })
    }
}

/// The enhanced status code that an answer begins with. What follows it may be an address.
fn enhanced(code: Code, error: &Error) -> Option<String> {
    let text = error.source()?.to_string();
    let word = text.split_whitespace().next()?;
    let mut numbers = word.split('.');
    let class = if code.severity == Severity::PermanentNegativeCompletion { "5" } else { "4" };
    let is_number =
        |text: &str| matches!(text.len(), 1..=3) && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_code = numbers.next() == Some(class)
        && numbers.next().is_some_and(is_number)
        && numbers.next().is_some_and(is_number)
        && numbers.next().is_none();
    is_code.then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_concerns_the_relay_itself_is_a_failure_of_it() {
        let answered = |stage, code| Refusal::Answered(stage, Reply { code, enhanced: None }).health();
        for stage in [Stage::Opening, Stage::SignIn] {
            assert_eq!((answered(stage, 554), answered(stage, 454)), (Health::Failed, Health::Failed));
        }
        for stage in [Stage::Sender, Stage::Recipient, Stage::Message, Stage::Verdict] {
            for code in [421, 452] {
                assert_eq!(answered(stage, code), Health::Failed, "{stage} {code}");
            }
            for code in [450, 451, 550, 552, 554] {
                assert_eq!(answered(stage, code), Health::Answered, "{stage} {code}");
            }
            assert_eq!(Refusal::Unanswered(stage).health(), Health::Failed);
        }
        assert_eq!(Refusal::AsciiOnly.health(), Health::Answered);
    }
}
