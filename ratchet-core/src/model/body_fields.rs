//! Which fields of a body differ from those of an earlier one, without keeping what either says.

use std::fmt::Write as _;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A body with more fields than this is compared in its first ones.
const MOST_FIELDS: usize = 32;

/// A body that is longer is compared as a whole alone.
const LONGEST_BODY: usize = 64 * 1024;

/// The most fields that are named: the first ones say where to look.
const MOST_NAMED: usize = 3;

/// The longest name that is shown.
const LONGEST_NAME: usize = 40;

/// A digest of each field of a JSON or form body: enough to name the field that changed.
///
/// Of a value one byte is kept, which many values share, and of its name two. The names themselves are known only to
/// whoever has the body.
#[derive(Debug, Clone, Default)]
pub struct BodyFields {
    digests: Vec<Digest>,
    names: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Digest {
    name: u16,
    value: u8,
}

impl BodyFields {
    pub(super) fn of(body: &[u8]) -> Self {
        let mut fields = Self::default();
        if body.len() <= LONGEST_BODY {
            match serde_json::from_slice::<Value>(body) {
                Ok(document) => fields.add_members(&document, ""),
                Err(_) => fields.add_pairs(body),
            }
        }
        fields
    }

    /// The names of fields that have another value than in `earlier`, or are not in it.
    pub(crate) fn changed_since(&self, earlier: &Self) -> Vec<String> {
        // What is missing among the first fields may be a later one there.
        let is_whole = earlier.digests.len() < MOST_FIELDS;
        let is_changed = |digest: &Digest| {
            let before = earlier.digests.iter().find(|before| before.name == digest.name);
            before.map_or(is_whole, |before| before.value != digest.value)
        };
        let named = self.digests.iter().zip(&self.names);
        let changed = named.filter(|(digest, _)| is_changed(digest)).map(|(_, name)| name.clone());
        if earlier.is_empty() { Vec::new() } else { changed.take(MOST_NAMED).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    fn add_members(&mut self, value: &Value, name: &str) {
        let below =
            |member: &str| if name.is_empty() { member.to_owned() } else { format!("{name}.{member}") };
        match value {
            Value::Object(members) => {
                members.iter().for_each(|(member, value)| self.add_members(value, &below(member)));
            }
            Value::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    self.add_members(item, &below(&place.to_string()));
                }
            }
            scalar if !name.is_empty() => self.add(name, &scalar.to_string()),
            _ => {}
        }
    }

    fn add_pairs(&mut self, body: &[u8]) {
        let is_form = body.iter().all(u8::is_ascii_graphic) && body.contains(&b'=');
        let Some(text) = std::str::from_utf8(body).ok().filter(|_| is_form) else { return };
        for pair in text.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            self.add(&name.replace("%5B", "[").replace("%5D", "]"), value);
        }
    }

    fn add(&mut self, name: &str, value: &str) {
        if self.digests.len() < MOST_FIELDS {
            let [high, low, ..] = hash(&[name]);
            let [.., value] = hash(&[name, value]);
            self.digests.push(Digest { name: u16::from_be_bytes([high, low]), value });
            self.names.push(shown(name));
        }
    }
}

/// FNV-1a, and after it the end of `MurmurHash3`, since names that are alike differ in few bits before. No more is asked of it
/// than to be the same everywhere.
fn hash(texts: &[&str]) -> [u8; 8] {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    // The separator is in no UTF-8 text.
    for byte in texts.iter().flat_map(|text| text.bytes().chain([0xff])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
    }
    (hash ^ (hash >> 33)).to_be_bytes()
}

/// A name as it may be shown: a key of a map can be anything.
fn shown(name: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "._-[]".contains(char);
    if name.len() <= LONGEST_NAME && name.chars().all(is_plain) { name.to_owned() } else { "…".to_owned() }
}

/// Two bodies are the same if their digests are; a record that is read back has no names.
impl PartialEq for BodyFields {
    fn eq(&self, other: &Self) -> bool {
        self.digests == other.digests
    }
}

impl Eq for BodyFields {}

impl Hash for BodyFields {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digests.hash(state);
    }
}

/// Six hexadecimal digits for each field.
impl Serialize for BodyFields {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut text = String::with_capacity(self.digests.len() * 6);
        for Digest { name, value } in &self.digests {
            // Writing to a string does not fail.
            let _ = write!(text, "{name:04x}{value:02x}");
        }
        to.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for BodyFields {
    /// What cannot be read names no field, and does no other harm.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let digest = |digits: &[u8]| {
            let number = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
            let [_, high, low, value] = number.to_be_bytes();
            Some(Digest { name: u16::from_be_bytes([high, low]), value })
        };
        let digests: Option<Vec<Digest>> = text.as_bytes().chunks(6).map(digest).collect();
        Ok(Self { digests: digests.unwrap_or_default(), names: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(earlier: &str, now: &str) -> Vec<String> {
        let stored = serde_json::to_string(&BodyFields::of(earlier.as_bytes())).unwrap();
        let stored: BodyFields = serde_json::from_str(&stored).unwrap();
        BodyFields::of(now.as_bytes()).changed_since(&stored)
    }

    #[test]
    fn the_field_that_changed_is_named_and_no_other() {
        let first =
            r#"{"amount":7,"metadata":{"sent_at":"12:00","order":"o1"},"lines":[{"sku":"a"},{"sku":"b"}]}"#;
        assert_eq!(changed(first, first), [""; 0]);
        assert_eq!(changed(first, &first.replace("12:00", "12:01")), ["metadata.sent_at"]);
        assert_eq!(changed(first, &first.replace(r#""b""#, r#""c""#)), ["lines.1.sku"]);
        assert_eq!(
            changed(first, &first.replace("\"amount\":7", "\"amount\":8,\"note\":null")),
            ["amount", "note"]
        );
    }

    #[test]
    fn a_form_has_fields_too() {
        assert_eq!(changed("amount=7&metadata%5Bat%5D=1", "amount=7&metadata%5Bat%5D=2"), ["metadata[at]"]);
    }

    #[test]
    fn what_has_no_fields_names_none() {
        for (earlier, now) in
            [("a text", "another"), ("", "{}"), ("7", "8"), ("", r#"{"a":1}"#), (r#"{"a":1}"#, "{}")]
        {
            assert_eq!(changed(earlier, now), [""; 0], "{earlier} {now}");
        }
    }

    #[test]
    fn a_key_of_a_map_is_not_shown() {
        assert_eq!(changed(r#"{"by":{"ada@example.org":1}}"#, r#"{"by":{"ada@example.org":2}}"#), ["…"]);
    }

    #[test]
    fn a_body_with_many_fields_is_compared_in_the_first_ones() {
        let many = |from: usize| {
            let members: serde_json::Map<_, _> =
                (from..100).map(|n| (format!("f{n:03}"), n.into())).collect();
            Value::Object(members).to_string()
        };
        assert_eq!(BodyFields::of(many(0).as_bytes()).digests.len(), MOST_FIELDS);
        assert_eq!(changed(&many(1), &many(0)), [""; 0], "f000 may have been a later one");
        assert_eq!(changed(&many(0), &many(0).replace(r#""f003":3"#, r#""f003":4"#)), ["f003"]);
    }

    #[test]
    fn the_digests_are_the_same_in_every_release() {
        let fields = BodyFields::of(br#"{"amount":700,"currency":"eur"}"#);
        assert_eq!(serde_json::to_string(&fields).unwrap(), r#""c55406fbbcb2""#);
    }
}
