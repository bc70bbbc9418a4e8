//! What a worker does about named steps.

use ratchet_core::decide::{Answer, Command, Refusal};

use super::Protocol;
use super::arrive::outcome;
use super::scenario::Asking;
use super::world::{Finding, Job, Phase, Word, World};

impl Protocol {
    /// Where an attempt stands when one of its effects has ended so.
    pub(super) fn effect_ended(&self, job: &Job, said: Word) -> Phase {
        let is_asked = job.phase == Phase::Asking;
        match self.scenario.effects[job.effect].step {
            // A question that told nothing leaves the step as it is.
            Some(_) if !is_asked => Phase::StepEnded(said),
            _ => Phase::Ended(said),
        }
    }

    pub(super) fn enter_step(&self, world: &mut World, job: &mut Job) {
        let effect = &self.scenario.effects[job.effect];
        let Some(step) = effect.step.clone() else { return };
        if world.now >= job.until {
            job.phase = Phase::Ended(Word::NotApplied);
            return;
        }
        let command = Command::BeginStep {
            token: job.token,
            step,
            contract: effect.contract.terms(),
            reconciles: effect.asking != Asking::Nobody,
        };
        match self.apply(world, job.row, &command) {
            Ok(Answer::StepBegun) => job.phase = Phase::Entered,
            Ok(Answer::StepDone(_)) => self.after_step(job, Word::Done),
            Ok(Answer::AskAboutStep(_)) => job.phase = Phase::Asking,
            Err(Refusal::NotRepeatable(_)) => job.phase = Phase::Ended(Word::Unknown),
            _ => job.phase = Phase::Ended(Word::NotApplied),
        }
    }

    /// What was found out about an earlier entry.
    pub(super) fn conclude(&self, world: &mut World, job: &mut Job, finding: Finding) {
        match finding {
            Finding::Applied => job.phase = Phase::StepEnded(Word::Done),
            Finding::Closed => job.phase = Phase::StepEnded(Word::RefusedAfterLookup),
            Finding::OldCallsRefused => {
                let Some(step) = self.scenario.effects[job.effect].step.clone() else { return };
                let restarted = self.apply(world, job.row, &Command::RestartStep { token: job.token, step });
                job.phase = if restarted.is_ok() { Phase::Entered } else { Phase::Ended(Word::NotApplied) };
            }
        }
    }

    /// Writes the end of a step down. Where that is refused, the handler goes on all the same.
    pub(super) fn finish_step(&self, world: &mut World, job: &mut Job, said: Word) {
        if let Some(step) = self.scenario.effects[job.effect].step.clone() {
            let command = Command::FinishStep { token: job.token, step, outcome: outcome(said) };
            let _refused = self.apply(world, job.row, &command);
        }
        self.after_step(job, said);
    }

    /// The handler goes on to its next step, or passes the failure on.
    pub(super) fn after_step(&self, job: &mut Job, said: Word) {
        job.phase = match said {
            Word::Done if job.effect + 1 < self.scenario.effects.len() => {
                job.effect += 1;
                Phase::Started
            }
            // What was looked up about a step says nothing about the others.
            Word::RefusedAfterLookup => Phase::Ended(Word::Refused),
            said => Phase::Ended(said),
        };
    }
}
