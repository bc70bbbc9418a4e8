//! The Message-ID: how the identity of an operation is written in a message.

use std::fmt;

use ratchet_core::Fingerprint;

/// The Message-ID of an operation's message, with its angle brackets: the same on every attempt.
///
/// Answers to the message name it in `In-Reply-To`, so it is worth keeping.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MessageId(String);

impl MessageId {
    /// 128 bits of SHA-256 over the wire key, which may hold characters that a Message-ID cannot, and is not for the eyes
    /// of the recipient.
    pub(crate) fn of(wire_key: &str, domain: &str) -> Self {
        let digest = Fingerprint::of_parts(&[b"message-id 1", wire_key.as_bytes()]).to_string();
        Self(format!("<{digest:.32}@{domain}>"))
    }

    /// Such as `<0123456789abcdef0123456789abcdef@example.com>`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether the text can stand behind the `@`: names of letters, digits and hyphens, with dots between them.
pub(crate) fn is_domain(text: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !name.starts_with('-')
            && !name.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_shows_nothing_of_the_key_and_is_never_another_one() {
        let id = MessageId::of("user:ada@example.org:welcome <1>", "shop.example");
        assert_eq!(id.as_str(), "<fb351b5daf587f9aa5aa4f808feef6fa@shop.example>");
        assert_ne!(id, MessageId::of("user:ada@example.org:welcome <2>", "shop.example"));
    }

    #[test]
    fn a_domain_is_made_of_names() {
        assert!(is_domain("shop.example") && is_domain("localhost") && is_domain("xn--bcher-kva.example"));
        for refused in
            ["", ".example", "shop..example", "shop.example.", "-a.example", "a b", "a>b", "bücher.example"]
        {
            assert!(!is_domain(refused), "{refused:?}");
        }
    }
}
