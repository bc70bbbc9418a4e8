//! A message as it will be sent: the same bytes on every attempt.

use std::fmt;
use std::time::SystemTime;

use lettre::message::header::{Date, Headers, MessageId as MessageIdHeader};
use lettre::{Address, Message};
use ratchet_core::{Cause, CauseKind, Fingerprint};

use crate::boundaries;
use crate::message_id::MessageId;

/// A message without its Message-ID and date, which follow from what is pinned.
pub(crate) struct Letter {
    pub(crate) from: Option<Address>,
    pub(crate) to: Vec<Address>,
    /// A Message-ID that its author gave it.
    given: Option<String>,
    rest: Vec<u8>,
}

impl Letter {
    pub(crate) fn new(mut message: Message) -> Result<Self, Cause> {
        let headers = message.headers_mut();
        if headers.get_raw("DKIM-Signature").is_some() {
            return Err(unsendable(
                "it is signed (DKIM) before it has its Message-ID and date, which would break the signature: let the \
                 relay sign it",
            ));
        }
        let given = headers.get::<MessageIdHeader>().map(|given| given.as_ref().to_owned());
        headers.remove::<MessageIdHeader>();
        headers.remove::<Date>();
        let rest = boundaries::settled(&message.formatted());
        check_lines(&rest)?;
        let envelope = message.envelope();
        Ok(Self { from: envelope.from().cloned(), to: envelope.to().to_vec(), given, rest })
    }

    /// What every attempt has to send again: sender, content and recipients.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let from: &str = self.from.as_ref().map_or("", AsRef::as_ref);
        let mut parts = vec![from.as_bytes(), self.rest.as_slice()];
        parts.extend(self.to.iter().map(|to| AsRef::<str>::as_ref(to).as_bytes()));
        Fingerprint::of_parts(&parts)
    }

    /// The message under its identity.
    pub(crate) fn under(&self, id: &MessageId, first_sent: SystemTime) -> Result<Vec<u8>, Cause> {
        if self.given.as_ref().is_some_and(|given| given != id.as_str()) {
            return Err(unsendable(
                "it has a Message-ID of another making, so nobody could recognise a repetition: leave it out",
            ));
        }
        let mut headers = Headers::new();
        headers.set(Date::new(first_sent));
        headers.set(MessageIdHeader::from(id.to_string()));
        let mut message = headers.to_string().into_bytes();
        message.extend_from_slice(&self.rest);
        Ok(message)
    }

    /// Whether an address needs SMTPUTF8.
    pub(crate) fn has_international_addresses(&self) -> bool {
        self.from.iter().chain(&self.to).any(|address| !AsRef::<str>::as_ref(address).is_ascii())
    }
}

/// Some relays take a lone line feed for the end of a line, and so a dot between two of them for the end of a message.
fn check_lines(message: &[u8]) -> Result<(), Cause> {
    let is_lone = |at: usize| match message[at] {
        b'\r' => message.get(at + 1) != Some(&b'\n'),
        b'\n' => at == 0 || message[at - 1] != b'\r',
        _ => false,
    };
    if (0..message.len()).any(is_lone) {
        return Err(unsendable(
            "it has a lone CR or LF, which relays read differently: end its lines with CRLF",
        ));
    }
    Ok(())
}

pub(crate) fn unsendable(why: impl fmt::Display) -> Cause {
    Cause::new(CauseKind::Handler, format_args!("the message was not sent: {why}"))
}
