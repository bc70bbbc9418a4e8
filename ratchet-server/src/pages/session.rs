//! Who is signed in. Sessions live in memory: a restart of the server, like their end, asks for the key again.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ratchet::Fingerprint;

use super::operator::Operator;

/// How long a session lasts, whatever is done in it.
pub(super) const LASTS: Duration = Duration::from_hours(8);

/// More than this many people are not at work at once; the oldest session makes room.
const MOST: usize = 1_000;

/// A person who signed in with an operator's key.
#[derive(Clone)]
pub(super) struct Session {
    pub(super) operator: Operator,
    /// What a form of this session carries, which other sites cannot know.
    pub(super) form_token: Secret,
    began: Instant,
}

/// Open sessions by the digest of their cookie: whoever sees the memory of the server does not see the cookies.
#[derive(Default)]
pub(super) struct Sessions {
    open: Mutex<HashMap<Fingerprint, Session>>,
}

impl Sessions {
    /// Opens a session and gives its cookie.
    pub(super) fn open(&self, operator: Operator, now: Instant) -> Result<Secret, NoRandomness> {
        let (cookie, form_token) = (Secret::random()?, Secret::random()?);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, session| !session.is_over(now));
        if open.len() >= MOST {
            let oldest = open.iter().min_by_key(|(_, session)| session.began).map(|(digest, _)| *digest);
            oldest.and_then(|digest| open.remove(&digest));
        }
        open.insert(cookie.digest(), Session { operator, form_token, began: now });
        Ok(cookie)
    }

    /// The session of a cookie, if it is not over.
    pub(super) fn find(&self, cookie: &str, now: Instant) -> Option<Session> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(&Fingerprint::of(cookie.as_bytes())).filter(|session| !session.is_over(now)).cloned()
    }

    pub(super) fn close(&self, cookie: &str) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&Fingerprint::of(cookie.as_bytes()));
    }
}

impl Session {
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.began) >= LASTS
    }
}

/// 256 random bits as text. `Debug` does not show them.
#[derive(Clone)]
pub(super) struct Secret(String);

/// The operating system gives no random bits.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gives no random numbers, which a session needs; try again")]
pub(super) struct NoRandomness;

impl Secret {
    fn random() -> Result<Self, NoRandomness> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
        Ok(Self(Fingerprint::from_bytes(bytes).to_string()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares digests, whose common beginnings say nothing about the secret.
    pub(super) fn is(&self, given: &str) -> bool {
        self.digest() == Fingerprint::of(given.as_bytes())
    }

    fn digest(&self) -> Fingerprint {
        Fingerprint::of(self.0.as_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::auth::Grant;

    fn ada() -> Operator {
        Operator { name: "ada".to_owned(), grant: Grant::of_operator() }
    }

    #[test]
    fn a_session_ends_by_itself_or_on_request() {
        let sessions = Sessions::default();
        let began = Instant::now();
        let cookie = sessions.open(ada(), began).unwrap();
        let found = sessions.find(cookie.as_str(), began + Duration::from_secs(8 * 3_600 - 1)).unwrap();
        assert_eq!(found.operator.name, "ada");
        assert!(!found.form_token.is(cookie.as_str()) && !found.form_token.is(""));
        assert!(sessions.find(cookie.as_str(), began + LASTS).is_none());
        assert!(sessions.find("", began).is_none());
        sessions.close(cookie.as_str());
        assert!(sessions.find(cookie.as_str(), began).is_none());
    }

    #[test]
    fn the_oldest_session_makes_room() {
        let sessions = Sessions::default();
        let began = Instant::now();
        let open = |after| sessions.open(ada(), began + Duration::from_secs(after)).unwrap();
        let (first, second) = (open(0), open(1));
        for after in 2..=1_000 {
            open(after);
        }
        let is_open = |cookie: &Secret| sessions.find(cookie.as_str(), began).is_some();
        assert_eq!((is_open(&first), is_open(&second)), (false, true));
    }
}
