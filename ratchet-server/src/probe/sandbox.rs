//! Requests to a sandbox, each sent once.

use std::env;
use std::time::Duration;

use ratchet::contract::Contract;
use ratchet::http::classify;
use ratchet::http::reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use ratchet::http::reqwest::{Client, Method, StatusCode, Url, redirect, retry};
use ratchet::{CauseKind, OutcomeKind};

use super::ProbeArguments;
use super::key::{Key, Letter, Place};
use crate::error::Error;

/// More than this of an answer is not compared.
const MOST_COMPARED: usize = 1024 * 1024;

pub(super) struct Sandbox {
    client: Client,
    method: Method,
    url: Url,
    place: Place,
    headers: HeaderMap,
    /// The same with the credential of somebody else.
    headers_of_other: Option<HeaderMap>,
}

/// What was answered. It is compared, and never shown: it may hold anything.
#[derive(Debug)]
pub(super) struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

/// What an answer means, by the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    Done,
    Duplicate,
    InFlight,
    Mismatch,
    Refused,
    Unknown,
}

impl Sandbox {
    pub(super) fn new(arguments: &ProbeArguments, place: Place) -> Result<Self, Error> {
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .timeout(Duration::from_mins(1))
            .build()
            .map_err(failed)?;
        let (method, url) = (arguments.method.clone(), arguments.url.clone());
        let headers = headers(arguments)?;
        let mut headers_of_other = None;
        if !arguments.other_header_env.is_empty() {
            let mut replaced = headers.clone();
            from_environment("--other-header-env", &arguments.other_header_env, &mut replaced)?;
            headers_of_other = Some(replaced);
        }
        Ok(Self { client, method, url, place, headers, headers_of_other })
    }

    /// Where the requests go, without what may be secret of a URL.
    pub(super) fn name(&self) -> String {
        let port = self.url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let (host, path) = (self.url.host_str().unwrap_or_default(), self.url.path());
        format!("{} {}://{host}{port}{path}", self.method, self.url.scheme())
    }

    pub(super) fn knows_other(&self) -> bool {
        self.headers_of_other.is_some()
    }

    pub(super) async fn send(&self, url: &Url, key: &Key, body: &[u8]) -> Result<Answer, Error> {
        self.send_with(&self.headers, url, key, body).await
    }

    /// As somebody else, if there is one.
    pub(super) async fn send_as_other(&self, key: &Key, body: &[u8]) -> Result<Answer, Error> {
        let headers = self.headers_of_other.as_ref().unwrap_or(&self.headers);
        self.send_with(headers, &self.url, key, body).await
    }

    async fn send_with(
        &self,
        headers: &HeaderMap,
        url: &Url,
        key: &Key,
        body: &[u8],
    ) -> Result<Answer, Error> {
        let mut letter = Letter { url: url.clone(), headers: headers.clone(), body: body.to_vec() };
        self.place.put(key, &mut letter)?;
        let request = self.client.request(self.method.clone(), letter.url).headers(letter.headers);
        let mut response = request.body(letter.body).send().await.map_err(failed)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            body.extend_from_slice(&chunk);
            if body.len() > MOST_COMPARED {
                return Err(Error::BadProbe("an answer is longer than a mebibyte".to_owned()));
            }
        }
        Ok(Answer { status, headers, body })
    }
}

impl Answer {
    #[cfg(test)]
    pub(super) fn of(status: u16, headers: &[&'static str], body: &str) -> Self {
        let pair = |name: &&'static str| (HeaderName::from_static(name), HeaderValue::from_static("1"));
        let status = StatusCode::from_u16(status).expect("a status");
        Self { status, headers: headers.iter().map(pair).collect(), body: body.as_bytes().to_vec() }
    }

    pub(super) fn status(&self) -> u16 {
        self.status.as_u16()
    }

    pub(super) fn is_success(&self) -> bool {
        self.status.is_success()
    }

    /// The same status and the same bytes; headers such as `Date` may differ.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.status == other.status && self.body == other.body
    }

    /// Whether there is this header with this value; without a value, with any.
    pub(super) fn has_header(&self, name: &str, value: &str) -> bool {
        let fits =
            |found: &HeaderValue| value.is_empty() || found.as_bytes().eq_ignore_ascii_case(value.as_bytes());
        self.headers.get_all(name).iter().any(fits)
    }

    /// The names of headers that the other one has not.
    pub(super) fn headers_beyond(&self, other: &Self) -> Vec<String> {
        let mut names: Vec<String> = self
            .headers
            .keys()
            .filter(|name| !other.headers.contains_key(*name))
            .map(ToString::to_string)
            .collect();
        names.sort_unstable();
        names
    }

    pub(super) fn read(&self, contract: &Contract) -> Reading {
        let failure = match classify(self.status, &self.headers, Some(&self.body), contract) {
            Ok(confirmed) if confirmed.duplicate => return Reading::Duplicate,
            Ok(_) => return Reading::Done,
            Err(failure) => failure,
        };
        let outcome = failure.outcome();
        match (outcome.cause().map(ratchet::Cause::kind), outcome.kind()) {
            (Some(CauseKind::InFlight), _) => Reading::InFlight,
            (Some(CauseKind::Mismatch), _) => Reading::Mismatch,
            (_, OutcomeKind::Rejected | OutcomeKind::NotApplied) => Reading::Refused,
            _ => Reading::Unknown,
        }
    }
}

fn headers(arguments: &ProbeArguments) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, value("--content-type", &arguments.content_type)?);
    for extra in &arguments.header_extra {
        let (name, text) =
            extra.split_once(':').ok_or_else(|| bad("--header-extra", "write it as `Name: value`"))?;
        headers.insert(header_name("--header-extra", name)?, value("--header-extra", text.trim())?);
    }
    from_environment("--header-env", &arguments.header_env, &mut headers)?;
    Ok(headers)
}

fn from_environment(argument: &str, pairs: &[String], headers: &mut HeaderMap) -> Result<(), Error> {
    for pair in pairs {
        let (name, variable) =
            pair.split_once('=').ok_or_else(|| bad(argument, "write it as `Name=VARIABLE`"))?;
        let secret = env::var(variable)
            .map_err(|_| bad(argument, &format!("there is no variable `{variable}` in the environment")))?;
        let mut secret = value(argument, &secret)?;
        secret.set_sensitive(true);
        headers.insert(header_name(argument, name)?, secret);
    }
    Ok(())
}

fn header_name(argument: &str, name: &str) -> Result<HeaderName, Error> {
    name.trim().parse().map_err(|_| bad(argument, "this is no name of a header"))
}

fn value(argument: &str, text: &str) -> Result<HeaderValue, Error> {
    HeaderValue::from_str(text).map_err(|_| bad(argument, "this is no value of a header"))
}

fn bad(argument: &str, why: &str) -> Error {
    Error::BadProbe(format!("`{argument}`: {why}"))
}

/// The address of a request may hold credentials.
fn failed(error: ratchet::http::reqwest::Error) -> Error {
    Error::Sandbox(error.without_url())
}
