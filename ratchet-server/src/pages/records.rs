//! Records, by operation, state and age; and by key, which is asked for in a form since no address may hold it.

use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet::ledger::Cursor;
use ratchet::{Filter, OperationName, RecordState, Timestamp};
use serde::Deserialize;

use super::Pages;
use super::fault::Fault;
use super::layout::{Page, Place, form_token};
use super::place::{self, Placed};
use super::request::{SignedForm, SignedIn};
use super::words::{key, state, when};

const PAGE: usize = 50;

/// What ages can be asked for: the name in the address, the words, and the span.
const AGES: [(&str, &str, Duration); 5] = [
    ("10min", "older than 10 minutes", Duration::from_mins(10)),
    ("1h", "older than an hour", Duration::from_hours(1)),
    ("1d", "older than a day", Duration::from_hours(24)),
    ("7d", "older than 7 days", Duration::from_hours(7 * 24)),
    ("30d", "older than 30 days", Duration::from_hours(30 * 24)),
];

/// The filters in the address. What is not understood is left out.
#[derive(Deserialize, Default)]
pub(super) struct Wanted {
    #[serde(default)]
    operation: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    age: String,
    after: Option<i64>,
}

impl Wanted {
    /// The latest first; where an age is asked for, what is the oldest.
    fn filter(&self, now: Timestamp) -> Filter {
        let created_before = self.age().map(|age| before(now, age));
        Filter {
            created_before,
            newest_first: created_before.is_none(),
            operation: OperationName::new(self.operation.as_str()).ok(),
            state: RecordState::from_name(&self.state),
            after: self.after.map(Cursor),
            limit: PAGE,
            ..Filter::default()
        }
    }

    fn age(&self) -> Option<Duration> {
        AGES.iter().find(|(name, ..)| *name == self.age).map(|(_, _, span)| *span)
    }

    fn next(&self, next: Cursor) -> String {
        format!(
            "/records?operation={}&state={}&age={}&after={}",
            self.operation, self.state, self.age, next.0
        )
    }
}

pub(super) async fn show(
    State(pages): State<Pages>,
    signed_in: SignedIn,
    Query(wanted): Query<Wanted>,
) -> Result<Markup, Fault> {
    page(&pages, &signed_in, &wanted, None).await
}

async fn page(
    pages: &Pages,
    signed_in: &SignedIn,
    wanted: &Wanted,
    problem: Option<&str>,
) -> Result<Markup, Fault> {
    let operator = &signed_in.session.operator;
    let now = signed_in.now().await?;
    let listed = place::list(&signed_in.client, wanted.filter(now), operator).await?;
    let counts = pages.history.census(&signed_in.client).await?;
    let mut names: Vec<&OperationName> = counts.iter().map(|count| &count.of.operation).collect();
    names.dedup();
    names.retain(|name| operator.may_see(name));
    let body = html! {
        h1 { "Records" }
        div.filters {
            (filters(wanted, &names))
            form method="post" action="/records/find" {
                (form_token(&signed_in.session))
                label for="key" { "Key" }
                input #key name="key" required placeholder="invoice:inv_2048:collect:v1" spellcheck="false" autocomplete="off";
                button { "Find" }
            }
        }
        @if let Some(problem) = problem { p.problem role="alert" { (problem) } }
        div #records data-live { (table(&listed.records, now)) }
        @if let Some(next) = listed.next { p { a href=(wanted.next(next)) { "Next page" } } }
    };
    let title = "Records";
    Ok(Page { title, place: Place::Records, refresh: Some(10), body }.render(&signed_in.session))
}

fn before(now: Timestamp, age: Duration) -> Timestamp {
    Timestamp::from_millis(now.as_millis().saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX)))
}

fn filters(wanted: &Wanted, names: &[&OperationName]) -> Markup {
    html! {
        form method="get" action="/records" {
            label for="operation" { "Operation" }
            select #operation name="operation" {
                option value="" { "any" }
                @for name in names { option value=(name) selected[name.as_str() == wanted.operation] { (name) } }
            }
            label for="state" { "State" }
            select #state name="state" {
                option value="" { "any" }
                @for state in RecordState::ALL { option value=(state) selected[state.as_str() == wanted.state] { (state) } }
            }
            label for="age" { "Age" }
            select #age name="age" {
                option value="" { "any" }
                @for (name, words, _) in AGES { option value=(name) selected[name == wanted.age] { (words) } }
            }
            button { "Show" }
        }
    }
}

fn table(records: &[Placed], now: Timestamp) -> Markup {
    html! {
        @if records.is_empty() { p.empty { "No record." } } @else {
            div.scroll tabindex="0" role="region" aria-label="Records" {
                table.stacked {
                    thead { tr { th { "State" } th { "Key" } th { "Operation" } th { "Attempts" } th { "Enqueued" } th { "Why" } } }
                    tbody { @for placed in records { (row(placed, now)) } }
                }
            }
        }
    }
}

fn row(placed: &Placed, now: Timestamp) -> Markup {
    let record = &placed.record;
    html! {
        tr {
            td { (state(record.state)) }
            td { a.key href=(placed.path()) { (key(&record.id)) } }
            td { code { (record.id.operation) } " " span.hint { "v" (record.version) } }
            td.number data-label="Attempts" { (record.attempts) }
            td data-label="Enqueued" { (when(record.created_at, now)) }
            td {
                @if let Some(why) = record.uncertainty { (why.explain()) }
                @else if let Some(known) = &record.cause { (super::words::cause(known.kind())) }
            }
        }
    }
}

/// Leads to the record under a key: the newest one, if there are several.
pub(super) async fn find(
    State(pages): State<Pages>,
    SignedForm { signed_in, fields }: SignedForm,
) -> Result<Response, Fault> {
    const NONE: &str =
        "There is no record under this key in this namespace, or your key is not for its operation.";
    let operator = &signed_in.session.operator;
    if let Some(place) = place::under_key(&signed_in.client, fields.get("key"), operator).await? {
        return Ok(Redirect::to(&place::path(place)).into_response());
    }
    Ok(page(&pages, &signed_in, &Wanted::default(), Some(NONE)).await?.into_response())
}
