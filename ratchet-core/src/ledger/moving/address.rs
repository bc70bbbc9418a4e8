//! The address of a store as others may read it.

/// The address of a store without what could be a name, a password or a parameter that holds one.
///
/// ```
/// use ratchet_core::ledger::moving::without_credentials;
///
/// assert_eq!(without_credentials("postgres://ada:secret@db.example/shop?sslmode=require"), "postgres://…@db.example/shop");
/// assert_eq!(without_credentials("sqlite:shop.db?mode=rw"), "sqlite:shop.db");
/// ```
#[must_use]
pub fn without_credentials(url: &str) -> String {
    if let Some(file) = url.strip_prefix("sqlite:") {
        let file = file.split_once('?').map_or(file, |(file, _)| file);
        return format!("sqlite:{file}");
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return "…".to_owned();
    };
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    let place = place.split_once('?').map_or(place, |(place, _)| place);
    if rest.contains('@') { format!("{scheme}://…@{place}") } else { format!("{scheme}://{place}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_without_credentials() {
        for (url, told) in [
            (
                "postgres://ada:secret@db.example:5432/shop?sslmode=require",
                "postgres://…@db.example:5432/shop",
            ),
            ("postgres://ada:se@cret@db/shop", "postgres://…@db/shop"),
            ("postgres://db/shop?password=secret", "postgres://db/shop"),
            ("sqlite:///var/lib/a@b.db?mode=rw", "sqlite:///var/lib/a@b.db"),
            ("secret", "…"),
        ] {
            assert_eq!(without_credentials(url), told);
        }
    }
}
