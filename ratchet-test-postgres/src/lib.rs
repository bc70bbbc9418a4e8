//! A PostgreSQL server of their own for the tests of Ratchet: in a temporary folder, reached through a socket in it, with
//! everything synced to the disk as in production, and gone when the test program is gone, however that ends.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ratchet_test_postgres::shared();
//! let database = server.database().await;
//! println!("{}", database.url());
//! # Ok(()) }
//! ```
//!
//! It needs the programs `initdb` and `pg_ctl`, in the search path or where Debian puts them.
#![allow(clippy::missing_panics_doc, reason = "tests fail by panicking")]

mod bytes;
mod cluster;
mod database;
mod proxy;
mod server;

pub use bytes::{Direction, End};
pub use cluster::{Cluster, Replication};
pub use database::Database;
pub use proxy::{Fault, Proxy};
pub use server::{Server, shared};
