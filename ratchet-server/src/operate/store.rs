//! Which store and namespace a command is about.

use clap::Args;
use ratchet::{Namespace, Ratchet};

use crate::error::Error;

/// A store, whatever the namespace.
#[derive(Args)]
pub(crate) struct StoreAddress {
    /// The store: `sqlite:FILE` or `postgres://USER@HOST/DATABASE`.
    #[arg(
        long,
        env = "RATCHET_STORE",
        default_value = "sqlite:ratchet.db",
        hide_env_values = true,
        global = true
    )]
    store: String,
}

#[derive(Args)]
pub(crate) struct StoreArguments {
    #[command(flatten)]
    address: StoreAddress,
    /// The separate world of records to look into.
    #[arg(long, default_value = "default")]
    namespace: String,
}

impl StoreAddress {
    /// Opens a store that is there: a mistyped path must not become an empty store.
    pub(crate) async fn open(&self) -> Result<Ratchet, Error> {
        Ok(Ratchet::open(&existing(&self.store)).await?)
    }

    /// Opens the store, and makes it if there is none.
    pub(crate) async fn create(&self) -> Result<Ratchet, Error> {
        Ok(Ratchet::open(&self.store).await?)
    }
}

impl StoreArguments {
    /// Opens a store that is there, in the namespace.
    pub(crate) async fn open(&self) -> Result<Ratchet, Error> {
        let namespace = self.namespace()?;
        Ok(self.address.open().await?.in_namespace(namespace))
    }

    /// Opens the store, and makes it if there is none.
    pub(crate) async fn create(&self) -> Result<Ratchet, Error> {
        let namespace = self.namespace()?;
        Ok(self.address.create().await?.in_namespace(namespace))
    }

    fn namespace(&self) -> Result<Namespace, Error> {
        Ok(Namespace::new(self.namespace.as_str())?)
    }
}

/// The address of a store that is not to be made.
pub(crate) fn existing(url: &str) -> String {
    let is_file = url.starts_with("sqlite:") && !url.contains("mode=");
    let separator = if url.contains('?') { '&' } else { '?' };
    if is_file { format!("{url}{separator}mode=rw") } else { url.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_opened_and_not_made() {
        assert_eq!(existing("sqlite:shop.db"), "sqlite:shop.db?mode=rw");
        assert_eq!(existing("sqlite:shop.db?cache=private"), "sqlite:shop.db?cache=private&mode=rw");
        assert_eq!(existing("sqlite:shop.db?mode=ro"), "sqlite:shop.db?mode=ro");
        assert_eq!(existing("postgres://h/shop"), "postgres://h/shop");
    }
}
