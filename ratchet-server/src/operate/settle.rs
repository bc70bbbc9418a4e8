//! What people decide about one record: cancel, replay, reconcile, release.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use ratchet::decide::{ReplayPreview, UnconfirmedEffect, preview_replay};
use ratchet::{Answer, Attempt, Payload, Ratchet, Record, Timestamp, Verdict};
use serde_json::Value;

use super::consent::Consent;
use super::output;
use super::pick::RecordArguments;
use crate::error::Error;

#[derive(Args)]
pub(crate) struct CancelArguments {
    #[command(flatten)]
    record: RecordArguments,
    #[command(flatten)]
    consent: Consent,
}

#[derive(Args)]
pub(crate) struct ReplayArguments {
    #[command(flatten)]
    record: RecordArguments,
    /// Only say what would follow.
    #[arg(long)]
    preview: bool,
    /// Accept that the effect may happen twice; needed where the destination would not recognise it.
    #[arg(long)]
    accept_risk: bool,
    #[command(flatten)]
    consent: Consent,
}

#[derive(Args)]
pub(crate) struct ReconcileArguments {
    #[command(flatten)]
    record: RecordArguments,
    /// What was found out at the destination.
    #[arg(long, value_enum)]
    found: Found,
    /// What the effect left, as JSON, if that is known.
    #[arg(long, requires = "found")]
    result: Option<String>,
    #[command(flatten)]
    consent: Consent,
}

/// What somebody found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Found {
    /// The effect happened.
    Applied,
    /// It did not, and the destination has closed the key: nothing can arrive under it any more.
    NotAppliedKeyClosed,
    /// It did not, and the destination refuses old calls: the same identity is used again.
    NotAppliedOldCallsRefused,
}

#[derive(Args)]
pub(crate) struct ReleaseArguments {
    #[command(flatten)]
    record: RecordArguments,
    #[command(flatten)]
    consent: Consent,
}

pub(crate) async fn cancel(arguments: &CancelArguments, ratchet: &Ratchet) -> Result<(), Error> {
    let record = arguments.record.record(ratchet).await?;
    let consent = &arguments.consent;
    consent.ask("Nothing more is started under this key. What has happened stays as it is.")?;
    told(&ratchet.cancel_as_seen(&record, &consent.by(), consent.reason()).await?)
}

pub(crate) async fn replay(arguments: &ReplayArguments, ratchet: &Ratchet) -> Result<(), Error> {
    let record = arguments.record.record(ratchet).await?;
    let preview = preview_replay(&record, ratchet.ledger().inspect().await?.now);
    if arguments.preview {
        let attempts = ratchet.attempts(record.id.clone()).await?;
        return output::write(|out| foretell(out, &record, &attempts, &preview));
    }
    let consent = &arguments.consent;
    let risk =
        if arguments.accept_risk && record.may_be_applied() { " The effect may happen twice." } else { "" };
    consent.ask(&format!("The record runs again with the same identity.{risk}"))?;
    told(&ratchet.replay_as_seen(&record, &consent.by(), consent.reason(), arguments.accept_risk).await?)
}

fn foretell(
    out: &mut dyn Write,
    record: &Record,
    attempts: &[Attempt],
    preview: &ReplayPreview,
) -> io::Result<()> {
    writeln!(out, "{}  {}", record.id.operation, super::key_with_generation(&record.id))?;
    writeln!(out, "state       {}, after {} attempts", record.state, record.attempts)?;
    let last = attempts.iter().rev().find_map(|attempt| attempt.end.as_ref());
    if let Some(end) = last {
        writeln!(out, "last        {} at {}", end.outcome.as_str(), end.at)?;
    }
    preview.unconfirmed.iter().try_for_each(|effect| foretell_effect(out, effect))?;
    match &preview.decision {
        Ok(_) => writeln!(out, "decision    it would run again with the same identity"),
        Err(refusal) => writeln!(out, "decision    refused: {refusal}"),
    }
}

fn foretell_effect(out: &mut dyn Write, effect: &UnconfirmedEffect) -> io::Result<()> {
    let of = effect.step.as_ref().map_or_else(|| "the operation".to_owned(), |step| format!("step {step}"));
    let until =
        |end: Option<Timestamp>, never: &str| end.map_or_else(|| never.to_owned(), |end| end.to_string());
    let sent = until(effect.first_sent_at, "at an unknown time");
    writeln!(out, "effect      of {of} may have happened; first sent {sent}")?;
    writeln!(
        out,
        "            recognised by the destination until {}",
        until(effect.recognised_until, "never")
    )?;
    writeln!(out, "            blind sends until {}", until(effect.blind_sends_until, "any time"))?;
    let what = if effect.asked_first {
        "nothing, before the handler has asked the destination"
    } else if effect.pinned {
        "what was pinned, byte for byte the same identity"
    } else {
        "nothing is pinned yet"
    };
    writeln!(out, "            would be sent: {what}")
}

pub(crate) async fn reconcile(arguments: &ReconcileArguments, ratchet: &Ratchet) -> Result<(), Error> {
    let record = arguments.record.record(ratchet).await?;
    let verdict = verdict(arguments.found, arguments.result.as_deref())?;
    let consent = &arguments.consent;
    let what = match arguments.found {
        Found::Applied => "The record ends as succeeded.",
        Found::NotAppliedKeyClosed => "The record ends as failed.",
        Found::NotAppliedOldCallsRefused => "The record runs again with the same identity.",
    };
    consent.ask(what)?;
    told(&ratchet.resolve(record.id, &consent.by(), consent.reason(), record.token, verdict).await?)
}

fn verdict(found: Found, result: Option<&str>) -> Result<Verdict, Error> {
    if result.is_some() && found != Found::Applied {
        return Err(Error::ResultWithoutEffect);
    }
    Ok(match found {
        Found::Applied => Verdict::Applied { result: result.map(payload).transpose()? },
        Found::NotAppliedKeyClosed => Verdict::NotAppliedAndClosed,
        Found::NotAppliedOldCallsRefused => Verdict::NotAppliedOldCallsRefused,
    })
}

fn payload(json: &str) -> Result<Payload, Error> {
    let value: Value = serde_json::from_str(json).map_err(|error| Error::BadResult(error.to_string()))?;
    Payload::from_value(&value, Payload::LARGEST_RESULT).map_err(|error| Error::BadResult(error.to_string()))
}

pub(crate) async fn release(arguments: &ReleaseArguments, ratchet: &Ratchet) -> Result<(), Error> {
    let record = arguments.record.record(ratchet).await?;
    let consent = &arguments.consent;
    consent.ask("The same action is done once more, as a new generation with an identity of its own.")?;
    let id = ratchet.renew(&record, &consent.by(), consent.reason()).await?;
    output::write(|out| writeln!(out, "enqueued as {}", super::key_with_generation(&id)))
}

fn told(answer: &Answer) -> Result<(), Error> {
    output::write(|out| match answer {
        Answer::Now(state) => writeln!(out, "{state}"),
        Answer::CancelRequested => writeln!(out, "the worker that executes it is told to stop"),
        other => writeln!(out, "{other:?}"),
    })
}
