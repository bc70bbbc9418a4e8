//! What a destination was sent: the pinned key and what the request looked like, never its content.

use maud::{Markup, html};
use ratchet::{Fingerprint, Pin, Recipe, Record, StepName};

use super::words::{foreign, moment};

/// An effect of a record: of a step, or of the handler itself.
type Sent<'a> = (Option<&'a StepName>, Option<&'a Pin>);

fn effects(record: &Record) -> impl Iterator<Item = Sent<'_>> {
    let own = (None, record.effect.pin.as_deref());
    let steps = record.steps.iter().map(|(name, step)| (Some(name), step.effect.pin.as_deref()));
    std::iter::once(own).chain(steps)
}

/// What to ask the destination with.
pub(super) fn asked_with(record: &Record) -> Markup {
    let pins: Vec<(Option<&StepName>, &Pin)> =
        effects(record).filter_map(|(step, pin)| Some((step, pin?))).collect();
    html! {
        h2 { "Ask with this key" }
        @if pins.is_empty() {
            p { "Nothing was pinned. The handler was given this identity:" }
            p { code.key { (record.id.as_text(None).unwrap_or_else(|_| record.id.key.to_string())) } }
        }
        @for (step, pin) in pins {
            p {
                @if let Some(step) = step { "Step " code { (step) } ": " }
                code.key { (foreign(&pin.wire_key)) } " at " (foreign(&pin.scope.destination))
                @if let Some(account) = &pin.scope.account { ", account " (foreign(account)) }
            }
        }
    }
}

/// All that is known about what was sent.
pub(super) fn show(record: &Record) -> Markup {
    let pinned = effects(record).any(|(_, pin)| pin.is_some());
    html! {
        @if !pinned {
            p.hint {
                @if record.attempts == 0 { "Nothing was sent so far." }
                @else { "Nothing was pinned: the handler sends without writing down what, or has its effect in a database." }
            }
        }
        @for (step, pin) in effects(record) {
            @if let Some(pin) = pin { (pinned_request(step, pin)) }
        }
    }
}

fn pinned_request(step: Option<&StepName>, pin: &Pin) -> Markup {
    let short = |fingerprint: &Fingerprint| fingerprint.to_string()[..12].to_owned();
    html! {
        @if let Some(step) = step { h3 { "Step " code { (step) } } }
        dl.facts {
            dt { "Key" } dd { code.key { (foreign(&pin.wire_key)) } }
            dt { "In" } dd { (foreign(&pin.place)) ", " (recipe(pin)) }
            dt { "To" } dd { (scope(pin)) }
            dt { "First sent" } dd { (moment(pin.first_at)) ", confirmed by attempt " (pin.by) }
            dt { "Request" }
            dd {
                @if !pin.request.method.is_empty() { (foreign(&pin.request.method)) ", URL " code { (short(&pin.request.url)) "…" } ", " }
                "body " code { (short(&pin.request.body)) "…" } span.hint { " fingerprints, not the content" }
            }
            @if let Some(kept) = &pin.kept {
                dt { "Kept" } dd { (kept.bytes()) " bytes, sent again as they are; not shown" }
            }
        }
    }
}

fn recipe(pin: &Pin) -> Markup {
    html! {
        @match (pin.recipe, &pin.secret) {
            (Recipe::VERBATIM, _) => "the identity as it is",
            (_, Some(secret)) => { "made with the secret named " code { (secret) } },
            (Recipe(number), None) => { "made by recipe " (number) },
        }
    }
}

fn scope(pin: &Pin) -> Markup {
    let parts = [("account", &pin.scope.account), ("region", &pin.scope.region), ("route", &pin.scope.route)];
    html! {
        (foreign(&pin.scope.destination))
        @for (name, part) in parts { @if let Some(part) = part { ", " (name) " " (foreign(part)) } }
    }
}
