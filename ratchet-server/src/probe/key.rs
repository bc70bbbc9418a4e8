//! The key of a probe, and where a request has it.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::SystemTime;

use ratchet::contract::Mechanism;
use ratchet::http::reqwest::Url;
use ratchet::http::reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::declared::Declared;
use crate::error::Error;

/// A key that no earlier probe used, and when it was used first.
pub(super) struct Key {
    text: String,
    first_sent: SystemTime,
}

impl Key {
    /// A UUID of version 4, which every contract allows. The seeds of the standard library's hashes are random.
    pub(super) fn fresh() -> Self {
        let random = || RandomState::new().build_hasher().finish();
        let high = random() & 0xffff_ffff_ffff_0fff | 0x4000;
        let low = random() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000;
        let (start, middle, version) = (high >> 32, high >> 16 & 0xffff, high & 0xffff);
        let (variant, node) = (low >> 48, low & 0xffff_ffff_ffff);
        let text = format!("{start:08x}-{middle:04x}-{version:04x}-{variant:04x}-{node:012x}");
        Self { text, first_sent: SystemTime::now() }
    }
}

/// Where a request has its key.
pub(super) struct Place {
    mechanism: Mechanism,
    first_sent: Option<&'static str>,
}

/// A request before it is sent.
pub(super) struct Letter {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Place {
    pub(super) fn of(declared: &Declared) -> Self {
        Self { mechanism: declared.place, first_sent: declared.contract.first_sent_header() }
    }

    pub(super) fn put(&self, key: &Key, letter: &mut Letter) -> Result<(), Error> {
        match self.mechanism {
            Mechanism::Header(name) => put_header(name, &key.text, &mut letter.headers)?,
            Mechanism::QueryParameter(name) => {
                letter.url.query_pairs_mut().append_pair(name, &key.text);
            }
            Mechanism::BodyField(path) => letter.body = with_field(&letter.body, path, &key.text)?,
            _ => {}
        }
        match self.first_sent {
            Some(name) => put_header(name, &httpdate::fmt_http_date(key.first_sent), &mut letter.headers),
            None => Ok(()),
        }
    }
}

fn put_header(name: &str, text: &str, headers: &mut HeaderMap) -> Result<(), Error> {
    let bad = || Error::BadProbe(format!("the contract names a header `{name}` that HTTP does not allow"));
    let name: HeaderName = name.parse().map_err(|_| bad())?;
    headers.insert(name, HeaderValue::from_str(text).map_err(|_| bad())?);
    Ok(())
}

fn with_field(body: &[u8], path: &str, text: &str) -> Result<Vec<u8>, Error> {
    let bad = || {
        Error::BadProbe(format!(
            "the contract has the key in the field `{path}`, and the body is no JSON object"
        ))
    };
    let mut document: Map<String, Value> = serde_json::from_slice(body).map_err(|_| bad())?;
    put_field(&mut document, path, text).ok_or_else(bad)?;
    Ok(Value::Object(document).to_string().into_bytes())
}

fn put_field(object: &mut Map<String, Value>, path: &str, text: &str) -> Option<()> {
    let Some((name, rest)) = path.split_once('.') else {
        object.insert(path.to_owned(), text.into());
        return Some(());
    };
    let inner = object.entry(name).or_insert_with(|| Value::Object(Map::new()));
    put_field(inner.as_object_mut()?, rest, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_uuid_of_version_4_and_another_one_each_time() {
        let (one, other) = (Key::fresh().text, Key::fresh().text);
        assert_ne!(one, other);
        assert_eq!((one.len(), one.as_bytes()[14]), (36, b'4'), "{one}");
        assert!(b"89ab".contains(&one.as_bytes()[19]), "{one}");
    }

    #[test]
    fn a_key_goes_where_the_contract_says() {
        let put = |mechanism, first_sent| {
            let mut letter = Letter {
                url: "https://bank.example/pay?a=1".parse().unwrap(),
                headers: HeaderMap::new(),
                body: br#"{"amount":7}"#.to_vec(),
            };
            let key = Key { text: "k-1".to_owned(), first_sent: SystemTime::UNIX_EPOCH };
            Place { mechanism, first_sent }.put(&key, &mut letter).unwrap();
            letter
        };
        assert_eq!(put(Mechanism::Header("X-Key"), None).headers["x-key"], "k-1");
        assert_eq!(
            put(Mechanism::QueryParameter("id"), None).url.as_str(),
            "https://bank.example/pay?a=1&id=k-1"
        );
        assert_eq!(put(Mechanism::BodyField("meta.key"), None).body, br#"{"amount":7,"meta":{"key":"k-1"}}"#);
        let dated = put(Mechanism::Header("X-Key"), Some("First-Sent"));
        assert_eq!(dated.headers["first-sent"], "Thu, 01 Jan 1970 00:00:00 GMT");
        assert!(with_field(b"amount=7", "key", "k-1").is_err());
    }
}
