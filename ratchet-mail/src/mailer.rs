//! The mailer: sends one message for one operation.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use lettre::Message;
use ratchet_core::admission::Health;
use ratchet_core::{Cause, CauseKind, Context, Destination, Failure, OutcomeKind, Pin, Sending};

use crate::dialogue::Announced;
use crate::letter::{Letter, unsendable};
use crate::message_id::{MessageId, is_domain};
use crate::refusal::Refusal;
use crate::relay::Relay;

/// Sends messages under the identity of an operation. Cheap to clone; it makes a connection for each message.
///
/// See the [crate's page](crate) for what is the same on every attempt, and what an outcome means.
#[derive(Debug, Clone)]
pub struct Mailer {
    relay: Arc<Relay>,
    domain: Arc<str>,
    /// Whose gate is asked before a message is announced.
    destination: Option<Destination>,
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
        Ok(Self { relay: Arc::new(relay), domain: domain.into(), destination: None })
    }

    /// The same mailer for a relay with limits: it sends only when the gate of the destination admits it, which all workers of
    /// the store share.
    ///
    /// What is not admitted is made again later as an attempt that spends none of the allowed ones. A relay that cannot be
    /// reached, does not answer, refuses the connection or the sign-in, or says that it cannot work now (421, 452) has
    /// failed; what it says about one sender, recipient or message is a sign of life. A send counts as over when the
    /// timeouts of the relay have passed, unless the destination says a longer time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ratchet_core::Destination;
    ///
    /// const RELAY: Destination = Destination::new("relay").at_most(4).breaker(5, Duration::from_secs(60));
    ///
    /// # fn example(mailer: ratchet_mail::Mailer) -> ratchet_mail::Mailer {
    /// mailer.to(RELAY)
    /// # }
    /// ```
    #[must_use]
    pub fn to(&self, destination: Destination) -> Self {
        let longest = destination.limits().longest_send.max(self.relay.opening + self.relay.answer);
        Self { destination: Some(destination.longest_send(longest)), ..self.clone() }
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
        // Before anything is written down: who waits has sent nothing.
        let admitted = match &self.destination {
            Some(destination) => Some(ctx.admit(destination).await?),
            None => None,
        };
        let sent = self.deliver(ctx, &letter).await;
        if let Some(admitted) = admitted {
            admitted.report(sent.as_ref().map_or_else(|unsent| unsent.health, |_| Health::Answered), None);
        }
        sent.map_err(|unsent| unsent.failure)
    }

    async fn deliver(&self, ctx: &Context, letter: &Letter) -> Result<MessageId, Unsent> {
        // Recipients' mail stores compare Message-IDs, and the domain is a part of these.
        let pin = ctx.pin(&*self.domain, letter.fingerprint()).await?;
        let id = MessageId::of(&pin.wire_key, &self.domain);
        let message = letter.under(&id, first_sent(&pin)).map_err(|cause| ctx.not_sent(cause))?;
        let announced = Announced::to(&self.relay, letter, &message).await.map_err(|refusal| {
            // Nothing that could arrive has left.
            Unsent::told(ctx.begin_send(), refusal)
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
            Err(refusal) => Err(Unsent::told(sending, refusal)),
        }
    }
}

/// What became of a message that was not handed over for certain, and what that says about the relay.
struct Unsent {
    failure: Failure,
    health: Health,
}

impl Unsent {
    fn told(sending: Sending, refusal: Refusal) -> Self {
        let health = refusal.health();
        let failure = sending.failed(refusal.into_failure());
        tracing::debug!(outcome = failure.outcome().kind().as_str(), "the relay did not confirm");
        Self { failure, health }
    }
}

/// Nothing was said to the relay.
impl From<Failure> for Unsent {
    fn from(failure: Failure) -> Self {
        Self { failure, health: Health::NotSent }
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
