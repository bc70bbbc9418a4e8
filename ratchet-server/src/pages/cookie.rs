//! The cookie of a session. Browsers keep a `Secure` one over HTTPS alone, and take one whose name begins with `__Host-` from
//! no other host. The machine of the server itself, without a proxy, is the exception: there is nothing to listen to.

use axum::http::{HeaderMap, header};

use super::session::LASTS;

const SECURE: &str = "__Host-ratchet_session";
const PLAIN: &str = "ratchet_session";

/// What has the browser keep a session; an empty secret has it forget the one that it has.
pub(super) fn set(headers: &HeaderMap, secret: &str) -> String {
    let is_https = text(headers, "origin").starts_with("https://");
    let (name, secure) = if is_plain(headers) && !is_https { (PLAIN, "") } else { (SECURE, "; Secure") };
    let seconds = if secret.is_empty() { 0 } else { LASTS.as_secs() };
    format!("{name}={secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}")
}

/// The secret that the browser has kept. Where there may be HTTPS, other hosts could have set the plain one.
pub(super) fn find(headers: &HeaderMap) -> Option<&str> {
    let named = |wanted: &str| {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value)
    };
    named(SECURE).or_else(|| named(PLAIN).filter(|_| is_plain(headers)))
}

/// Whether the browser is on this machine and nothing says that a proxy is between them, which may call the server by the
/// address of this machine too.
fn is_plain(headers: &HeaderMap) -> bool {
    let host = text(headers, "host");
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let is_here = matches!(name, "localhost" | "127.0.0.1" | "[::1]");
    let is_forwarded = ["forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "via"];
    let by_proxy = is_forwarded.iter().any(|name| headers.contains_key(*name));
    is_here && !by_proxy
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn only_a_browser_on_this_machine_is_given_a_plain_one() {
        let plain = "ratchet_session=s; HttpOnly; SameSite=Strict; Path=/; Max-Age=28800";
        let secure = "__Host-ratchet_session=s; HttpOnly; SameSite=Strict; Path=/; Max-Age=28800; Secure";
        let here = ("host", "127.0.0.1:8080");
        for (pairs, expected) in [
            (vec![here], plain),
            (vec![("host", "localhost"), ("origin", "http://localhost")], plain),
            (vec![("host", "[::1]:8080")], plain),
            (vec![("host", "ops.example")], secure),
            (vec![("host", "localhost.evil.example")], secure),
            (vec![], secure),
            // Behind a proxy that calls the server by its own address.
            (vec![here, ("origin", "https://ops.example")], secure),
            (vec![here, ("x-forwarded-proto", "https")], secure),
            (vec![here, ("forwarded", "proto=https")], secure),
        ] {
            assert_eq!(set(&headers(&pairs), "s"), expected, "{pairs:?}");
        }
        let gone = "__Host-ratchet_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0; Secure";
        assert_eq!(set(&headers(&[("host", "ops.example")]), ""), gone);
    }

    #[test]
    fn the_cookie_is_found_among_others_and_not_taken_from_other_hosts() {
        let found = |host, line| find(&headers(&[("host", host), ("cookie", line)])).map(str::to_owned);
        let (here, there) = ("127.0.0.1:80", "ops.example");
        assert_eq!(found(here, "a=b; ratchet_session=abc; c=d").as_deref(), Some("abc"));
        assert_eq!(found(here, "xratchet_session=abc"), None);
        assert_eq!(found(there, "ratchet_session=tossed"), None);
        let both = "ratchet_session=tossed; __Host-ratchet_session=abc";
        assert_eq!(found(there, both).as_deref(), Some("abc"));
        assert_eq!(found(here, both).as_deref(), Some("abc"));
    }
}
