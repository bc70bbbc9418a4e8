//! The client: a connection pool that neither follows redirects nor tries again by itself.

use std::fmt;
use std::time::Duration;

use ratchet_core::Destination;
use reqwest::{ClientBuilder, Method, redirect, retry};

use crate::request::{NoIdentity, Request};

/// Sends requests under the identity of an operation. Cheap to clone; share one, since it holds the connections.
///
/// Like other clients it uses the proxies that the environment names (`HTTP_PROXY` and its kin), unless
/// [`configured`](Self::configured) otherwise. `Debug` shows nothing: default headers carry credentials.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    destination: Option<Destination>,
}

/// The client could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client cannot be set up")]
pub struct ClientError(#[from] reqwest::Error);

impl Client {
    /// A client that waits 10 seconds for a connection and 30 for an answer.
    ///
    /// # Errors
    /// If the TLS library cannot be initialised.
    pub fn new() -> Result<Self, ClientError> {
        Self::configured(|builder| builder)
    }

    /// A client with settings of reqwest's builder: proxies, certificates, timeouts, default headers.
    ///
    /// Redirects and automatic retries stay off whatever the settings say: a redirected POST arrives somewhere else, and
    /// a silent second send is what this crate is there to prevent.
    ///
    /// # Errors
    /// If the settings cannot be used.
    pub fn configured(configure: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Result<Self, ClientError> {
        let builder = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .timeout(Duration::from_secs(30));
        let http = configure(builder).redirect(redirect::Policy::none()).retry(retry::never()).build()?;
        Ok(Self { http, destination: None })
    }

    /// The same client for a destination with limits: it sends only when the gate of the destination admits it, which all
    /// workers of the store share.
    ///
    /// What is not admitted is made again later as an attempt that spends none of the allowed ones. An answer that is 408,
    /// 429 or 5xx, or none at all, counts as a failure of the destination, and every other answer as a sign of life; the
    /// `Retry-After` of a 429 or 503 holds for everybody.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ratchet_core::Destination;
    ///
    /// const PAYMENTS: Destination = Destination::new("payments").at_most(8).breaker(5, Duration::from_secs(30));
    ///
    /// # fn example(http: ratchet_http::Client) -> ratchet_http::Client {
    /// http.to(PAYMENTS)
    /// # }
    /// ```
    #[must_use]
    pub fn to(&self, destination: Destination) -> Self {
        Self { http: self.http.clone(), destination: Some(destination) }
    }

    /// A POST request.
    pub fn post(&self, url: &str) -> Request<NoIdentity> {
        self.request(Method::POST, url)
    }

    /// A PUT request.
    pub fn put(&self, url: &str) -> Request<NoIdentity> {
        self.request(Method::PUT, url)
    }

    /// A PATCH request.
    pub fn patch(&self, url: &str) -> Request<NoIdentity> {
        self.request(Method::PATCH, url)
    }

    /// A DELETE request.
    pub fn delete(&self, url: &str) -> Request<NoIdentity> {
        self.request(Method::DELETE, url)
    }

    fn request(&self, method: Method, url: &str) -> Request<NoIdentity> {
        Request::new(self.http.clone(), self.destination.clone(), self.http.request(method, url))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}
