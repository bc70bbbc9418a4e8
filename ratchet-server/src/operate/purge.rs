//! `ratchet purge`: what is settled for long enough becomes a tombstone, in bounded batches.

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use ratchet::Ratchet;

use super::{consent, output};
use crate::error::Error;

#[derive(Args)]
pub(crate) struct PurgeArguments {
    /// How many records one transaction takes.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    batch: u32,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(arguments: &PurgeArguments, ratchet: &Ratchet) -> Result<(), Error> {
    consent::confirm(
        "Records that are settled for longer than their operation keeps them lose input, result and attempts.",
        arguments.yes,
    )?;
    let bar = ProgressBar::new_spinner().with_style(style());
    let limit = usize::try_from(arguments.batch).unwrap_or(1000);
    let mut purged = 0;
    loop {
        let batch = ratchet.ledger().purge(limit).await?;
        purged += batch;
        bar.set_position(u64::try_from(purged).unwrap_or(u64::MAX));
        if batch == 0 {
            break;
        }
    }
    bar.finish_and_clear();
    output::write(|out| writeln!(out, "{purged} purged"))
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {pos} purged, {per_sec}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
}
