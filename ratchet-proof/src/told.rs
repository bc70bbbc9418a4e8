//! What a record without success tells of its effects.

use ratchet_core::{Record, StepState};

/// Whether nothing happened but what the steps say that are done. `own` is how often the handler had its own effect, and
/// `steps` how often each step had one, in the order of their names.
pub(crate) fn nothing_but_finished_steps(record: &Record, own: u64, steps: &[u64]) -> bool {
    let is_told = |(step, effects): (&ratchet_core::model::Step, &u64)| {
        (step.state == StepState::Done) == (*effects > 0)
    };
    own == 0 && record.steps.values().zip(steps).all(is_told)
}
