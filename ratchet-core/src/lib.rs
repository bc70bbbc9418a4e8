//! The operation model, the decision function, the ledger trait, the client and the worker of Ratchet.
//!
//! Most programs use the `ratchet` crate, which re-exports what they need from here.

pub mod contract;
pub mod decide;
pub mod ledger;
pub mod model;
pub mod policy;
pub mod random;
pub mod time;

pub use serde_json;

pub use contract::{Contract, Mechanism, Retention};
#[cfg(feature = "testing")]
pub use ledger::MemoryLedger;
#[cfg(feature = "testing")]
pub use ledger::conformance;
pub use ledger::{Ledger, LedgerError, SharedLedger};
pub use model::*;
pub use policy::{OnUnknown, Policy, RetryPolicy};
pub use ratchet_key::{Key, KeyError};
pub use time::{Clock, SystemClock, Timestamp};
