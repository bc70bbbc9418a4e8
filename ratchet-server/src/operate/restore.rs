//! `ratchet acknowledge-restore`: workers go on after a backup was restored.

use clap::Args;
use ratchet::Ratchet;

use super::consent::Consent;
use super::output;
use crate::error::Error;

#[derive(Args)]
pub(crate) struct AcknowledgeArguments {
    #[command(flatten)]
    consent: Consent,
}

pub(crate) async fn acknowledge(arguments: &AcknowledgeArguments, ratchet: &Ratchet) -> Result<(), Error> {
    let consent = &arguments.consent;
    consent.ask(
        "Workers go on with what this store holds as pending. What was sent after the backup was taken is sent again, and \
         has a second effect where the destination does not recognise it.",
    )?;
    let after = ratchet.acknowledge_restore(&consent.by(), consent.reason()).await?;
    output::write(|out| writeln!(out, "acknowledged at {}; workers go on", after.mark.epoch))
}
