//! The relay: where messages are handed over, and how.

use std::fmt;
use std::time::Duration;

use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::extension::ClientId;

#[cfg(feature = "tls")]
use crate::mailer::MailerError;
use crate::refusal::{Refusal, Stage};

/// The mail server that messages are handed over to. `Debug` shows no credentials.
#[derive(Clone)]
#[must_use]
pub struct Relay {
    host: String,
    port: u16,
    security: Security,
    credentials: Option<Credentials>,
    hello: ClientId,
    pub(crate) opening: Duration,
    pub(crate) answer: Duration,
}

#[derive(Clone)]
enum Security {
    Open,
    #[cfg(feature = "tls")]
    StartTls(TlsParameters),
    #[cfg(feature = "tls")]
    Smtps(TlsParameters),
}

impl Relay {
    /// A relay that is spoken to in the open, on port 25: one on this machine, or in a network that nobody else reads.
    pub fn plain(host: impl Into<String>) -> Self {
        Self::new(host.into(), 25, Security::Open)
    }

    /// A relay on port 587 that is spoken to in the open until both have switched to TLS. One that does not offer it gets
    /// neither credentials nor messages.
    ///
    /// # Errors
    /// If TLS cannot be set up.
    #[cfg(feature = "tls")]
    pub fn starttls(host: impl Into<String>) -> Result<Self, MailerError> {
        let host = host.into();
        let security = Security::StartTls(TlsParameters::new(host.clone()).map_err(MailerError::Tls)?);
        Ok(Self::new(host, 587, security))
    }

    /// A relay that speaks TLS from the first byte, on port 465.
    ///
    /// # Errors
    /// If TLS cannot be set up.
    #[cfg(feature = "tls")]
    pub fn smtps(host: impl Into<String>) -> Result<Self, MailerError> {
        let host = host.into();
        let security = Security::Smtps(TlsParameters::new(host.clone()).map_err(MailerError::Tls)?);
        Ok(Self::new(host, 465, security))
    }

    fn new(host: String, port: u16, security: Security) -> Self {
        Self {
            host,
            port,
            security,
            credentials: None,
            hello: ClientId::default(),
            opening: Duration::from_mins(1),
            answer: Duration::from_mins(10),
        }
    }

    /// Another port.
    pub fn port(self, port: u16) -> Self {
        Self { port, ..self }
    }

    /// A user name and password, for `AUTH PLAIN` or `LOGIN`.
    pub fn credentials(self, user: impl Into<String>, password: impl Into<String>) -> Self {
        Self { credentials: Some(Credentials::new(user.into(), password.into())), ..self }
    }

    /// The name of this machine, for `EHLO`; some relays insist on one that leads back to it.
    pub fn hello_name(self, name: impl Into<String>) -> Self {
        Self { hello: ClientId::Domain(name.into()), ..self }
    }

    /// How long everything before the message may take: connecting, TLS, signing in, naming sender and recipient. A minute
    /// unless it is said here.
    pub fn opening_timeout(self, span: Duration) -> Self {
        Self { opening: span, ..self }
    }

    /// How long the message and the answer to it may take. Ten minutes unless it is said here, as RFC 5321 asks for: a
    /// relay may look for viruses before it answers, and who gives up meanwhile does not know. The operation's `timeout`
    /// ends it too.
    pub fn answer_timeout(self, span: Duration) -> Self {
        Self { answer: span, ..self }
    }

    /// Other settings of TLS, such as a certificate authority of one's own; without a meaning for a plain relay.
    #[cfg(feature = "tls")]
    pub fn tls_parameters(self, parameters: TlsParameters) -> Self {
        let security = match self.security {
            Security::Open => Security::Open,
            Security::StartTls(_) => Security::StartTls(parameters),
            Security::Smtps(_) => Security::Smtps(parameters),
        };
        Self { security, ..self }
    }

    /// Whether credentials would be read by others.
    pub(crate) fn tells_credentials(&self) -> bool {
        let is_here = matches!(self.host.as_str(), "localhost" | "127.0.0.1" | "::1");
        self.credentials.is_some() && matches!(self.security, Security::Open) && !is_here
    }

    /// A connection on which messages can be announced.
    pub(crate) async fn connect(&self) -> Result<AsyncSmtpConnection, Refusal> {
        let address = (self.host.as_str(), self.port);
        let mut connection = AsyncSmtpConnection::connect_tokio1(
            address,
            Some(self.opening),
            &self.hello,
            self.wrapper(),
            None,
        )
        .await
        .map_err(|error| Refusal::read(Stage::Opening, &error))?;
        #[cfg(feature = "tls")]
        if let Security::StartTls(parameters) = &self.security {
            let encrypted = connection.starttls(parameters.clone(), &self.hello).await;
            encrypted.map_err(|error| Refusal::read(Stage::Opening, &error))?;
        }
        if let Some(credentials) = &self.credentials {
            let accepted = connection.auth(DEFAULT_MECHANISMS, credentials).await;
            accepted.map_err(|error| Refusal::read(Stage::SignIn, &error))?;
        }
        Ok(connection)
    }

    /// What the connection is wrapped in from its first byte.
    fn wrapper(&self) -> Option<TlsParameters> {
        match &self.security {
            #[cfg(feature = "tls")]
            Security::Smtps(parameters) => Some(parameters.clone()),
            _ => None,
        }
    }
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").field("host", &self.host).field("port", &self.port).finish_non_exhaustive()
    }
}
