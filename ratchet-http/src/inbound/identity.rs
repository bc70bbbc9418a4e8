//! Which intended action a request is, and what tells another request under the same key.

use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method};
use ratchet_core::{
    Fingerprint, Generation, Key, KeyError, Payload, Priority, Queue, RecordId, Submission, Version,
};
use serde_json::json;
use serde_json::value::RawValue;
use sha2::Sha256;

use super::settings::Settings;
use crate::json::sorted;

/// Within what a key names one action.
pub(super) struct Scope<'a> {
    pub(super) principal: &'a str,
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
}

impl Scope<'_> {
    /// The record of a key. It holds a digest, since keys and principals may say something about people.
    pub(super) fn record_id(&self, settings: &Settings, key: &str) -> Result<RecordId, KeyError> {
        let parts = [self.principal, self.method.as_str(), self.path, key].map(str::as_bytes);
        Ok(RecordId {
            namespace: settings.namespace.clone(),
            operation: settings.operation.clone(),
            key: Key::parse(&Fingerprint::of_parts(&parts).to_string())?,
            generation: Generation::FIRST,
        })
    }
}

pub(super) fn submission(
    settings: &Settings,
    id: RecordId,
    key: &str,
    parts: &Parts,
    body: &Bytes,
) -> Submission {
    let input = json!({ "method": parts.method.as_str(), "path": parts.uri.path() });
    let input = Payload::from_value(&input, Payload::LARGEST_INPUT);
    Submission {
        id,
        version: version(&settings.compared_headers),
        input: input.unwrap_or_else(|_| Payload::from_stored("null")),
        compared: Some(fingerprint(&settings.compared_headers, key, parts, body)),
        policy: settings.policy.clone(),
        contract: settings.contract.terms(),
        not_before: None,
        priority: Priority::default(),
        group: None,
        after: None,
        queue: Queue::DEFAULT,
        renewal: None,
        trace: None,
    }
}

/// How fingerprints are made: those of two recipes are not compared.
fn version(headers: &[HeaderName]) -> Version {
    let names: Vec<&[u8]> = headers.iter().map(|name| name.as_str().as_bytes()).collect();
    let recipe = Fingerprint::of_parts(&names).to_string();
    Version::new(format!("1-{}", recipe.get(..8).unwrap_or_default())).unwrap_or(Version::from_static("1"))
}

/// HMAC-SHA-256 over the whole request. Its key is the client's, which is not stored: who reads the ledger cannot try
/// what a request may have said.
fn fingerprint(headers: &[HeaderName], key: &str, parts: &Parts, body: &Bytes) -> Fingerprint {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key.as_bytes()) else {
        unreachable!("HMAC takes keys of any length")
    };
    let mut add = |part: &[u8]| {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part);
    };
    add(parts.method.as_str().as_bytes());
    add(parts.uri.path().as_bytes());
    add(parts.uri.query().unwrap_or_default().as_bytes());
    for name in headers {
        let values = parts.headers.get_all(name);
        add(&(values.iter().count() as u64).to_be_bytes());
        for value in values {
            add(value.as_bytes());
        }
    }
    match canonical(&parts.headers, body) {
        Some(json) => add(json.get().as_bytes()),
        None => add(body),
    }
    Fingerprint::from_bytes(mac.finalize().into_bytes().into())
}

/// A JSON body with the names of its objects sorted, since clients write them in any order. Numbers stay as they were
/// written.
fn canonical(headers: &HeaderMap, body: &Bytes) -> Option<Box<RawValue>> {
    let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?.split(';').next()?.trim().to_ascii_lowercase();
    if kind != "application/json" && !kind.ends_with("+json") {
        return None;
    }
    // It refuses what is nested deeper than can be sorted.
    serde_json::from_slice::<serde_json::Value>(body).ok()?;
    sorted(serde_json::from_slice::<&RawValue>(body).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn of(content_type: &str, uri: &str, body: &'static str) -> Fingerprint {
        let request = Request::post(uri).header(CONTENT_TYPE, content_type).body(()).unwrap();
        fingerprint(&[CONTENT_TYPE], "k", &request.into_parts().0, &Bytes::from_static(body.as_bytes()))
    }

    #[test]
    fn the_order_of_names_in_json_does_not_matter_and_everything_else_does() {
        let json = |body| of("application/json", "/a?b=1", body);
        assert_eq!(json(r#"{"a":1.10,"b":[2]}"#), json(r#"{ "b" : [2], "a" : 1.10 }"#));
        assert_ne!(json(r#"{"a":1.10}"#), json(r#"{"a":1.1}"#));
        assert_ne!(json("[1,2]"), json("[2,1]"));
        let text = |body| of("text/plain", "/a?b=1", body);
        assert_ne!(text(r#"{"a":1,"b":2}"#), text(r#"{"b":2,"a":1}"#));
        assert_ne!(text("x"), of("text/plain", "/a?b=2", "x"));
        assert_ne!(text("x"), of("text/html", "/a?b=1", "x"));
    }

    #[test]
    fn nesting_without_end_is_compared_as_it_is() {
        let nested = |open: usize, close: usize| -> &'static str {
            format!("{}{}", "[".repeat(open), "]".repeat(close)).leak()
        };
        let json = |body| of("application/json", "/", body);
        assert_ne!(json(nested(100_000, 100_000)), json(nested(100_001, 100_001)));
        assert_ne!(json(nested(100_000, 0)), json(nested(1, 0)));
    }

    #[test]
    fn another_choice_of_headers_is_another_recipe() {
        assert_ne!(version(&[CONTENT_TYPE]), version(&[]));
    }
}
