//! A database of one test.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{Connection as _, PgConnection};

use crate::Server;

/// An empty database, which another test gets after this value is dropped.
#[derive(Debug)]
pub struct Database<'a> {
    server: &'a Server,
    name: String,
}

impl Server {
    /// Makes an empty database, or empties one that a test has left, which is quicker.
    pub async fn database(&self) -> Database<'_> {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(name) = spare {
            empty(&self.url(&name)).await;
            return Database { server: self, name };
        }
        let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut connection = connect(&self.url("postgres")).await;
        execute(&mut connection, &format!("CREATE DATABASE {name}")).await;
        Database { server: self, name }
    }
}

async fn empty(url: &str) {
    const OTHERS: &str = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity \
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let mut connection = connect(url).await;
    for statement in [OTHERS, "DROP SCHEMA IF EXISTS ratchet, public CASCADE", "CREATE SCHEMA public"] {
        execute(&mut connection, statement).await;
    }
}

async fn connect(url: &str) -> PgConnection {
    PgConnection::connect(url).await.expect("a connection")
}

async fn execute(connection: &mut PgConnection, statement: &str) {
    let statement = sqlx::AssertSqlSafe(statement);
    sqlx::raw_sql(statement).execute(connection).await.expect("a statement of the tests");
}

impl Database<'_> {
    /// Its address, as the server's superuser.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url(&self.name)
    }

    /// Its address, as another role.
    #[must_use]
    pub fn url_as(&self, role: &str) -> String {
        self.server.url_as(role, &self.name)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A connection of the test's own.
    pub async fn connect(&self) -> PgConnection {
        connect(&self.url()).await
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        let name = std::mem::take(&mut self.name);
        self.server.spare.lock().unwrap_or_else(PoisonError::into_inner).push(name);
    }
}
