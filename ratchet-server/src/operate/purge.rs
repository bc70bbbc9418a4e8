//! `ratchet purge`: what is settled for long enough becomes a tombstone, in bounded batches.

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use ratchet::Ratchet;

use super::{consent, output};
use crate::error::Error;

#[derive(Args)]
pub(crate) struct PurgeArguments {
    /// How many records one transaction takes.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    batch: u16,
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
    let purged = ratchet.purge(usize::from(arguments.batch), |so_far| bar.set_position(so_far)).await?;
    bar.finish_and_clear();
    output::write(|out| writeln!(out, "{purged} purged"))
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {pos} purged, {per_sec}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
}
