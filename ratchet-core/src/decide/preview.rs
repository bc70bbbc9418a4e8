//! What a replay would do, for the person who is about to ask for one.

use super::command::{Answer, Command, Refusal};
use super::{Jitter, Moment, decide};
use crate::model::{Effect, Record, StepName};
use crate::time::Timestamp;

/// What is known about a record before it is replayed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReplayPreview {
    /// What follows from a replay that accepts no risk.
    pub decision: Result<Answer, Refusal>,
    /// The effects that some attempt may have had and nobody confirmed.
    pub unconfirmed: Vec<UnconfirmedEffect>,
}

/// An effect that may have happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UnconfirmedEffect {
    /// Of which step; `None` for the handler's own.
    pub step: Option<StepName>,
    /// When the destination may first have seen its identity.
    pub first_sent_at: Option<Timestamp>,
    /// Until when the destination recognises a repeated request; `None` if it never does.
    pub recognised_until: Option<Timestamp>,
    /// Until when the policy allows sends that nobody asked about.
    pub blind_sends_until: Option<Timestamp>,
    /// Whether what was sent first is on record, so that exactly it is sent again.
    pub pinned: bool,
    /// Whether the handler, as it last entered the step, asks the destination before it sends anything.
    pub asked_first: bool,
}

/// Foretells a replay of `record` at `now`.
///
/// ```
/// # use ratchet_core::decide::preview_replay;
/// # fn show(record: &ratchet_core::Record, now: ratchet_core::Timestamp) {
/// match preview_replay(record, now).decision {
///     Ok(_) => println!("safe: the destination recognises what it has seen"),
///     Err(refusal) => println!("{refusal}"),
/// }
/// # }
/// ```
#[must_use]
pub fn preview_replay(record: &Record, now: Timestamp) -> ReplayPreview {
    let replay = Command::Replay {
        by: String::new(),
        reason: String::new(),
        accept_risk: false,
        at_most: None,
        seen: None,
    };
    let decision = decide(record, &replay, Moment { now, jitter: Jitter::MIDDLE });
    let steps = record.steps.iter().map(|(name, step)| (Some(name), &step.effect));
    let effects = std::iter::once((None, &record.effect)).chain(steps);
    let unconfirmed = effects.filter(|(_, effect)| effect.may_be_applied);
    ReplayPreview {
        decision: decision.map(|decision| decision.answer),
        unconfirmed: unconfirmed
            .map(|(step, effect)| unconfirmed_effect(record, step, effect, now))
            .collect(),
    }
}

fn unconfirmed_effect(
    record: &Record,
    step: Option<&StepName>,
    effect: &Effect,
    now: Timestamp,
) -> UnconfirmedEffect {
    let first_sent_at = effect.first_sent_at();
    let reconciles = step.and_then(|name| record.steps.get(name)).is_some_and(|step| step.reconciles);
    UnconfirmedEffect {
        step: step.cloned(),
        first_sent_at,
        recognised_until: first_sent_at.and_then(|sent| effect.contract.window_end(sent)),
        blind_sends_until: super::settle::horizon_end(effect, &record.policy.retry),
        pinned: effect.pin.is_some(),
        asked_first: reconciles && super::settle::repeatable(effect, reconciles, record, now).is_err(),
    }
}
