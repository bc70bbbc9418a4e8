//! The page of an act: what it does, what it does not do, what would follow; and its carrying out.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet::decide::{ReplayPreview, UnconfirmedEffect, preview_replay};
use ratchet::ledger::Cursor;
use ratchet::{Client, ManageError, Payload, Record, Refusal, Stored, Timestamp, Verdict};

use super::acts::{Act, possible};
use super::fault::{Fault, refused};
use super::layout::{Page, Place, form_token};
use super::place::{self, Placed};
use super::request::{Fields, SignedForm, SignedIn};
use super::sent::asked_with;
use super::words::{distance, is_for_ever, key, sentence, stamp, state};

/// The most characters of a reason.
const LONGEST_REASON: usize = 2_000;

/// What a form held that was not carried out.
struct Rejected<'a> {
    problem: String,
    fields: Option<&'a Fields>,
}

impl Rejected<'_> {
    fn field(&self, name: &str) -> &str {
        self.fields.map_or("", |fields| fields.get(name))
    }
}

pub(super) async fn ask(
    signed_in: SignedIn,
    Path((place, act)): Path<(i64, String)>,
) -> Result<Markup, Fault> {
    let act = Act::from_path(&act).ok_or(Fault::NoPage)?;
    let placed = found(&signed_in, place).await?;
    let nothing = Rejected { problem: String::new(), fields: None };
    Ok(page(&signed_in, &placed, act, &nothing, signed_in.now().await?))
}

async fn found(signed_in: &SignedIn, place: i64) -> Result<Placed, Fault> {
    let place = Cursor(place);
    match place::at(&signed_in.client, place).await? {
        Some(Stored::Record(record)) if signed_in.session.operator.may_see(&record.id.operation) => {
            Ok(Placed { place, record: *record })
        }
        _ => Err(Fault::NoRecord),
    }
}

pub(super) async fn carry_out(
    Path((place, act)): Path<(i64, String)>,
    SignedForm { signed_in, fields }: SignedForm,
) -> Result<Response, Fault> {
    let act = Act::from_path(&act).ok_or(Fault::NoPage)?;
    let placed = found(&signed_in, place).await?;
    let problem = match checked(act, &placed.record, &fields) {
        Err(problem) => problem,
        Ok(reason) => match perform(&signed_in, act, &placed.record, &fields, reason).await {
            Ok(now_at) => {
                let path = place::path(now_at.unwrap_or(placed.place));
                return Ok(Redirect::to(&format!("{path}?done={}", act.path())).into_response());
            }
            Err(Undone::Form(problem)) => problem.to_owned(),
            Err(Undone::Ledger(error)) => refused(error)?,
        },
    };
    let rejected = Rejected { problem: sentence(&problem), fields: Some(&fields) };
    let page = page(&signed_in, &placed, act, &rejected, signed_in.now().await?);
    Ok((StatusCode::CONFLICT, page).into_response())
}

/// A form is about the record that its author has read; the reason is what remains of it.
fn checked<'a>(act: Act, record: &Record, fields: &'a Fields) -> Result<&'a str, String> {
    if fields.get("seen") != seen(record) {
        return Err(
            "the record has changed since you opened this form: read it again, and then decide".to_owned()
        );
    }
    let reason = fields.get("reason");
    if reason.is_empty() {
        return Err("say why: the reason stands in the audit trail".to_owned());
    }
    if reason.chars().count() > LONGEST_REASON {
        return Err(format!("the reason is longer than {LONGEST_REASON} characters: shorten it"));
    }
    if act == Act::AcceptRisk && fields.get("accept_risk") != "yes" {
        return Err("nothing was done: tick that you accept a second effect, or reconcile instead".to_owned());
    }
    Ok(reason)
}

/// What tells one reading of a record from the next: each lease has a token of its own.
fn seen(record: &Record) -> String {
    format!("{}-{}", record.token, record.state)
}

/// Why an act was not carried out.
enum Undone {
    Form(&'static str),
    Ledger(ManageError),
}

/// Where the record is that an act has made, if it made one.
async fn perform(
    signed_in: &SignedIn,
    act: Act,
    record: &Record,
    fields: &Fields,
    reason: &str,
) -> Result<Option<Cursor>, Undone> {
    let client: &Client = &signed_in.client;
    let by = signed_in.session.operator.signature();
    let done = match act {
        Act::Reconcile => {
            let verdict = verdict(fields.get("found"), fields.get("result")).map_err(Undone::Form)?;
            client.resolve(record.id.clone(), &by, reason, record.token, verdict).await
        }
        Act::Replay => client.replay_as_seen(record, &by, reason, false).await,
        Act::AcceptRisk => client.replay_as_seen(record, &by, reason, true).await,
        Act::Cancel => client.cancel_as_seen(record, &by, reason).await,
        Act::Release => {
            let released = client.renew(record, &by, reason).await.map_err(Undone::Ledger)?;
            return place::of(client, &released).await.map_err(|error| Undone::Ledger(error.into()));
        }
    };
    done.map(|_| None).map_err(Undone::Ledger)
}

fn verdict(found: &str, result: &str) -> Result<Verdict, &'static str> {
    let is_without_effect =
        "a result belongs to an effect that happened: empty the field, or choose that it happened";
    match (found, result) {
        ("applied", "") => Ok(Verdict::Applied { result: None }),
        ("applied", json) => Ok(Verdict::Applied { result: Some(payload(json)?) }),
        ("key-closed" | "old-calls-refused", json) if !json.is_empty() => Err(is_without_effect),
        ("key-closed", _) => Ok(Verdict::NotAppliedAndClosed),
        ("old-calls-refused", _) => Ok(Verdict::NotAppliedOldCallsRefused),
        _ => Err("choose what you found at the destination"),
    }
}

fn payload(json: &str) -> Result<Payload, &'static str> {
    const NOT_STORED: &str = "the result is no JSON that can be stored: it has at most 64 KiB, and a text stands in \
        quotation marks";
    let value: serde_json::Value = serde_json::from_str(json).map_err(|_| NOT_STORED)?;
    Payload::from_value(&value, Payload::LARGEST_RESULT).map_err(|_| NOT_STORED)
}

fn page(signed_in: &SignedIn, placed: &Placed, act: Act, rejected: &Rejected<'_>, now: Timestamp) -> Markup {
    let record = &placed.record;
    let can_be_done = possible(record, now).contains(&act);
    let preview = matches!(act, Act::Replay | Act::AcceptRisk).then(|| preview_replay(record, now));
    let body = html! {
        p.crumbs { a href=(placed.path()) { "← " (key(&record.id)) } }
        h1 { (act.name()) }
        p.about { code { (record.id.operation) } " " (state(record.state)) }
        @if !rejected.problem.is_empty() { p.problem role="alert" { (rejected.problem) "." } }
        div.columns.even {
            section {
                h2 { "What it does" }
                ul { @for line in act.does() { li { (line) } } }
                h2 { "What it does not do" }
                ul { @for line in act.does_not() { li { (line) } } }
                @if act == Act::Reconcile { (asked_with(record)) }
                @if let Some(preview) = &preview { (foretold(act, preview, now)) }
            }
            section {
                @if can_be_done {
                    (form(signed_in, placed, act, rejected))
                } @else {
                    h2 { "Not possible now" }
                    p { "The record is " (state(record.state)) ". " a href=(placed.path()) { "See what can be done" } "." }
                }
            }
        }
    };
    let title = format!("{}: {}", act.name(), record.id.operation);
    Page { title: &title, place: Place::Records, refresh: None, body }.render(&signed_in.session)
}

fn form(signed_in: &SignedIn, placed: &Placed, act: Act, rejected: &Rejected<'_>) -> Markup {
    html! {
        form.act method="post" action={ (placed.path()) "/" (act.path()) } {
            (form_token(&signed_in.session))
            input type="hidden" name="seen" value=(seen(&placed.record));
            @if act == Act::Reconcile { (findings(rejected)) }
            label for="reason" { "Why" }
            p.hint #reason-hint { "Kept in the audit trail, with your name. No personal data." }
            textarea #reason name="reason" rows="3" required maxlength=(LONGEST_REASON)
                aria-describedby="reason-hint" { (rejected.field("reason")) }
            @if act == Act::AcceptRisk {
                label.choice {
                    input type="checkbox" name="accept_risk" value="yes" required;
                    span { "I accept that the effect may happen twice." }
                }
            }
            div.buttons {
                button.main.danger[act == Act::AcceptRisk] { (act.button()) }
                a.button href=(placed.path()) { "Back" }
            }
        }
    }
}

/// What can be found at a destination, and what follows.
fn findings(rejected: &Rejected<'_>) -> Markup {
    const FOUND: [(&str, &str, &str); 3] = [
        (
            "applied",
            "The effect is there",
            "The record ends as succeeded. Whoever enqueues it again receives the result below, if you give one.",
        ),
        (
            "key-closed",
            "It is not there, and the destination closed the key while I asked",
            "It was cancelled by this key, or a refusal is remembered under it. The record ends as failed; a new \
             generation may be released.",
        ),
        (
            "old-calls-refused",
            "It is not there, and the destination refuses calls that are so old",
            "The record runs again by itself, with the same identity.",
        ),
    ];
    html! {
        fieldset {
            legend { "What did you find at the destination?" }
            @for (value, label, follows) in FOUND {
                label.choice {
                    input type="radio" name="found" value=(value) required checked[rejected.field("found") == value];
                    span { b { (label) } span.hint { (follows) } }
                }
            }
            p.hint.note {
                "That the destination shows nothing is not enough for the last two: the call of a paused worker can still \
                 arrive. If neither holds, leave the record as it is, or accept the risk."
            }
        }
        label for="result" { "Result, as JSON (may stay empty)" }
        textarea #result .code name="result" rows="2" spellcheck="false" { (rejected.field("result")) }
    }
}

/// What a replay would do.
fn foretold(act: Act, preview: &ReplayPreview, now: Timestamp) -> Markup {
    html! {
        h2 { "What would follow" }
        @match &preview.decision {
            Ok(_) => p { "It would run again now, with the same identity." },
            Err(refusal) if act == Act::Replay => p.problem { "Refused: " (refusal) "." },
            Err(Refusal::RiskNotAccepted(why)) => p { "It is not run again by itself: " (why.explain()) "." },
            Err(refusal) => p { "Refused: " (refusal) "." },
        }
        @if preview.unconfirmed.is_empty() {
            p { "No attempt is known that may have had an effect." }
        }
        @for effect in &preview.unconfirmed { (unconfirmed(effect, now)) }
    }
}

fn unconfirmed(effect: &UnconfirmedEffect, now: Timestamp) -> Markup {
    let until = |end: Option<Timestamp>, never: &str| match end {
        None => never.to_owned(),
        Some(end) if is_for_ever(end) => "for ever".to_owned(),
        Some(end) => format!("until {} UTC ({})", stamp(end), distance(end, now)),
    };
    let sent = effect.first_sent_at.map_or_else(|| "at an unknown time".to_owned(), |at| distance(at, now));
    let what = if effect.asked_first {
        "nothing, before the handler has asked the destination"
    } else if effect.pinned {
        "the pinned key and the same request"
    } else {
        "what the handler makes now: nothing was pinned"
    };
    html! {
        dl.facts {
            dt { "May have happened" }
            dd { @match &effect.step { Some(step) => { "step " code { (step) } }, None => "the operation's effect" } }
            dt { "First sent" } dd { (sent) }
            dt { "Recognised" } dd { (until(effect.recognised_until, "never")) }
            @if effect.recognised_until.is_some() {
                dt { "Sent without asking" }
                dd { (until(effect.blind_sends_until, "at any time")) }
            }
            dt { "Would be sent" } dd { (what) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_read_from_the_form() {
        assert_eq!(verdict("applied", ""), Ok(Verdict::Applied { result: None }));
        let result = Payload::from_stored(r#"{"a":1}"#);
        assert_eq!(verdict("applied", r#"{ "a": 1.0 }"#), Ok(Verdict::Applied { result: Some(result) }));
        assert_eq!(verdict("key-closed", ""), Ok(Verdict::NotAppliedAndClosed));
        assert_eq!(verdict("old-calls-refused", ""), Ok(Verdict::NotAppliedOldCallsRefused));
        for (found, result) in [("", ""), ("nothing", ""), ("key-closed", "1"), ("applied", "ch_1")] {
            assert!(verdict(found, result).is_err(), "{found} {result}");
        }
    }
}
