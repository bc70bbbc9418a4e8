//! What happens to a `PostgreSQL` server and to the connections that lead to it.

mod bytes;
mod disturb;
mod wire;

use std::path::PathBuf;

use crate::cases::{self, Cases, Seen};
use crate::planted::Mutation;
use crate::processes::{Bench, Broken};
use crate::suite::{Effort, Report, Suite};

pub use bytes::ByteSuite;

/// Faults of servers under processes that work on `PostgreSQL`.
#[derive(Debug, Clone)]
pub struct ServerSuite {
    /// This program, which is started again with `child`.
    program: PathBuf,
}

impl ServerSuite {
    /// A suite whose processes are this program, the one of this crate.
    #[must_use]
    pub const fn new(program: PathBuf) -> Self {
        Self { program }
    }
}

impl Suite for ServerSuite {
    fn name(&self) -> &'static str {
        "postgres-faults"
    }

    fn what(&self) -> &'static str {
        "restarts, failovers, limits and locks of PostgreSQL"
    }

    fn run(&self, effort: Effort) -> Report {
        cases::run(self, effort)
    }
}

impl Cases for ServerSuite {
    fn name(&self) -> &'static str {
        Suite::name(self)
    }

    fn short(&self) -> u64 {
        12
    }

    fn planted(&self) -> &'static [Mutation] {
        &[Mutation::StandbyNotAwaited]
    }

    fn case(&self, number: u64, broken: Option<Mutation>) -> Result<Seen, Broken> {
        let bench = Bench::new(&self.program, broken)?;
        if broken.is_some() {
            return disturb::failover(bench, false);
        }
        match number % 3 {
            0 => disturb::restarts(bench),
            1 => disturb::failover(bench, true),
            _ => disturb::limits(bench),
        }
    }
}
