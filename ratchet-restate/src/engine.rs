//! Calls to the engine over HTTP: handlers through its ingress, questions through its admin API.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ratchet_core::LedgerError;
use reqwest::{RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::names;

/// How long one call may take. Whether it had its effect is not known then, as after an answer that was lost.
const LONGEST_CALL: Duration = Duration::from_secs(30);

/// How long it may take to reach a node before the next one is tried.
const REACHED_WITHIN: Duration = Duration::from_secs(2);

/// The oldest release that does what is asked of it.
const OLDEST: (u32, u32) = (1, 7);

/// The nodes of an engine.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    http: reqwest::Client,
    address: Arc<Address>,
    /// The node that answered last.
    answers: Arc<AtomicUsize>,
}

/// What the engine answered instead of what was asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EngineError {
    /// No worker program has registered the ledger's handlers.
    #[error(
        "the engine does not know `{0}`: start a program that serves the ledger, so that it registers its handlers, and try again"
    )]
    NotServed(String),
    /// It is older than 1.7, of which the ledger uses the retry policies.
    #[error("the engine is restate-server {0}, and the ledger needs 1.7 or newer")]
    TooOld(String),
    /// Another answer.
    #[error("the engine answered {status} to `{call}`")]
    Status {
        /// The status of HTTP.
        status: StatusCode,
        /// What was called.
        call: String,
    },
    /// The answer is none of the ledger's.
    #[error("the answer to `{0}` cannot be read")]
    Unreadable(String),
}

impl Engine {
    pub(crate) fn new(address: Address) -> Result<Self, LedgerError> {
        let http = reqwest::Client::builder().connect_timeout(REACHED_WITHIN).timeout(LONGEST_CALL).build();
        let http = http.map_err(|error| store("set up HTTP", error))?;
        Ok(Self { http, address: Arc::new(address), answers: Arc::default() })
    }

    /// Calls a handler of a virtual object.
    pub(crate) async fn call<I, O>(
        &self,
        object: &str,
        key: &str,
        handler: &str,
        input: &I,
        doing: &'static str,
    ) -> Result<O, LedgerError>
    where
        I: Serialize + ?Sized,
        O: DeserializeOwned,
    {
        let path = format!("/{object}/{key}/{handler}");
        let name = format!("{object}/{handler}");
        let body = serde_json::to_value(input).map_err(|error| store(doing, error))?;
        let request = |node: &str| {
            let request = self.http.post(format!("{node}{path}"));
            // A handler without a parameter takes no body.
            if body.is_null() { request } else { request.json(&body) }
        };
        let response =
            self.reach(&self.address.ingress, request).await.map_err(|error| store(doing, error))?;
        read(response, name, doing).await
    }

    /// Hands a call over to a service, without waiting for what comes of it. While one under this key is under way, another
    /// one changes nothing. `false` if no program has registered the service.
    pub(crate) async fn send<I: Serialize + ?Sized>(
        &self,
        service: &str,
        handler: &str,
        input: &I,
        idempotency_key: &str,
        doing: &'static str,
    ) -> Result<bool, LedgerError> {
        let path = format!("/{service}/{handler}/send");
        let request = |node: &str| {
            let request = self.http.post(format!("{node}{path}"));
            request.header("idempotency-key", idempotency_key).json(input)
        };
        let response =
            self.reach(&self.address.ingress, request).await.map_err(|error| store(doing, error))?;
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(false);
        }
        let _: serde_json::Value = read(response, service.to_owned(), doing).await?;
        Ok(true)
    }

    /// Values of an entry of all objects of a kind.
    pub(crate) async fn entries<T: DeserializeOwned>(
        &self,
        object: &str,
        entry: &str,
        doing: &'static str,
    ) -> Result<Vec<T>, LedgerError> {
        #[derive(Deserialize)]
        struct Row {
            value_utf8: String,
        }
        // Neither name is of a caller's.
        let sql = format!("select value_utf8 from state where service_name = '{object}' and key = '{entry}'");
        let rows: Vec<Row> = self.query(&sql, doing).await?;
        let parse = |row: Row| serde_json::from_str(&row.value_utf8);
        // What cannot be read keeps nobody from the rest.
        Ok(rows.into_iter().map(parse).filter_map(|parsed| parsed.inspect_err(log_damaged).ok()).collect())
    }

    /// What the engine's SQL finds.
    pub(crate) async fn query<T: DeserializeOwned>(
        &self,
        sql: &str,
        doing: &'static str,
    ) -> Result<Vec<T>, LedgerError> {
        #[derive(Deserialize)]
        struct Rows<T> {
            rows: Vec<T>,
        }
        let body = serde_json::json!({ "query": sql });
        let request = |node: &str| {
            self.http.post(format!("{node}/query")).header("accept", "application/json").json(&body)
        };
        let response = self.reach(&self.address.admin, request).await.map_err(|error| store(doing, error))?;
        let Rows { rows } = read(response, "query".to_owned(), doing).await?;
        Ok(rows)
    }

    /// Has a call go on with who serves it now, for which it has to be paused. It may have gone on by itself, or be paused only
    /// a little later: that is to be looked at again.
    pub(crate) async fn hand_over(&self, call: &str) -> Result<(), LedgerError> {
        for step in ["pause", "resume?deployment=latest"] {
            let request = |node: &str| self.http.patch(format!("{node}/invocations/{call}/{step}"));
            let answer = self.reach(&self.address.admin, request).await;
            let status = answer.map_err(|error| store("hand a call over", error))?.status();
            tracing::debug!(%status, step, "a call is handed over");
        }
        Ok(())
    }

    /// Registers the handlers that are served at this address, in the place of those that were there before, and answers with
    /// the engine's name for the address.
    pub(crate) async fn register(&self, uri: &str) -> Result<String, LedgerError> {
        #[derive(Deserialize)]
        struct Deployment {
            id: String,
        }
        let doing = "register the handlers";
        let body = serde_json::json!({ "uri": uri, "force": true });
        let request = |node: &str| self.http.post(format!("{node}/deployments")).json(&body);
        let response = self.reach(&self.address.admin, request).await.map_err(|error| store(doing, error))?;
        let Deployment { id } = read(response, "deployments".to_owned(), doing).await?;
        Ok(id)
    }

    /// # Errors
    /// If the engine is older than what this ledger was made for, or cannot be reached.
    pub(crate) async fn check_version(&self) -> Result<(), LedgerError> {
        let found = self.version().await?;
        if is_old(&found) { Err(store("look at the engine", EngineError::TooOld(found))) } else { Ok(()) }
    }

    /// The version of the server.
    pub(crate) async fn version(&self) -> Result<String, LedgerError> {
        #[derive(Deserialize)]
        struct Version {
            version: String,
        }
        let doing = "ask for the version";
        let request = |node: &str| self.http.get(format!("{node}/version"));
        let response = self.reach(&self.address.admin, request).await.map_err(|error| store(doing, error))?;
        let Version { version } = read(response, "version".to_owned(), doing).await?;
        Ok(version)
    }

    /// Asks one node after the other, beginning with the one that answered last. Only what was certainly not sent is sent
    /// to another one.
    async fn reach(
        &self,
        nodes: &[String],
        request: impl Fn(&str) -> RequestBuilder,
    ) -> Result<Response, reqwest::Error> {
        let first = self.answers.load(Ordering::Relaxed);
        let mut turn = 0;
        loop {
            let at = (first + turn) % nodes.len().max(1);
            let node = nodes.get(at).map_or("", String::as_str);
            turn += 1;
            match request(node).send().await {
                Err(error) if error.is_connect() && turn < nodes.len() => {}
                answer => {
                    self.answers.store(at, Ordering::Relaxed);
                    return answer;
                }
            }
        }
    }
}

async fn read<O: DeserializeOwned>(
    response: Response,
    call: String,
    doing: &'static str,
) -> Result<O, LedgerError> {
    let status = response.status();
    let by_handler = response.headers().get("x-restate-error-source").is_some_and(|by| by == "invocation");
    if status.is_success() {
        let bytes = response.bytes().await.map_err(|error| store(doing, error))?;
        return serde_json::from_slice(&bytes).map_err(|_| store(doing, EngineError::Unreadable(call)));
    }
    match status {
        _ if by_handler && status.as_u16() == names::UNREADABLE => {
            Err(LedgerError::Damaged { what: "the records under one key cannot be read".to_owned() })
        }
        StatusCode::NOT_FOUND if !by_handler => Err(store(doing, EngineError::NotServed(call))),
        status => Err(store(doing, EngineError::Status { status, call })),
    }
}

fn store(doing: &'static str, source: impl std::error::Error + Send + Sync + 'static) -> LedgerError {
    LedgerError::Store { doing, source: Box::new(source) }
}

/// A version that is none is not judged.
fn is_old(version: &str) -> bool {
    let mut numbers = version.split(['.', '-']).map(str::parse::<u32>);
    matches!((numbers.next(), numbers.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) < OLDEST)
}

fn log_damaged(error: &serde_json::Error) {
    tracing::error!(line = error.line(), "an entry of a listing cannot be read and is left alone");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_version_that_is_known_to_be_older_is_old() {
        let old = ["1.6.9", "0.9.0", "1.7.0", "1.7.12-rc.1", "2.0.0", "main"].map(is_old);
        assert_eq!(old, [true, true, false, false, false, false]);
    }
}
