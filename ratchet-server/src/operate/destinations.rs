//! `ratchet destinations`: what destinations are asked to take, and which of them work.

use clap::{Args, Subcommand};
use ratchet::admission::{Breaker, KnownGate, Reopening};
use ratchet::{DestinationName, Ratchet};
use serde::Serialize;

use super::consent::Consent;
use super::{output, table};
use crate::error::Error;

#[derive(Args)]
pub(crate) struct DestinationsArguments {
    #[command(subcommand)]
    act: Option<Act>,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Act {
    /// Has sends go on to a destination whose breaker is open, or that asked to wait.
    Reopen {
        /// Its name.
        name: String,
        #[command(flatten)]
        consent: Consent,
    },
}

/// Times are those that the gate was left with; one that is over means nothing any more.
#[derive(Serialize)]
struct ShownGate {
    destination: String,
    breaker: &'static str,
    failures: u32,
    open_until: Option<String>,
    paused_until: Option<String>,
    sends: usize,
    at_most: Option<u32>,
    rate: Option<String>,
    /// Who opened it by hand, when and why.
    reopened: Vec<Reopening>,
}

pub(crate) async fn run(arguments: &DestinationsArguments, ratchet: &Ratchet) -> Result<(), Error> {
    if let Some(Act::Reopen { name, consent }) = &arguments.act {
        return reopen(name, consent, ratchet).await;
    }
    let gates = ratchet.gates().await?;
    output::write(|out| {
        if arguments.json {
            return gates.iter().try_for_each(|gate| output::json_line(out, &shown(gate)));
        }
        let rows: Vec<Vec<String>> = gates.iter().map(row).collect();
        table::write(out, &["DESTINATION", "BREAKER", "OPEN UNTIL", "PAUSED UNTIL", "SENDS", "RATE"], &rows)
    })
}

async fn reopen(name: &str, consent: &Consent, ratchet: &Ratchet) -> Result<(), Error> {
    let name = DestinationName::new(name)?;
    consent.ask("What waits for this destination is sent to it, by all workers of the store.")?;
    if !ratchet.reopen(name.clone(), &consent.by(), consent.reason()).await? {
        return Err(Error::NoDestination);
    }
    output::write(|out| writeln!(out, "{name} is open"))
}

fn shown(KnownGate { destination, gate }: &KnownGate) -> ShownGate {
    let (breaker, failures, open_until) = match gate.breaker {
        Breaker::Closed { failures } => ("closed", failures, None),
        Breaker::Open { until, .. } => ("open", 0, Some(until.to_string())),
        Breaker::HalfOpen { .. } => ("half_open", 0, None),
    };
    ShownGate {
        destination: destination.to_string(),
        breaker,
        failures,
        open_until,
        paused_until: gate.paused_until.map(|until| until.to_string()),
        sends: gate.sends.len(),
        at_most: gate.limits.at_most.map(std::num::NonZeroU32::get),
        rate: gate.limits.rate.map(|rate| format!("{} per {:?}", rate.sends, rate.per)),
        reopened: gate.reopened.clone(),
    }
}

fn row(gate: &KnownGate) -> Vec<String> {
    let ShownGate { destination, breaker, open_until, paused_until, sends, at_most, rate, .. } = shown(gate);
    let nothing = || "-".to_owned();
    let sends = at_most.map_or_else(|| sends.to_string(), |most| format!("{sends} of {most}"));
    vec![
        destination,
        breaker.to_owned(),
        open_until.unwrap_or_else(nothing),
        paused_until.unwrap_or_else(nothing),
        sends,
        rate.unwrap_or_else(nothing),
    ]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ratchet::admission::{Gate, GateCommand, Health, Permit};
    use ratchet::{Destination, DestinationName, Timestamp};

    use super::*;

    #[test]
    fn a_gate_is_told_in_one_line() {
        const PAYMENTS: Destination =
            Destination::new("payments").at_most(8).per_second(20).breaker(1, Duration::from_mins(1));
        let leave = GateCommand::Leave { permit: Permit(1), health: Health::Failed, pause: None };
        let mut gate = Gate::default();
        for (command, at) in [(GateCommand::Enter, 0), (GateCommand::Enter, 1_000), (leave, 1_000)] {
            gate = gate.decide(PAYMENTS.limits(), &command, Timestamp::from_millis(1_768_464_000_000 + at)).0;
        }
        let known = KnownGate { destination: DestinationName::from_static("payments"), gate };
        let told = ["payments", "open", "2026-01-15T08:01:01Z", "-", "1 of 8", "20 per 1s"];
        assert_eq!(row(&known), told);
    }
}
