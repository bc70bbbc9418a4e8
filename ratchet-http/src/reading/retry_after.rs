//! The header `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date.

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};

/// How long the destination asks to wait. A date is compared with the answer's own `Date`, so that a wrong clock on one
/// side does not matter.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More seconds than can be counted are as many as can be.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let until = date(text)?;
    let now = text_of(headers, &DATE).and_then(date);
    Some(until.duration_since(now.unwrap_or_else(SystemTime::now)).unwrap_or_default())
}

/// One of the three forms. The parser overlooks what stands between the fields of some of them.
fn date(text: &str) -> Option<SystemTime> {
    let shape: String = text.chars().map(|char| if char.is_ascii_digit() { '0' } else { char }).collect();
    let is_any = [" 0000 00:00:00 GMT", "-00 00:00:00 GMT", " 00 00:00:00 0000", "  0 00:00:00 0000"]
        .iter()
        .any(|end| shape.ends_with(end));
    if is_any { httpdate::parse_http_date(text).ok() } else { None }
}

fn text_of<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(HeaderName, &'static str)]) -> Option<Duration> {
        retry_after(&pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect())
    }

    #[test]
    fn reads_seconds_and_dates() {
        assert_eq!(of(&[(RETRY_AFTER, "120")]), Some(Duration::from_mins(2)));
        let date = (DATE, "Sun, 29 Nov 2026 15:00:00 GMT");
        assert_eq!(
            of(&[(RETRY_AFTER, "Sun, 29 Nov 2026 15:00:30 GMT"), date.clone()]),
            Some(Duration::from_secs(30))
        );
        assert_eq!(of(&[(RETRY_AFTER, "Sun, 29 Nov 2026 14:00:00 GMT"), date.clone()]), Some(Duration::ZERO));
        // The two obsolete forms, which a recipient has to read as well.
        assert_eq!(
            of(&[(RETRY_AFTER, "Sunday, 29-Nov-26 15:00:30 GMT"), date.clone()]),
            Some(Duration::from_secs(30))
        );
        assert_eq!(of(&[(RETRY_AFTER, "Sun Nov 29 15:00:30 2026"), date]), Some(Duration::from_secs(30)));
    }

    #[test]
    fn more_seconds_than_can_be_counted_are_as_many_as_can_be() {
        assert_eq!(of(&[(RETRY_AFTER, "99999999999999999999999")]), Some(Duration::from_secs(u64::MAX)));
    }

    #[test]
    fn ignores_what_it_cannot_read() {
        for text in ["", "soon", "-5", "+5", "1.5", "Sunday, 29-Nov-26115:00:30 GMT"] {
            assert_eq!(of(&[(RETRY_AFTER, text)]), None, "{text}");
        }
        assert_eq!(of(&[]), None);
    }
}
