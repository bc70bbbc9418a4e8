//! Requests to a sandbox, each sent once.

use std::collections::BTreeSet;
use std::env;
use std::time::Duration;

use ratchet::http::reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use ratchet::http::reqwest::{Client, Method, Url, redirect, retry};

use super::ProbeArguments;
use crate::error::Error;

/// More than this of an answer is not compared.
const MOST_COMPARED: usize = 1024 * 1024;

pub(super) struct Sandbox {
    client: Client,
    method: Method,
    url: Url,
    key: HeaderName,
    headers: HeaderMap,
}

/// What was answered. It is compared, and never shown: it may hold anything.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: BTreeSet<String>,
    body: Vec<u8>,
}

impl Sandbox {
    pub(super) fn new(arguments: &ProbeArguments) -> Result<Self, Error> {
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .timeout(Duration::from_mins(1))
            .build()
            .map_err(failed)?;
        let (method, url) = (arguments.method.clone(), arguments.url.clone());
        Ok(Self { client, method, url, key: arguments.header.clone(), headers: headers(arguments)? })
    }

    /// Where the requests go, without what may be secret of a URL.
    pub(super) fn place(&self) -> String {
        let port = self.url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let (host, path) = (self.url.host_str().unwrap_or_default(), self.url.path());
        format!("{} {}://{host}{port}{path}", self.method, self.url.scheme())
    }

    pub(super) async fn send(&self, url: &Url, key: &str, body: &[u8]) -> Result<Answer, Error> {
        let request = self.client.request(self.method.clone(), url.clone()).headers(self.headers.clone());
        let mut response = request.header(&self.key, key).body(body.to_vec()).send().await.map_err(failed)?;
        let status = response.status().as_u16();
        let headers = response.headers().keys().map(ToString::to_string).collect();
        let mut read = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            read.extend_from_slice(&chunk);
            if read.len() > MOST_COMPARED {
                return Err(Error::BadProbe("an answer is longer than a mebibyte".to_owned()));
            }
        }
        Ok(Answer { status, headers, body: read })
    }
}

impl Answer {
    #[cfg(test)]
    pub(super) fn of(status: u16, headers: &[&str], body: &str) -> Self {
        let headers = headers.iter().map(ToString::to_string).collect();
        Self { status, headers, body: body.as_bytes().to_vec() }
    }

    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The same status and the same bytes; headers such as `Date` may differ.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.status == other.status && self.body == other.body
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
    for extra in &arguments.header_env {
        let (name, variable) =
            extra.split_once('=').ok_or_else(|| bad("--header-env", "write it as `Name=VARIABLE`"))?;
        let secret = env::var(variable).map_err(|_| {
            bad("--header-env", &format!("there is no variable `{variable}` in the environment"))
        })?;
        let mut secret = value("--header-env", &secret)?;
        secret.set_sensitive(true);
        headers.insert(header_name("--header-env", name)?, secret);
    }
    Ok(headers)
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
