//! What must be so after a simulated life, whatever went wrong in it.

use ratchet_core::{Record, State, StepName};

use super::life::Life;
use crate::told::nothing_but_finished_steps;

/// What was found wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// Acknowledged submissions that are gone.
    pub lost: u64,
    /// Second effects.
    pub doubled: u64,
    /// Changes by superseded attempts.
    pub stale_accepted: u64,
    /// All of it in words.
    pub findings: Vec<String>,
}

/// Whether nobody has to do anything about a record. One that is asked about by itself is not at its end while it is
/// uncertain.
pub(super) fn is_ended(record: &Record) -> bool {
    record.state.is_settled() && !(record.state == State::Uncertain && record.policy.reconciles)
}

impl Verdicts {
    pub(super) async fn of(life: &Life, ended: bool) -> Self {
        let mut verdicts = Self { stale_accepted: life.network.stale_accepted(), ..Self::default() };
        if verdicts.stale_accepted > 0 {
            verdicts.find("a superseded attempt changed a record");
        }
        for id in &life.acknowledged {
            if life.find(id).await.is_none() {
                verdicts.lost += 1;
                verdicts.find(format!("{} was acknowledged and is gone", id.key.as_str()));
            }
        }
        let records = life.records().await;
        if !ended {
            let open = records.iter().filter(|record| !is_ended(record));
            let open: Vec<String> =
                open.map(|record| format!("{} is {}", record.id.key.as_str(), record.state)).collect();
            verdicts.find(format!("not everything ended: {}", open.join(", ")));
        }
        for record in &records {
            verdicts.judge(life, record);
        }
        verdicts
    }

    fn find(&mut self, what: impl Into<String>) {
        self.findings.push(what.into());
    }

    fn judge(&mut self, life: &Life, record: &Record) {
        let key = |step: Option<&StepName>| record.id.as_text(step).unwrap_or_default();
        let own = u64::from(life.bank.effects(&key(None)));
        let steps: Vec<u64> =
            record.steps.keys().map(|step| life.bank.effects(&key(Some(step))).into()).collect();
        let name = format!("{} ({})", key(None), record.state);
        for effects in steps.iter().copied().chain([own]).filter(|effects| *effects > 1) {
            self.doubled += effects - 1;
            self.find(format!("{name} had its effect {effects} times"));
        }
        let has_steps = record.id.operation.as_str() == "order";
        let happened =
            if has_steps { steps.len() == 2 && steps.iter().all(|effects| *effects > 0) } else { own > 0 };
        let wrong = match record.state {
            State::Succeeded => !happened,
            // An order may have been paid for, and even shipped, before its last attempt was lost: its steps say so.
            State::Failed | State::Exhausted | State::Cancelled => {
                !nothing_but_finished_steps(record, own, &steps)
            }
            State::Uncertain => record.uncertainty.is_none(),
            _ => false,
        };
        if wrong {
            self.find(format!("{name} does not say what happened: {own} {steps:?}"));
        }
    }
}
