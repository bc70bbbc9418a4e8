//! Where a destination looks for the identity of a request.

use std::fmt;

use super::terms::MechanismKind;

/// Where a destination looks for the identity of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mechanism {
    /// Nowhere: every request is a new action.
    None,
    /// In an HTTP header of this name.
    Header(&'static str),
    /// In a member of the JSON body; dots lead into objects, such as `headers.idempotencyKey`.
    BodyField(&'static str),
    /// In this parameter of the URL's query.
    QueryParameter(&'static str),
    /// In a table beside the effect, in one transaction with it: the effect is in a database of the operation's own.
    Database,
    /// Every effect of the handler stands inside a named step, and each step has a contract of its own.
    Steps,
}

impl Mechanism {
    /// What kind it is.
    #[must_use]
    pub const fn kind(&self) -> MechanismKind {
        match self {
            Self::None => MechanismKind::None,
            Self::Header(_) => MechanismKind::Header,
            Self::BodyField(_) => MechanismKind::BodyField,
            Self::QueryParameter(_) => MechanismKind::QueryParameter,
            Self::Database => MechanismKind::Database,
            Self::Steps => MechanismKind::Steps,
        }
    }

    /// Whether a request carries an identity.
    #[must_use]
    pub const fn carries_key(&self) -> bool {
        matches!(self, Self::Header(_) | Self::BodyField(_) | Self::QueryParameter(_))
    }

    /// The name of the header, field or parameter.
    #[must_use]
    pub const fn name(&self) -> Option<&'static str> {
        match self {
            Self::Header(name) | Self::BodyField(name) | Self::QueryParameter(name) => Some(name),
            Self::None | Self::Database | Self::Steps => None,
        }
    }
}

impl fmt::Display for Mechanism {
    /// The place of the key, as pins show it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Header(name) => write!(f, "header {}", name.to_ascii_lowercase()),
            Self::BodyField(path) => write!(f, "field {path}"),
            Self::QueryParameter(name) => write!(f, "parameter {name}"),
            Self::Database => f.write_str("database"),
            Self::Steps => f.write_str("steps"),
        }
    }
}

/// Stops the compiler where a text is no token of RFC 9110.
pub(super) const fn require_header_name(name: &str) {
    assert!(
        is_header_name(name),
        "this is no name of an HTTP header; it is made of letters, digits and `-`, such as `Idempotency-Key`"
    );
}

/// Stops the compiler where a text does not lead to a member of a JSON document.
pub(super) const fn require_path(path: &str) {
    let bytes = path.as_bytes();
    let (mut at, mut segment) = (0, 0);
    while at < bytes.len() {
        segment = if bytes[at] == b'.' && segment > 0 { 0 } else { segment + 1 };
        assert!(
            bytes[at] != b'.' || segment == 0,
            "names of fields are not empty: `headers.idempotencyKey` leads to a field inside another one"
        );
        at += 1;
    }
    assert!(segment > 0, "the name of a field is not empty and does not end with a dot");
}

const fn is_header_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let sound = bytes[at].is_ascii_alphanumeric()
            || matches!(
                bytes[at],
                b'!' | b'#'
                    | b'$'
                    | b'%'
                    | b'&'
                    | b'\''
                    | b'*'
                    | b'+'
                    | b'-'
                    | b'.'
                    | b'^'
                    | b'_'
                    | b'`'
                    | b'|'
                    | b'~'
            );
        if !sound {
            return false;
        }
        at += 1;
    }
    !bytes.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_a_name() {
        assert!(is_header_name("Idempotency-Key") && is_header_name("x_request.id"));
        for refused in ["", "bad header", "bad\n", "key:", "schlüssel"] {
            assert!(!is_header_name(refused), "{refused:?}");
        }
    }

    #[test]
    fn a_path_has_no_empty_name() {
        for path in ["idempotency_key", "headers.idempotencyKey", "a.0.b"] {
            require_path(path);
        }
        for refused in ["", ".", ".a", "a.", "a..b"] {
            assert!(std::panic::catch_unwind(|| require_path(refused)).is_err(), "{refused:?}");
        }
    }
}
