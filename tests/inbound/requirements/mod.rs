//! The seventeen requirements that the public faults of such layers add up to, one test for each. The last one, claim and
//! effect and result in one transaction, is in `crash.rs`.

mod answer;
mod claim;
mod identity;
mod store;

use super::service::{Service, plain, problem};

/// The key is known, and nobody knows how it ended.
fn outcome_unknown() -> (u16, String, String) {
    problem(409, "outcome-unknown", "unknown")
}

fn in_flight() -> (u16, String, String) {
    problem(409, "in-flight", "in_flight")
}

/// A service that answers `charge N` the Nth time.
async fn charges() -> Service {
    Service::new(|layer| layer, async |call| plain(201, format!("charge {}", call.number))).await
}
