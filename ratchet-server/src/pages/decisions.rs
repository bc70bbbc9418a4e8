//! The audit log: what people decided, about all records.

use axum::extract::Query;
use maud::{Markup, html};
use ratchet::Timestamp;
use ratchet::ledger::{Cursor, Decided};
use serde::Deserialize;

use super::fault::Fault;
use super::layout::{Page, Place};
use super::place::path;
use super::request::SignedIn;
use super::timeline::act;
use super::words::{foreign, key, state, when};

const PAGE: usize = 50;

#[derive(Deserialize)]
pub(super) struct From {
    before: Option<i64>,
}

pub(super) async fn show(signed_in: SignedIn, Query(From { before }): Query<From>) -> Result<Markup, Fault> {
    let page = signed_in.client.audit_log(before.map(Cursor), PAGE).await?;
    let operator = &signed_in.session.operator;
    let seen: Vec<&Decided> =
        page.decisions.iter().filter(|one| operator.may_see(&one.id.operation)).collect();
    let now = signed_in.now().await?;
    let body = html! {
        h1 { "Decisions" }
        p.lead { "Who decided what about which record, and why. What workers do by themselves stands at each record." }
        div #decisions data-live {
            @if seen.is_empty() { p.empty { "Nobody has decided anything" @if before.is_some() { " on this page" } "." } }
            @else {
                div.scroll tabindex="0" role="region" aria-label="Decisions" {
                    table.stacked {
                        thead { tr { th { "When" } th { "What" } th { "Record" } th { "From, to" } th { "Who" } th { "Why" } } }
                        tbody { @for decided in seen { (row(decided, now)) } }
                    }
                }
            }
            @if let Some(next) = page.next { p { a href={ "/decisions?before=" (next.0) } { "Older" } } }
        }
    };
    let title = "Decisions";
    Ok(Page { title, place: Place::Decisions, refresh: Some(10), body }.render(&signed_in.session))
}

fn row(decided: &Decided, now: Timestamp) -> Markup {
    let entry = &decided.entry;
    html! {
        tr {
            td { (when(entry.at, now)) }
            td { b { (act(&entry.action)) } }
            td { a.key href=(path(decided.place)) { (key(&decided.id)) } br; code { (decided.id.operation) } }
            td { (state(entry.from)) " → " (state(entry.to)) }
            td { (foreign(&entry.by)) }
            td.reason { (foreign(&entry.reason)) }
        }
    }
}
