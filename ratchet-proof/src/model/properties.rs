//! What must hold in every world, judged by what the destination knows and the store does not.

use std::sync::atomic::Ordering;

use ratchet_core::decide::Stored;
use ratchet_core::{Record, State, StepState};
use stateright::Property;

use super::Protocol;
use super::world::{Account, World};

/// How many letters a run without faults may need until everything is settled; far more than any has needed.
const LONGEST_RECOVERY: usize = 300;

/// Which of the promises a property is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Promise {
    Doubled,
    Lost,
    Stale,
    Other,
}

pub(super) const ONE_EFFECT: &str = "at most one effect";
pub(super) const NOTHING_LOST: &str = "what is acknowledged stays on record";
pub(super) const NO_STALE_SETTLE: &str = "a superseded attempt changes nothing";

impl Promise {
    pub(super) fn of(property: &str) -> Self {
        match property {
            ONE_EFFECT => Self::Doubled,
            NOTHING_LOST => Self::Lost,
            NO_STALE_SETTLE => Self::Stale,
            _ => Self::Other,
        }
    }
}

pub(super) fn all(protocol: &Protocol) -> Vec<Property<Protocol>> {
    let mut properties = vec![
        Property::always(ONE_EFFECT, |model: &Protocol, world: &World| {
            has_one_each(world) || world.seen.risk_accepted || !model.scenario.has_one_effect()
        }),
        Property::always(NOTHING_LOST, |_, world: &World| is_on_record(world)),
        Property::always(NO_STALE_SETTLE, |_, world: &World| !world.seen.stale_accepted),
        Property::always("no blind send after the window", |_, world: &World| !world.seen.blind_send),
        Property::always("a key is never freed", |_, world: &World| !world.seen.key_freed),
        Property::always("an end says what happened", |_, world: &World| each(world, says_what_happened)),
        Property::always("an unknown effect is not forgotten", |_, world: &World| {
            each(world, remembers_unknown)
        }),
        Property::always("what is uncertain has a reason", |_, world: &World| each(world, has_a_reason)),
        Property::always("everything ends when faults stop", |model: &Protocol, world: &World| {
            !model.is_sampled(world) || model.ends_well(world.clone())
        }),
        Property::sometimes("an operation succeeds", |_, world: &World| {
            world.rows.iter().any(|row| row.state() == State::Succeeded)
        }),
        Property::sometimes("a superseded outcome is judged", |model: &Protocol, _| {
            model.judged_late.load(Ordering::Relaxed)
        }),
    ];
    properties.push(if protocol.scenario.effects.iter().any(|effect| effect.remembers.is_some()) {
        Property::sometimes("a repetition is recognised", |model: &Protocol, _| {
            model.absorbed.load(Ordering::Relaxed)
        })
    } else {
        Property::sometimes("an outcome is unknown", |_, world: &World| {
            world.rows.iter().any(|row| matches!(&**row, Stored::Record(record) if record.may_be_applied()))
        })
    });
    properties
}

fn has_one_each(world: &World) -> bool {
    world.accounts.iter().flatten().all(|account| account.effects <= 1)
}

fn each(world: &World, holds: fn(&Stored, &[Account]) -> bool) -> bool {
    world.seen.risk_accepted
        || world.rows.iter().zip(&world.accounts).all(|(row, accounts)| holds(row, accounts))
}

fn is_on_record(world: &World) -> bool {
    !world.seen.acknowledged || !world.rows.is_empty()
}

/// A success had its effect, and what ended without one has none, whatever arrives later.
fn says_what_happened(row: &Stored, accounts: &[Account]) -> bool {
    match row.state() {
        State::Succeeded => accounts.iter().all(|account| account.effects > 0),
        State::Failed | State::Exhausted | State::Cancelled => match row {
            Stored::Record(record) => nothing_but_finished_steps(record, accounts),
            // A tombstone has no steps.
            Stored::Tombstone(_) => accounts.len() > 1 || accounts.iter().all(|account| account.effects == 0),
        },
        _ => true,
    }
}

/// Whether nothing happened but what the record says of its steps; they are in the order of their names.
fn nothing_but_finished_steps(record: &Record, accounts: &[Account]) -> bool {
    let mut finished = record.steps.values().map(|step| step.state == StepState::Done);
    accounts.iter().all(|account| finished.next().unwrap_or(false) == (account.effects > 0))
}

/// While somebody may wait for it, an effect that happened counts as possible; and only what has an end becomes a tombstone.
fn remembers_unknown(row: &Stored, accounts: &[Account]) -> bool {
    match row {
        Stored::Record(record) => {
            let known = || nothing_but_finished_steps(record, accounts);
            record.state != State::Pending || record.may_be_applied() || known()
        }
        Stored::Tombstone(rest) => rest.state.is_settled() && rest.state != State::Uncertain,
    }
}

fn has_a_reason(row: &Stored, _: &[Account]) -> bool {
    match row {
        Stored::Record(record) => (record.state == State::Uncertain) == record.uncertainty.is_some(),
        Stored::Tombstone(_) => true,
    }
}

impl Protocol {
    /// Whether nothing goes wrong any more leads to an end of everything, and to a true one.
    fn ends_well(&self, mut world: World) -> bool {
        let mut actions = Vec::new();
        for _ in 0..LONGEST_RECOVERY {
            if self.is_over(&world) {
                let risky = world.seen.risk_accepted || !self.scenario.has_one_effect();
                return each(&world, says_what_happened) && (risky || has_one_each(&world));
            }
            actions.clear();
            self.calm(&world, &mut actions);
            let before = world.clone();
            let next = actions.iter().find_map(|action| self.step(before.clone(), *action));
            world = next.unwrap_or_else(|| World { now: before.now.saturating_add(1), ..before }.tidy());
        }
        false
    }

    fn is_over(&self, world: &World) -> bool {
        let mut actions = Vec::new();
        self.calm(world, &mut actions);
        let ends = |row: &Stored| match row.state() {
            State::Uncertain => !self.scenario.policy.reconciles,
            state => state.is_settled(),
        };
        actions.is_empty() && world.rows.iter().all(|row| ends(row))
    }
}
