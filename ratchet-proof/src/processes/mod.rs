//! Real processes that submit and execute on one store, and what they leave behind when something happens to them.

mod bench;
mod child;
mod judge;
mod marks;
mod operations;
mod plant;
mod process;
mod steady;
mod till;

pub(crate) use bench::{Bench, Broken, block_on};
pub use child::Child;
pub(crate) use child::{all_ended, enqueue, enqueue_early, work_undisturbed};
pub(crate) use judge::{Findings, definite, state_of};
pub(crate) use process::{Process, is_stopped_soon};
pub(crate) use steady::Sample;
pub use steady::Steady;
