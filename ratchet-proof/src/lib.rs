//! Models and simulations that try to break the promise of Ratchet.
//!
//! With a destination that deduplicates, every accepted operation has exactly one effect or a record that says plainly what
//! is unknown; nothing accepted is lost; no superseded worker changes anything. Each [`Suite`] tries to find a case where
//! that is not so, and must notice the bugs that are planted for it.

use std::path::Path;

mod cases;
mod clock;
mod crash;
mod disk;
mod model;
mod planted;
mod power;
mod processes;
mod server;
mod simulation;
mod soak;
mod stale;
mod suite;
pub mod table;
mod told;
mod volumes;
mod way;

pub use clock::ClockSuite;
pub use crash::{CrashSuite, StoreKind};
pub use disk::DiskSuite;
pub use model::{Bounds, ModelSuite};
pub use planted::Mutation;
pub use power::PowerSuite;
pub use processes::{Child, Steady};
pub use server::{ByteSuite, ServerSuite};
pub use simulation::{Incident, Lived, Script, SimulationSuite, Verdicts, live, shrink};
pub use soak::SoakSuite;
pub use suite::{Effort, Planted, Report, Suite, run, run_all};

/// Every suite, in the order in which they run. `program` is that of this crate, which some of them start again.
#[must_use]
pub fn suites(program: &Path) -> Vec<Box<dyn Suite>> {
    let crash = |kind| Box::new(CrashSuite::new(program.to_owned(), kind));
    vec![
        Box::new(ModelSuite),
        Box::new(SimulationSuite),
        crash(StoreKind::Sqlite),
        crash(StoreKind::Postgres),
        Box::new(ServerSuite::new(program.to_owned())),
        Box::new(ByteSuite::new(program.to_owned())),
        Box::new(PowerSuite::new(program.to_owned())),
        Box::new(DiskSuite::new(program.to_owned())),
        Box::new(ClockSuite::new(program.to_owned())),
        Box::new(SoakSuite::new(program.to_owned())),
    ]
}
