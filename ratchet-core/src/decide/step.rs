//! Steps: begun, asked about and finished inside a lease.

use super::command::{Answer, Decision, Refusal};
use super::lease::started;
use super::settle::repeatable;
use crate::contract::Terms;
use crate::model::{Effect, Outcome, Record, Step, StepName, StepState, Token};
use crate::time::Timestamp;

pub(super) fn begin(
    record: &Record,
    token: Token,
    name: &StepName,
    contract: &Terms,
    reconciles: bool,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    started(record, token)?;
    let mut entered = record.clone();
    let step = entered.steps.entry(name.clone()).or_insert_with(|| Step {
        state: StepState::Started,
        effect: Effect::new(contract.clone()),
        reconciles,
        result: None,
    });
    if step.state == StepState::Done {
        return Ok(Decision::new(record.clone(), Answer::StepDone(step.result.clone())));
    }
    // What may have happened is asked for again, to find out; nothing else is started.
    if record.cancel_requested && !step.effect.may_be_applied {
        return Err(Refusal::Cancelled);
    }
    // A destination that could be asked once is not sent a duplicate by code that has forgotten how.
    let can_be_asked = reconciles || step.reconciles;
    step.reconciles = reconciles;
    if step.effect.may_be_applied
        && let Err(why) = repeatable(&step.effect, can_be_asked, record, now)
    {
        if !reconciles {
            return Err(Refusal::NotRepeatable(why));
        }
        let ask = Answer::AskAboutStep(Box::new(step.effect.clone()));
        return Ok(Decision::new(entered, ask));
    }
    step.state = StepState::Started;
    step.effect.first_started_at.get_or_insert(now);
    Ok(Decision::new(entered, Answer::StepBegun))
}

/// Forgets what was sent, and enters the step: the next send opens a new window.
pub(super) fn restart(
    record: &Record,
    token: Token,
    name: &StepName,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    started(record, token)?;
    let mut entered = record.clone();
    let step = entered.steps.get_mut(name).filter(|step| step.effect.may_be_applied);
    let step = step.ok_or(Refusal::NoStep)?;
    step.state = StepState::Started;
    step.effect.may_be_applied = false;
    step.effect.first_started_at = Some(now);
    step.effect.pin = None;
    Ok(Decision::new(entered, Answer::StepBegun))
}

pub(super) fn finish(
    record: &Record,
    token: Token,
    name: &StepName,
    outcome: &Outcome,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    started(record, token)?;
    let mut finished = record.clone();
    let step = finished.steps.get_mut(name).ok_or(Refusal::NoStep)?;
    match outcome {
        _ if step.state == StepState::Done => {}
        Outcome::Done { result, .. } => {
            step.state = StepState::Done;
            step.effect.may_be_applied = false;
            step.result.clone_from(result);
        }
        Outcome::Rejected { after_lookup: true, .. } => {
            step.state = StepState::NotApplied;
            step.effect.may_be_applied = false;
        }
        Outcome::NotApplied { .. } | Outcome::Rejected { .. } if !step.effect.may_be_applied => {
            step.state = StepState::NotApplied;
        }
        _ => {
            step.state = StepState::Started;
            step.effect.may_be_applied = true;
            step.effect.first_started_at.get_or_insert(now);
        }
    }
    Ok(Decision::new(finished, Answer::StepFinished))
}
