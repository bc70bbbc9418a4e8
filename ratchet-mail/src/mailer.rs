//! The mailer: sends one message for one operation.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use lettre::Message;
use ratchet_core::{Cause, CauseKind, Context, Failure, OutcomeKind, Pin};

use crate::dialogue::Announced;
use crate::letter::{Letter, unsendable};
use crate::message_id::{MessageId, is_domain};
use crate::relay::Relay;

/// Sends messages under the identity of an operation. Cheap to clone; it makes a connection for each message.
///
/// See the [crate's page](crate) for what is the same on every attempt, and what an outcome means.
#[derive(Debug, Clone)]
pub struct Mailer {
    relay: Arc<Relay>,
    domain: Arc<str>,
}

/// The mailer could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MailerError {
    /// Message-IDs end in a domain.
    #[error("`{0}` is no domain that a Message-ID can end in; use one of yours, such as `example.com`")]
    Domain(String),
    /// Others could read the password.
    #[error(
        "the credentials would be sent in the open: use `Relay::starttls` or `Relay::smtps` (feature `tls`)"
    )]
    OpenCredentials,
    /// The TLS library has no certificates to trust, or does not know what to make of the name.
    #[cfg(feature = "tls")]
    #[error("TLS to the relay cannot be set up")]
    Tls(#[source] lettre::transport::smtp::Error),
}

impl Mailer {
    /// A mailer that hands over to `relay`. `domain` is what its Message-IDs end in: a domain of the sender's, and the same
    /// one for good, since a message under another one is another message.
    ///
    /// # Errors
    /// If the domain is none, or credentials would be sent to another machine in the open.
    ///
    /// ```
    /// use ratchet_mail::{Mailer, Relay};
    ///
    /// let mailer = Mailer::new(Relay::plain("localhost"), "shop.example").unwrap();
    /// assert!(Mailer::new(Relay::plain("mail.example").credentials("shop", "…"), "shop.example").is_err());
    /// ```
    pub fn new(relay: Relay, domain: impl Into<String>) -> Result<Self, MailerError> {
        let domain = domain.into();
        if !is_domain(&domain) {
            return Err(MailerError::Domain(domain));
        }
        if relay.tells_credentials() {
            return Err(MailerError::OpenCredentials);
        }
        Ok(Self { relay: Arc::new(relay), domain: domain.into() })
    }

    /// Hands the message over to the relay, once, and returns its Message-ID when the relay says that it has it.
    ///
    /// It has one recipient; a message with more is refused. Inside a named step, give the context of the step. Each
    /// operation or step sends one message: a second call in the same attempt is refused after one that was handed over, or
    /// may have been.
    ///
    /// # Errors
    /// A [`Failure`] that says what is known about the message, for the handler to pass on.
    pub async fn send(&self, ctx: &Context, message: Message) -> Result<MessageId, Failure> {
        if message.envelope().to().len() > 1 {
            return Err(ctx.not_sent(unsendable(
                "it has several recipients: enqueue one operation for each, or use `send_to_all` if they are to get one \
                 message together",
            )));
        }
        self.send_to_all(ctx, message).await
    }

    /// The same for a message whose recipients (`To`, `Cc`, `Bcc`) are to see it as one, such as a mail to two
    /// contracting parties. Where the relay refuses one of them, nobody is written to.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn send_to_all(&self, ctx: &Context, message: Message) -> Result<MessageId, Failure> {
        check_contract(ctx)?;
        check_first(ctx)?;
        let letter = Letter::new(message).map_err(|cause| ctx.not_sent(cause))?;
        // Recipients' mail stores compare Message-IDs, and the domain is a part of these.
        let pin = ctx.pin(&*self.domain, letter.fingerprint()).await?;
        let id = MessageId::of(&pin.wire_key, &self.domain);
        let message = letter.under(&id, first_sent(&pin)).map_err(|cause| ctx.not_sent(cause))?;
        let announced = Announced::to(&self.relay, &letter, &message).await.map_err(|refusal| {
            // Nothing that could arrive has left.
            told(ctx.begin_send().failed(refusal.into_failure()))
        })?;
        // The dialogue took its time.
        ctx.check_lease()?;
        check_first(ctx)?;
        // Unless an answer says otherwise, this send stays unknown: also if this future is dropped.
        let sending = ctx.begin_send();
        match announced.hand_over(&message, self.relay.answer).await {
            Ok(()) => {
                sending.acted();
                Ok(id)
            }
            Err(refusal) => Err(told(sending.failed(refusal.into_failure()))),
        }
    }
}

fn check_contract(ctx: &Context) -> Result<(), Failure> {
    if ctx.contract().deduplicates() {
        return Err(ctx.not_sent(unsendable(
            "the contract says that the destination recognises a repetition, and SMTP does not: declare `MAIL` and what \
             to do about an unknown outcome, or give the message a step of its own",
        )));
    }
    Ok(())
}

/// Each attempt hands over once, also where its handler tries again by itself.
fn check_first(ctx: &Context) -> Result<(), Failure> {
    let again = ctx.not_sent(Cause::new(
        CauseKind::Handler,
        "an earlier send of this attempt was handed over, or may have been, and nobody would recognise another one",
    ));
    // Certain if there was none.
    if again.outcome().kind() == OutcomeKind::Unknown { Err(again) } else { Ok(()) }
}

/// The date of the message on every attempt, by the ledger's clock.
fn first_sent(pin: &Pin) -> SystemTime {
    SystemTime::UNIX_EPOCH
        + Duration::from_millis(u64::try_from(pin.first_at.as_millis()).unwrap_or_default())
}

fn told(failure: Failure) -> Failure {
    tracing::debug!(outcome = failure.outcome().kind().as_str(), "the relay did not confirm");
    failure
}
