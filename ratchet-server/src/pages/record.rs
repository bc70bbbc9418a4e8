//! One record: what is the case, why, what happens next, what can be done, and how it came to this.

use axum::extract::{Path, Query};
use maud::{Markup, html};
use ratchet::contract::MechanismKind;
use ratchet::decide::Stored;
use ratchet::ledger::Cursor;
use ratchet::{OnUnknown, Record, RecordId, RecordState, StepState, Timestamp};
use serde::Deserialize;

use super::acts::{Act, possible};
use super::explain::explain;
use super::fault::Fault;
use super::layout::{Page, Place};
use super::payloads;
use super::place::{self, Placed};
use super::request::SignedIn;
use super::words::{distance, key, moment, span, state, when};
use super::{sent, timeline, windows};
use crate::said::Said;

#[derive(Deserialize)]
pub(super) struct After {
    /// Which act led here.
    done: Option<String>,
}

pub(super) async fn show(
    signed_in: SignedIn,
    Path(place): Path<i64>,
    Query(After { done }): Query<After>,
) -> Result<Markup, Fault> {
    let client = &signed_in.client;
    let place = Cursor(place);
    let stored = place::at(client, place).await?.ok_or(Fault::NoRecord)?;
    if !signed_in.session.operator.may_see(&stored.id().operation) {
        return Err(Fault::NoRecord);
    }
    let placed = match stored {
        Stored::Record(record) => Placed { place, record: *record },
        Stored::Tombstone(rest) => return Ok(purged(&signed_in, &rest.id, rest.state, rest.ended_at)),
    };
    let record = &placed.record;
    let before = match &record.after {
        Some(after) => place::of(client, &after.id).await?,
        None => None,
    };
    let now = signed_in.now().await?;
    let attempts = client.attempts(record.id.clone()).await?;
    let decisions = client.audit(record.id.clone()).await?;
    let payloads = payloads::read(client, record).await?;
    let done = done.as_deref().and_then(Act::from_path);
    let body = html! {
        p.crumbs { a href="/records" { "← Records" } }
        @if let Some(act) = done { p.done role="status" { (act.done()) } }
        div #record data-live data-state=(record.state) {
            (head(record))
            div.columns {
                (decision(record, &payloads.said, now))
                (acts(&placed, now))
            }
            section { h2 { "Windows" } (windows::show(record, now)) }
            section { h2 { "What happened" span.hint { " (UTC)" } } (timeline::show(record, &attempts, &decisions, &payloads.said, now)) }
            div.columns {
                section { h2 { "What was sent" } (sent::show(record)) (steps(record)) }
                section { h2 { "About it" } (facts(record, before, now)) }
            }
            section { h2 { "Input and result" } (payloads.show()) }
        }
    };
    let title = format!("{} {}", record.id.operation, record.state);
    Ok(Page { title: &title, place: Place::Records, refresh: Some(3), body }.render(&signed_in.session))
}

/// What is left of a purged record.
fn purged(signed_in: &SignedIn, id: &RecordId, ended_as: RecordState, at: Timestamp) -> Markup {
    let body = html! {
        p.crumbs { a href="/records" { "← Records" } }
        h1.key { (key(id)) }
        p { "This record is purged: it was " (state(ended_as)) " at " (moment(at)) ". Its identity stays taken." }
    };
    Page { title: "Purged", place: Place::Records, refresh: None, body }.render(&signed_in.session)
}

fn head(record: &Record) -> Markup {
    html! {
        h1.key { (key(&record.id)) }
        p.about {
            (state(record.state))
            @if record.may_be_applied() { span.flag { "may be applied" } }
            @if record.cancel_requested && !record.state.is_settled() { span.flag { "cancel requested" } }
            @if record.risk_accepted { span.flag { "risk accepted" } }
            span { "operation " code { (record.id.operation) } " version " (record.version) }
        }
    }
}

fn decision(record: &Record, said: &Said, now: Timestamp) -> Markup {
    let explained = explain(record, said, now);
    html! {
        section class={ "decision " (record.state) } {
            h2 { (explained.headline) }
            @if !explained.why.is_empty() {
                h3 { "Why" }
                @for line in &explained.why { p { (line) } }
            }
            h3 { "What happens next" }
            @for line in &explained.next { p { (line) } }
        }
    }
}

fn acts(placed: &Placed, now: Timestamp) -> Markup {
    let acts = possible(&placed.record, now);
    html! {
        section.acts {
            h2 { "What you can do" }
            @if acts.is_empty() { p.hint { "Nothing now: the worker was told to stop." } }
            @for (number, act) in acts.iter().enumerate() {
                div {
                    a.button.main[number == 0 && *act != Act::Cancel] href={ (placed.path()) "/" (act.path()) } { (act.name()) }
                    p.hint { (act.brief()) }
                }
            }
        }
    }
}

fn steps(record: &Record) -> Markup {
    let told = |state: StepState| match state {
        StepState::Started => "entered, and nothing more is known",
        StepState::NotApplied => "certainly had no effect so far",
        StepState::Done => "done",
    };
    html! {
        @if !record.steps.is_empty() {
            h3 { "Steps" }
            dl.facts {
                @for (name, step) in &record.steps {
                    dt { code { (name) } }
                    dd { (told(step.state)) @if step.effect.may_be_applied { span.flag { "may be applied" } } }
                }
            }
        }
    }
}

fn facts(record: &Record, before: Option<Cursor>, now: Timestamp) -> Markup {
    let terms = &record.effect.contract;
    let retry = &record.policy.retry;
    html! {
        dl.facts {
            dt { "Enqueued" } dd { (moment(record.created_at)) " (" (distance(record.created_at, now)) ")" }
            @if !record.state.is_settled() { dt { "Due" } dd { (when(record.ready_at, now)) } }
            @if let Some(at) = record.settled_at { dt { "Ended" } dd { (moment(at)) " (" (distance(at, now)) ")" } }
            @if let Some(lease) = &record.lease {
                dt { "Lease" } dd { "of " code { (lease.worker) } ", ends " (when(lease.until, now)) ", token " (record.token) }
            }
            @if let Some(after) = &record.after {
                dt { "Comes after" }
                dd {
                    @match before {
                        Some(place) => a.key href=(place::path(place)) { (key(&after.id)) },
                        None => span.key { (key(&after.id)) },
                    }
                    ", on " (after.on.as_str())
                }
            }
            @if let Some(group) = &record.group { dt { "Group" } dd { code { (group) } } }
            dt { "Queue" } dd { (record.queue) ", priority " (record.priority.0) }
            dt { "Attempts" } dd { (record.attempts) " started, " (record.spent) " of " (retry.max_attempts) " spent" }
            dt { "Destination" } dd { (mechanism(terms.mechanism())) @if let Some(name) = terms.name() { ": " code { (name) } } }
            dt { "If unknown" } dd { (on_unknown(record)) }
            dt { "Kept for" } dd { (span(record.policy.retention)) " after its end" }
            dt { "Generation" } dd { (record.id.generation) }
        }
    }
}

fn mechanism(kind: MechanismKind) -> &'static str {
    match kind {
        MechanismKind::None => "recognises no repeated request",
        MechanismKind::Header => "recognises a header",
        MechanismKind::BodyField => "recognises a field of the body",
        MechanismKind::QueryParameter => "recognises a parameter of the URL",
        MechanismKind::Database => "a table beside the effect",
        MechanismKind::Steps => "each step has its own",
        _ => "another mechanism",
    }
}

fn on_unknown(record: &Record) -> &'static str {
    match record.policy.on_unknown {
        _ if record.policy.reconciles => "a worker asks the destination",
        OnUnknown::Park => "a person decides (park)",
        OnUnknown::MayDuplicate => "it is sent again (may_duplicate)",
        OnUnknown::MayLose => "it is given up (may_lose)",
    }
}
