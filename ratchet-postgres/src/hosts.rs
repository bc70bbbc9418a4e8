//! The servers that an address names, and which of them was the primary last.

use std::io;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;

/// What stands in an address of the form `postgres://USER@ONE:PORT,OTHER:PORT/DATABASE`.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    each: Vec<PgConnectOptions>,
    /// Whether a server that only follows another one is refused.
    pub(crate) only_primary: bool,
    primary: Arc<AtomicUsize>,
}

impl Hosts {
    pub(crate) fn len(&self) -> usize {
        self.each.len()
    }

    pub(crate) fn at(&self, place: usize) -> &PgConnectOptions {
        &self.each[place % self.each.len()]
    }

    /// The place of the one that was the primary when somebody connected last.
    pub(crate) fn primary(&self) -> usize {
        self.primary.load(Ordering::Relaxed)
    }

    pub(crate) fn found_primary(&self, place: usize) {
        self.primary.store(place, Ordering::Relaxed);
    }
}

impl FromStr for Hosts {
    /// Why the address is none.
    type Err = &'static str;

    fn from_str(url: &str) -> Result<Self, &'static str> {
        let (url, wish) = without_target(url)?;
        let each: Result<Vec<PgConnectOptions>, _> =
            each_alone(&url).iter().map(|url| PgConnectOptions::from_str(url)).collect();
        let each =
            each.map_err(|_| "it is no address of the form `postgres://USER:PASSWORD@HOST:PORT/DATABASE`")?;
        let only_primary = wish || each.len() > 1;
        let each = each.into_iter().map(named).collect();
        Ok(Self { each, only_primary, primary: Arc::default() })
    }
}

fn named(options: PgConnectOptions) -> PgConnectOptions {
    let options = match options.get_application_name() {
        Some(_) => options,
        None => options.application_name("ratchet"),
    };
    options.disable_statement_logging()
}

/// Takes `target_session_attrs` out, which other drivers know; gives whether it asks for a primary.
fn without_target(url: &str) -> Result<(String, bool), &'static str> {
    let Some((place, parameters)) = url.split_once('?') else { return Ok((url.to_owned(), false)) };
    let mut is_wanted = false;
    let mut others = Vec::new();
    for parameter in parameters.split('&') {
        match parameter.strip_prefix("target_session_attrs=") {
            None => others.push(parameter),
            Some("primary" | "read-write") => is_wanted = true,
            Some(_) => {
                return Err(
                    "only `primary` or `read-write` can be its `target_session_attrs`: records are read from the primary alone",
                );
            }
        }
    }
    Ok((format!("{place}?{}", others.join("&")), is_wanted))
}

/// The same address for each of its hosts.
fn each_alone(url: &str) -> Vec<String> {
    let Some((scheme, rest)) = url.split_once("://") else { return vec![url.to_owned()] };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, behind) = rest.split_at(end);
    let (who, hosts) = authority
        .rsplit_once('@')
        .map_or(("", authority), |(_, hosts)| authority.split_at(authority.len() - hosts.len()));
    hosts.split(',').map(|host| format!("{scheme}://{who}{host}{behind}")).collect()
}

/// What a standby is answered with that is not to be read.
pub(crate) fn is_standby() -> sqlx::Error {
    let text = "no server of this address is the primary at the moment: the others only follow, and what was acknowledged may \
                be missing there";
    sqlx::Error::Io(io::Error::new(io::ErrorKind::NotConnected, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(url: &str) -> Vec<(String, u16)> {
        let hosts: Hosts = url.parse().expect("an address");
        let place = |options: &PgConnectOptions| (options.get_host().to_owned(), options.get_port());
        hosts.each.iter().map(place).collect()
    }

    #[test]
    fn each_host_has_its_port_and_shares_the_rest() {
        let one = |host: &str, port| (host.to_owned(), port);
        assert_eq!(
            places("postgres://ada:x@one:1,two:2,three/shop?sslmode=disable"),
            [one("one", 1), one("two", 2), one("three", 5432)]
        );
        assert_eq!(places("postgres://one/shop"), [one("one", 5432)]);
        let hosts: Hosts = "postgres://ada:x@one:1,two:2/shop".parse().expect("an address");
        for place in 0..2 {
            assert_eq!(hosts.at(place).get_username(), "ada");
            assert_eq!(hosts.at(place).get_database(), Some("shop"));
        }
    }

    #[test]
    fn several_hosts_or_a_wish_insist_on_the_primary() {
        let insists = |url: &str| url.parse::<Hosts>().map(|hosts| hosts.only_primary);
        assert_eq!(insists("postgres://one/shop"), Ok(false));
        assert_eq!(insists("postgres://one,two/shop"), Ok(true));
        assert_eq!(insists("postgres://one/shop?target_session_attrs=read-write"), Ok(true));
        assert_eq!(insists("postgres://one/shop?sslmode=disable&target_session_attrs=primary"), Ok(true));
        for refused in ["any", "standby", "prefer-standby", "read-only"] {
            assert!(insists(&format!("postgres://one,two/shop?target_session_attrs={refused}")).is_err());
        }
    }
}
