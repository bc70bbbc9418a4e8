//! How the store is set up, and whether its clock agrees with the one here.

use std::time::{Duration, SystemTime};

use ratchet::ledger::Setting;
use ratchet::ledger::moving::StoreStanding;
use ratchet::{Ratchet, Timestamp};

use super::Finding;
use crate::error::Error;

/// A difference of clocks that time services leave is nobody's problem.
const MOST_SKEW: Duration = Duration::from_secs(2);

pub(super) struct Checked {
    pub(super) findings: Vec<Finding>,
    /// What time it is in the store.
    pub(super) now: Timestamp,
}

pub(super) async fn check(ratchet: &Ratchet) -> Result<Checked, Error> {
    let before = here();
    let inspection = ratchet.ledger().inspect().await?;
    let after = here();
    let mut findings: Vec<Finding> = inspection.settings.iter().map(of_setting).collect();
    findings.push(of_clocks(before, inspection.now, after));
    findings.extend(of_standing(&ratchet.ledger().standing().await?));
    Ok(Checked { findings, now: inspection.now })
}

fn here() -> Timestamp {
    SystemTime::now().into()
}

fn of_setting(setting: &Setting) -> Finding {
    match setting.problem {
        None => Finding::ok(setting.name, setting.value.as_str()),
        Some(problem) => {
            Finding::attention(setting.name, setting.value.as_str(), problem.why, problem.remedy)
        }
    }
}

/// Only of a store that does not take work: most are part of no move.
fn of_standing(standing: &StoreStanding) -> Option<Finding> {
    let (why, remedy) = match standing {
        StoreStanding::Open { .. } => return None,
        StoreStanding::Moved { .. } => (
            "it is closed for ever, and nothing that it holds is executed",
            "connect to the store that it was moved to",
        ),
        _ => (
            "a move is under way or was interrupted, and nothing begins here",
            "run `ratchet move` again with both addresses; it goes on where it was, or back with `--back`",
        ),
    };
    Some(Finding::attention("move", format!("the store is {standing}"), why, remedy))
}

/// The store was asked between two readings of the clock here.
fn of_clocks(before: Timestamp, store: Timestamp, after: Timestamp) -> Finding {
    const CHECK: &str = "clocks";
    let (ahead, behind) = (store.since(after), before.since(store));
    let skew = ahead.max(behind);
    if skew <= MOST_SKEW {
        return Finding::ok(CHECK, format!("{} ms apart at least", skew.as_millis()));
    }
    let side = if ahead > behind { "ahead of" } else { "behind" };
    Finding::attention(
        CHECK,
        format!("the store is {} s {side} this machine", skew.as_secs()),
        "times that programs here compute, as when an action is due, mean another moment in the store",
        "have both machines follow a time server",
    )
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    const fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    #[test]
    fn clocks_agree_as_far_as_the_question_took_time() {
        for (store, found) in [
            (at(98), "2000 ms apart at least"),
            (at(104), "0 ms apart at least"),
            (at(112), "2000 ms apart at least"),
        ] {
            let finding = of_clocks(at(100), store, at(110));
            assert!(finding.state == Verdict::Ok, "{found}");
            assert_eq!(finding.found, found);
        }
        for (store, found) in [
            (at(97), "the store is 3 s behind this machine"),
            (at(170), "the store is 60 s ahead of this machine"),
        ] {
            let finding = of_clocks(at(100), store, at(110));
            assert!(finding.state == Verdict::Attention, "{found}");
            assert_eq!(finding.found, found);
        }
    }
}
