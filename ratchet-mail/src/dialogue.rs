//! The dialogue with the relay, with its stages told apart. lettre's own transport has one error for all of them, and
//! what a broken connection means depends on where it broke.

use std::iter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lettre::transport::smtp::Error;
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{Extension, MailBodyParameter, MailParameter, ServerInfo};
use lettre::transport::smtp::response::{Response, Severity};
use tokio::time::timeout;

use crate::letter::Letter;
use crate::refusal::{Refusal, Stage};
use crate::relay::Relay;

/// How long is waited for the relay's goodbye.
const FAREWELL: Duration = Duration::from_secs(5);

/// A connection whose relay waits for the message. Dropped, it takes the message back.
pub(crate) struct Announced(AsyncSmtpConnection);

impl Announced {
    /// Connects, names sender and recipients, and is told to go ahead. All recipients are accepted, or none is written to.
    pub(crate) async fn to(relay: &Relay, letter: &Letter, message: &[u8]) -> Result<Self, Refusal> {
        timeout(relay.opening, announce(relay, letter, message))
            .await
            .unwrap_or_else(|_| Err(Refusal::Unanswered(Stage::Opening)))
            .map(Self)
    }

    /// Hands the message over, and waits for the relay's word that it has it.
    pub(crate) async fn hand_over(self, message: &[u8], limit: Duration) -> Result<(), Refusal> {
        let Self(mut connection) = self;
        let is_complete = AtomicBool::new(false);
        // lettre asks for the next part when all before it are written, and writes the final dot when there is none.
        let end = iter::from_fn(|| {
            is_complete.store(true, Ordering::SeqCst);
            None
        });
        let answer = timeout(limit, connection.message_iter(iter::once(message).chain(end))).await;
        let stage = if is_complete.load(Ordering::SeqCst) { Stage::Verdict } else { Stage::Message };
        let Ok(answer) = answer else { return Err(Refusal::Unanswered(stage)) };
        expect(stage, Severity::PositiveCompletion, answer)?;
        // The relay has the message: nobody waits for the rest.
        tokio::spawn(async move { timeout(FAREWELL, connection.quit()).await });
        Ok(())
    }
}

async fn announce(relay: &Relay, letter: &Letter, message: &[u8]) -> Result<AsyncSmtpConnection, Refusal> {
    let mut connection = relay.connect().await?;
    let parameters = parameters(connection.server_info(), letter, message)?;
    let answer = connection.command(Mail::new(letter.from.clone(), parameters)).await;
    expect(Stage::Sender, Severity::PositiveCompletion, answer)?;
    for to in &letter.to {
        let answer = connection.command(Rcpt::new(to.clone(), Vec::new())).await;
        expect(Stage::Recipient, Severity::PositiveCompletion, answer)?;
    }
    let answer = connection.command(Data).await;
    expect(Stage::Message, Severity::PositiveIntermediate, answer)?;
    Ok(connection)
}

/// What the message asks of the relay beyond ASCII.
fn parameters(relay: &ServerInfo, letter: &Letter, message: &[u8]) -> Result<Vec<MailParameter>, Refusal> {
    let needs = [
        (letter.has_international_addresses(), Extension::SmtpUtfEight, MailParameter::SmtpUtfEight),
        (!message.is_ascii(), Extension::EightBitMime, MailParameter::Body(MailBodyParameter::EightBitMime)),
    ];
    let mut parameters = Vec::new();
    for (_, extension, parameter) in needs.into_iter().filter(|(is_needed, ..)| *is_needed) {
        if !relay.supports_feature(extension) {
            return Err(Refusal::AsciiOnly);
        }
        parameters.push(parameter);
    }
    Ok(parameters)
}

fn expect(stage: Stage, wanted: Severity, answer: Result<Response, Error>) -> Result<(), Refusal> {
    match answer {
        Ok(response) if response.code().severity == wanted => Ok(()),
        // lettre counts every 2xx and 3xx as success, and some of them are none here.
        Ok(_) => Err(Refusal::Unanswered(stage)),
        Err(error) => Err(Refusal::read(stage, &error)),
    }
}
