//! Is all well? States, what waits longest, what ended of late, and the breakers of destinations.

use std::time::Duration;

use axum::extract::{Query, State};
use maud::{Markup, html};
use ratchet::admission::{Breaker, Gate, KnownGate};
use ratchet::ledger::{Count, Unserved};
use ratchet::{Filter, RecordState, Timestamp};
use serde::Deserialize;

use super::Pages;
use super::chart::{self, Reach};
use super::fault::Fault;
use super::layout::{Page, Place};
use super::place::{self, Placed};
use super::request::SignedIn;
use super::words::{counted, distance, key, meaning, stamp, state, when};

#[derive(Deserialize)]
pub(super) struct Wanted {
    hours: Option<u64>,
}

/// How far back the pictures go.
const REACHES: [u64; 3] = [1, 6, 24];

/// What "of late" means.
const LATE: Duration = Duration::from_mins(5);

pub(super) async fn show(
    State(pages): State<Pages>,
    signed_in: SignedIn,
    Query(Wanted { hours }): Query<Wanted>,
) -> Result<Markup, Fault> {
    let client = &signed_in.client;
    let operator = &signed_in.session.operator;
    let counts = pages.history.census(client).await?;
    let counts: Vec<&Count> = counts.iter().filter(|count| operator.may_see(&count.of.operation)).collect();
    let samples = pages.history.samples(client.namespace());
    let now = signed_in.now().await?;
    let hours = hours.filter(|hours| REACHES.contains(hours)).unwrap_or(REACHES[0]);
    let reach = |back| Reach { until: now, back };
    let oldest = Filter { state: Some(RecordState::Uncertain), limit: 1, ..Filter::default() };
    let oldest = place::list(client, oldest, operator).await?.records;
    let mut due = client.ledger().unserved(client.namespace().clone(), Vec::new()).await?;
    due.retain(|due| operator.may_see(&due.wanted.operation));
    // The pictures count everything in the namespace.
    let sees_all = operator.grant.is_for_all_operations();
    let held = client.ledger().mark().await?.held_since;
    let body = html! {
        h1 { "Overview" }
        div #overview data-live {
            @if let Some(since) = held { (held_back(since, now)) }
            (states(&counts))
            div.columns {
                (uncertain(oldest.first(), now))
                (of_late(sees_all.then(|| chart::ended_within(&samples, &reach(LATE))), &due, now))
            }
            @if sees_all {
              section {
                h2 { "States over time" }
                p.hint {
                    @for choice in REACHES {
                        a href={ "/?hours=" (choice) } aria-current=[(choice == hours).then_some("true")] { (choice) " h" } " "
                    }
                    @if let Some(first) = samples.first() { "watched since " (stamp(first.at)) " UTC" }
                }
                (chart::show(&samples, &reach(Duration::from_hours(hours))))
              }
            }
            (operations(&counts))
            (breakers(&client.gates().await?, now))
        }
    };
    let title = "Overview";
    Ok(Page { title, place: Place::Overview, refresh: Some(5), body }.render(&signed_in.session))
}

fn total(counts: &[&Count], state: RecordState) -> u64 {
    counts.iter().filter(|count| count.state == state).map(|count| count.records).sum()
}

fn held_back(since: Timestamp, now: Timestamp) -> Markup {
    html! {
        p.problem role="alert" {
            b { "Workers hold back since " (distance(since, now)) "." }
            " The store seems to be a restored backup: what was sent after it was taken is pending in it. Look at what the \
             destinations have, and then run " code { "ratchet acknowledge-restore" } "."
        }
    }
}

fn states(counts: &[&Count]) -> Markup {
    html! {
        ul.states aria-label="Records by state" {
            @for of in RecordState::ALL {
                @let records = total(counts, of);
                li class=(if records == 0 { "none" } else { "some" }) {
                    a href=(if of == RecordState::Uncertain { "/uncertain".to_owned() } else { format!("/records?state={of}") }) {
                        b { (records) } (state(of)) span.hint { (meaning(of)) }
                    }
                }
            }
        }
    }
}

fn uncertain(oldest: Option<&Placed>, now: Timestamp) -> Markup {
    html! {
        section {
            h2 { "Oldest uncertain" }
            @match oldest {
                None => p.empty { "Nothing is uncertain." },
                Some(placed) => {
                    p { a.key href=(placed.path()) { (key(&placed.record.id)) } " " code { (placed.record.id.operation) } }
                    p {
                        @if let Some(at) = placed.record.settled_at { "Since " (when(at, now)) ": " }
                        @if let Some(why) = placed.record.uncertainty { (why.explain()) "." }
                    }
                    p { a href="/uncertain" { "All that is uncertain" } }
                }
            }
        }
    }
}

fn of_late(ended: Option<[u64; 2]>, due: &[Unserved], now: Timestamp) -> Markup {
    let waiting: u64 = due.iter().map(|due| due.records).sum();
    let longest = due.iter().min_by_key(|due| due.since);
    html! {
        section {
            h2 { "Of late" }
            @if let Some([well, otherwise]) = ended {
                p { b { (well) } " succeeded and " b { (otherwise) } " ended otherwise in the last 5 minutes." }
            }
            @match longest {
                None => p { "Nothing is due: workers keep up." },
                Some(longest) => p {
                    (counted(waiting, "record is due and waits", "records are due and wait")) ". The longest waits since "
                    (when(longest.since, now)) ": " code { (longest.wanted.operation) } " version " (longest.wanted.version)
                    " in queue " (longest.queue) ". If it stays, no worker serves it or none has room."
                },
            }
        }
    }
}

fn operations(counts: &[&Count]) -> Markup {
    let mut names: Vec<_> = counts.iter().map(|count| &count.of.operation).collect();
    names.dedup();
    let of = |name: &ratchet::OperationName, state: RecordState| -> u64 {
        let same = counts.iter().filter(|count| count.of.operation == *name && count.state == state);
        same.map(|count| count.records).sum()
    };
    html! {
        section {
            h2 { "Operations" }
            @if names.is_empty() { p.empty { "No record so far." } } @else {
                div.scroll tabindex="0" role="region" aria-label="Records by operation and state" {
                    table.numbers {
                        thead { tr { th { "Operation" } @for state in RecordState::ALL { th { (state) } } } }
                        tbody {
                            @for name in names {
                                tr {
                                    th scope="row" { a href={ "/records?operation=" (name) } { (name) } }
                                    @for state in RecordState::ALL {
                                        @let records = of(name, state);
                                        td.zero[records == 0] {
                                            @if records == 0 { "0" }
                                            @else { a href={ "/records?operation=" (name) "&state=" (state) } { (records) } }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn breakers(gates: &[KnownGate], now: Timestamp) -> Markup {
    html! {
        section {
            h2 { "Destinations" }
            @if gates.is_empty() { p.empty { "No destination has limits or a breaker." } } @else {
                div.scroll tabindex="0" role="region" aria-label="Limits and breakers of destinations" {
                    table {
                        thead { tr { th { "Destination" } th { "Breaker" } th { "Sends" } th { "Rate" } th { "Paused" } } }
                        tbody { @for known in gates { (gate(known, now)) } }
                    }
                }
                p.hint { "All programs and namespaces that use this store share them." }
            }
        }
    }
}

fn gate(KnownGate { destination, gate }: &KnownGate, now: Timestamp) -> Markup {
    let under_way = gate.sends.iter().filter(|send| now < send.until).count();
    html! {
        tr {
            th scope="row" { (destination) }
            td { (breaker(gate, now)) }
            td { (under_way) @if let Some(most) = gate.limits.at_most { " of " (most) } }
            td { @if let Some(rate) = gate.limits.rate { (rate.sends) " per " (super::words::span(rate.per)) } @else { "–" } }
            td { @match gate.paused_until.filter(|until| now < *until) { Some(until) => (when(until, now)), None => "–" } }
        }
    }
}

fn breaker(gate: &Gate, now: Timestamp) -> Markup {
    html! {
        @match gate.breaker {
            _ if gate.limits.breaker.is_none() => "–",
            Breaker::Closed { failures: 0 } => span.gate.closed { "closed" },
            Breaker::Closed { failures } => { span.gate.closed { "closed" } " " (counted(failures.into(), "failure", "failures")) " in a row" },
            Breaker::Open { until, .. } if now < until => { span.gate.open { "open" } ", tries again " (when(until, now)) },
            Breaker::Open { .. } => { span.gate.open { "open" } ", the next send tries" },
            Breaker::HalfOpen { .. } => { span.gate.open { "half open" } ", one send tries" },
        }
    }
}
