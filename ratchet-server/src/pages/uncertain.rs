//! The queue of what somebody has to look at: records whose effect nobody knows, the longest waiting first.

use axum::extract::Query;
use maud::{Markup, html};
use ratchet::ledger::Cursor;
use ratchet::{Filter, RecordState, Timestamp};
use serde::Deserialize;

use super::acts::possible;
use super::fault::Fault;
use super::layout::{Page, Place};
use super::place::{self, Placed};
use super::request::SignedIn;
use super::words::{cause, distance, key, sentence, when};

const PAGE: usize = 25;

#[derive(Deserialize)]
pub(super) struct From {
    after: Option<i64>,
}

pub(super) async fn show(signed_in: SignedIn, Query(From { after }): Query<From>) -> Result<Markup, Fault> {
    let filter = Filter {
        state: Some(RecordState::Uncertain),
        after: after.map(Cursor),
        limit: PAGE,
        ..Filter::default()
    };
    let page = place::list(&signed_in.client, filter, &signed_in.session.operator).await?;
    let now = signed_in.now().await?;
    let body = html! {
        h1 { "Uncertain" }
        p.lead {
            "The effect of these may have happened, and nobody knows. Sending them again could have it twice, so nothing is \
             sent until somebody decides. Ask the destination what it has, and reconcile."
        }
        div #queue data-live {
            @if page.records.is_empty() { p.empty { "Nothing is uncertain" @if after.is_some() { " on this page" } "." } }
            ul.queue { @for placed in &page.records { (entry(placed, now)) } }
            @if let Some(next) = page.next { p { a href={ "/uncertain?after=" (next.0) } { "Next page" } } }
        }
        p.hint {
            "A new generation can be released only after a definite end, so reconcile first."
        }
    };
    let title = "Uncertain";
    Ok(Page { title, place: Place::Uncertain, refresh: Some(5), body }.render(&signed_in.session))
}

fn entry(placed: &Placed, now: Timestamp) -> Markup {
    let record = &placed.record;
    html! {
        li {
            div {
            p.head {
                a.key href=(placed.path()) { (key(&record.id)) }
                span { code { (record.id.operation) } }
                @if let Some(at) = record.settled_at { span.hint { "uncertain since " (when(at, now)) } }
            }
            p {
                @if let Some(known) = &record.cause { (sentence(&cause(known.kind()))) "; " }
                @if let Some(why) = record.uncertainty { (why.explain()) }
                "."
                @if let Some(at) = record.reconcile_at { " A worker asks " (distance(at, now)) "." }
            }
            }
            p.buttons {
                @for (number, act) in possible(record, now).iter().enumerate() {
                    a.button.main[number == 0] href={ (placed.path()) "/" (act.path()) }
                        aria-label={ (act.name()) " " (key(&record.id)) } { (act.name()) }
                }
            }
        }
    }
}
