//! `ratchet move`: a live store moves to another one, and nothing is sent twice.

use std::time::Duration;

use clap::Args;
use ratchet::Ratchet;
use ratchet::ledger::moving::{Move, Moved, Progress};

use super::store::existing;
use super::{consent, output};
use crate::error::Error;

#[derive(Args)]
pub(crate) struct MoveArguments {
    /// The store that is left: `sqlite:FILE` or `postgres://USER@HOST/DATABASE`.
    #[arg(long, env = "RATCHET_MOVE_FROM", hide_env_values = true)]
    from: String,
    /// The store that takes over: one that was never used.
    #[arg(long, env = "RATCHET_MOVE_TO", hide_env_values = true)]
    to: String,
    /// For how many seconds to wait until what runs has ended.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    wait: u64,
    /// How many things are carried at once.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u16).range(1..=5_000))]
    batch: u16,
    /// Take an unfinished move back: the store that was to be left takes work again.
    #[arg(long)]
    back: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(arguments: &MoveArguments) -> Result<(), Error> {
    let source = Ratchet::open(&existing(&arguments.from)).await?;
    let target = Ratchet::open(&arguments.to).await?;
    let the_move = Move {
        batch: usize::from(arguments.batch),
        wait: Duration::from_secs(arguments.wait),
        ..Move::new(source.ledger().clone(), target.ledger().clone(), &arguments.from, &arguments.to)
    };
    if arguments.back {
        the_move.take_back().await?;
        return tell(&format!("{} takes work again", the_move.from));
    }
    consent::confirm(
        &format!(
            "Nothing begins in {} any more, and when all is carried it stays closed for ever: programs have to connect to {}.",
            the_move.from, the_move.to
        ),
        arguments.yes,
    )?;
    let mut told = String::new();
    let tell_news = |step| {
        // A batch of what there is nothing of says nothing new.
        let words = words(&step);
        if words != told {
            drop(tell(&words));
            told = words;
        }
    };
    match the_move.run(tell_news).await? {
        Moved::Done => tell("moved"),
        Moved::Before => tell("moved already"),
    }
}

fn words(step: &Progress) -> String {
    match step {
        Progress::TargetClosed => "the new store takes nothing but what is carried into it".to_owned(),
        Progress::SourceClosed => "nothing begins in the old store any more".to_owned(),
        Progress::Waiting { leases } => format!("waiting for {leases} attempts that run"),
        Progress::SourceFrozen => "nothing changes in the old store any more".to_owned(),
        Progress::Carried { items } => format!("{items} carried"),
        Progress::Compared(sums) => format!("both stores hold the same: {sums}"),
        Progress::SourceLeft => "the old store is closed for ever".to_owned(),
        Progress::TargetOpened => "the new store takes work".to_owned(),
        _ => "went on".to_owned(),
    }
}

fn tell(line: &str) -> Result<(), Error> {
    output::write(|out| writeln!(out, "{line}"))
}
