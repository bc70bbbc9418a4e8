//! Two stores of a test, of either kind.

use ratchet::Ratchet;
use ratchet_test_postgres::Database;
use tempfile::TempDir;

/// A store that goes with the test.
pub(crate) struct Store {
    pub(crate) url: String,
    _room: Room,
}

enum Room {
    Folder { _folder: TempDir },
    Database { _database: Database<'static> },
}

impl Store {
    pub(crate) fn file() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("shop.db").display());
        Self { url, _room: Room::Folder { _folder: folder } }
    }

    pub(crate) async fn database() -> Self {
        let database = ratchet_test_postgres::shared().database().await;
        Self { url: database.url(), _room: Room::Database { _database: database } }
    }

    /// With connections of its own, as another process.
    pub(crate) async fn open(&self) -> Ratchet {
        Ratchet::open(&self.url).await.unwrap()
    }
}
