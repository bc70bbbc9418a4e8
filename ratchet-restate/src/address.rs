//! Where an engine is: `restate://host:8080,host2:8080?admin=host:9070`.

use ratchet_core::LedgerError;

/// Where calls go, and where questions go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// The ingress of each node, as `http://host:port`.
    pub(crate) ingress: Vec<String>,
    /// The admin address of each node that has one.
    pub(crate) admin: Vec<String>,
}

/// The port of the admin API unless it is said otherwise.
const ADMIN_PORT: u16 = 9070;

/// The port of the ingress unless it is said otherwise.
const INGRESS_PORT: u16 = 8080;

impl Address {
    /// Reads `restate://HOST[:PORT][,HOST[:PORT]…][?admin=HOST[:PORT][,…]]`; `restates:` is the same over TLS. Without
    /// `admin` it is port 9070 of the same hosts.
    ///
    /// # Errors
    /// [`LedgerError::Address`], which repeats nothing of the address but its scheme: it may hold credentials.
    pub(crate) fn parse(url: &str) -> Result<Self, LedgerError> {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| refused("restate", SHAPE))?;
        let http = match scheme {
            "restate" => "http",
            "restates" if cfg!(feature = "tls") => "https",
            "restates" => return Err(refused("restates", "TLS needs the feature `tls`")),
            _ => return Err(refused("restate", SHAPE)),
        };
        let (hosts, query) = rest.split_once('?').unwrap_or((rest, ""));
        let hosts = hosts.trim_end_matches('/');
        if hosts.is_empty() || hosts.contains(['/', '@', '#']) {
            return Err(refused(scheme, SHAPE));
        }
        let admin = match query.split_once('=') {
            Some(("admin", admin)) if !admin.is_empty() => each(admin, |host| with_port(host, ADMIN_PORT)),
            None if query.is_empty() => each(hosts, |host| with_port(without_port(host), ADMIN_PORT)),
            _ => return Err(refused(scheme, "the only parameter is `admin`")),
        };
        let ingress = each(hosts, |host| with_port(host, INGRESS_PORT));
        let full = |hosts: Vec<String>| hosts.into_iter().map(|host| format!("{http}://{host}")).collect();
        Ok(Self { ingress: full(ingress), admin: full(admin) })
    }
}

const SHAPE: &str = "an engine has an address like `restate://127.0.0.1:8080?admin=127.0.0.1:9070`";

fn refused(scheme: &str, why: &str) -> LedgerError {
    LedgerError::Address { url: format!("{scheme}:…"), why: why.to_owned() }
}

fn each(hosts: &str, of: impl Fn(&str) -> String) -> Vec<String> {
    hosts.split(',').map(of).collect()
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    }
}

fn with_port(host: &str, port: u16) -> String {
    if without_port(host) == host { format!("{host}:{port}") } else { host.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_the_engine_s_unless_said_otherwise() {
        let address = Address::parse("restate://one").unwrap();
        assert_eq!(address.ingress, ["http://one:8080"]);
        assert_eq!(address.admin, ["http://one:9070"]);
    }

    #[test]
    fn a_cluster_has_several_nodes() {
        let address = Address::parse("restate://one:1,[::1]:2?admin=three:3").unwrap();
        assert_eq!(address.ingress, ["http://one:1", "http://[::1]:2"]);
        assert_eq!(address.admin, ["http://three:3"]);
    }

    #[cfg(feature = "tls")]
    #[test]
    fn over_tls_both_are_https() {
        let address = Address::parse("restates://one").unwrap();
        assert_eq!(
            (address.ingress[0].as_str(), address.admin[0].as_str()),
            ("https://one:8080", "https://one:9070")
        );
    }

    #[cfg(not(feature = "tls"))]
    #[test]
    fn tls_is_refused_where_it_is_not_built_in() {
        let text = Address::parse("restates://one").unwrap_err().to_string();
        assert!(text.contains("the feature `tls`"), "{text}");
    }

    #[test]
    fn what_is_no_address_is_refused_without_being_repeated() {
        for url in
            ["restate:", "restate://", "restate://ada:secret@one", "restate://one?user=ada", "http://one"]
        {
            let text = Address::parse(url).unwrap_err().to_string();
            assert!(!text.contains("ada"), "{text}");
        }
    }
}
