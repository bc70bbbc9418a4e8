//! Whether the store is a restored backup, and whether workers would notice.

use std::path::Path;

use ratchet::Ratchet;
use ratchet::ledger::{HighWaterFile, StoreMark};

use super::Finding;
use crate::error::Error;

const CHECK: &str = "restored backup";

const BEHIND: &str = "what was sent after the backup was taken is pending in it, and would be sent again";

const ACKNOWLEDGE: &str = "look at what the destinations have, cancel or reconcile what was done already, and then run \
    `ratchet acknowledge-restore`";

pub(super) async fn check(named: Option<&Path>, ratchet: &Ratchet) -> Result<Finding, Error> {
    let beside = ratchet.ledger().high_water_file();
    let file = named.map(HighWaterFile::new).or_else(|| beside.clone());
    // Before the store is asked, whose mark workers raise meanwhile.
    let known = file.as_ref().map(HighWaterFile::load);
    let store = ratchet.ledger().mark().await?;
    if let Some(since) = store.held_since {
        let found = format!("workers hold back since {since}");
        return Ok(Finding::attention(CHECK, found, BEHIND, ACKNOWLEDGE));
    }
    Ok(match (file, known) {
        (Some(_), Some(Ok(Some(known)))) if store.mark < known => {
            let found = format!("the store is at {}, workers have seen {known}", store.mark);
            Finding::attention(CHECK, found, BEHIND, ACKNOWLEDGE)
        }
        (Some(file), Some(Ok(Some(_)))) => kept(&file, beside.as_ref(), &store),
        (Some(file), Some(Err(error))) => Finding::attention(
            CHECK,
            format!("{} cannot be read: {error}", file.path().display()),
            "workers that cannot read it claim nothing",
            "give them and this user the right to read it, or name the right file with `--high-water-file`",
        ),
        _ => nothing_kept(named, &store),
    })
}

/// A mark that is taken along by whatever copies the store goes back together with it.
fn kept(file: &HighWaterFile, beside: Option<&HighWaterFile>, store: &StoreMark) -> Finding {
    let found = format!("none; the store is at {}", store.mark);
    if beside.is_none_or(|beside| beside.path() != file.path()) {
        return Finding::ok(CHECK, found);
    }
    Finding::unknown(
        CHECK,
        format!("{found}, and its high-water mark lies beside it"),
        "a backup of the whole folder or machine takes the mark along, and cannot be detected when it is restored",
        "keep the mark on another disk: `WorkerBuilder::high_water_file`, and `--high-water-file` here",
    )
}

fn nothing_kept(named: Option<&Path>, store: &StoreMark) -> Finding {
    if store.mark.raised == 0 {
        return Finding::unknown(
            CHECK,
            "cannot be detected: no worker keeps a high-water mark of this store",
            "after a backup is restored, workers send again what was sent since it was taken",
            "name a file that outlives the worker with `WorkerBuilder::high_water_file`",
        );
    }
    let here = if named.is_some() { "this file does not exist" } else { "it is not known where" };
    Finding::unknown(
        CHECK,
        format!("workers keep a high-water mark, and {here}; the store is at {}", store.mark),
        "only who knows the mark can tell whether the store is behind it; workers do at their start",
        "name their file with `--high-water-file`, on a machine that has it",
    )
}
