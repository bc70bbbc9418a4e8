//! Both windows of each effect, as bars against now: for how long the destination recognises a repeated request, and for how
//! long we send one without asking.

use maud::{Markup, html};
use ratchet::contract::{MechanismKind, Retention, Terms};
use ratchet::{OnUnknown, Record, Timestamp};

use super::words::{distance, is_for_ever, span, stamp};

/// Where a bar begins and ends, in thousandths of its width.
const WIDTH: u64 = 1_000;

struct Window {
    name: &'static str,
    /// What it means, and when it ends.
    told: String,
    /// `None` if there is no such window.
    until: Option<Timestamp>,
}

struct Bars {
    of: String,
    from: Timestamp,
    windows: [Window; 2],
}

pub(super) fn show(record: &Record, now: Timestamp) -> Markup {
    let in_steps = record.effect.contract.mechanism() == MechanismKind::Steps;
    let own = (!in_steps || record.effect.pin.is_some()).then_some((String::new(), &record.effect));
    let steps = record.steps.iter().map(|(name, step)| (format!("Step {name}"), &step.effect));
    let bars: Vec<Bars> = own
        .into_iter()
        .chain(steps)
        .filter_map(|(of, effect)| Some(bars(of, effect.first_sent_at()?, &effect.contract, record, now)))
        .collect();
    html! {
        @if bars.is_empty() {
            p.hint { "Both windows open with the first send. " (promise(record)) }
        }
        @for bars in &bars { (figure(bars, now)) }
    }
}

fn bars(of: String, from: Timestamp, terms: &Terms, record: &Record, now: Timestamp) -> Bars {
    let recognised = terms.window_end(from);
    let blind = from.after(record.policy.retry.horizon);
    let destination = Window {
        name: "The destination recognises a repeat",
        told: recognised.map_or_else(|| unrecognised(terms.retention()).to_owned(), |end| ending(end, now)),
        until: recognised,
    };
    let is_used = recognised.is_some() || record.policy.on_unknown == OnUnknown::MayDuplicate;
    let ours = Window {
        name: "We send without asking",
        told: if is_used { ending(blind, now) } else { "never, since it could act twice".to_owned() },
        until: is_used.then_some(blind),
    };
    Bars { of, from, windows: [destination, ours] }
}

fn unrecognised(retention: Retention) -> &'static str {
    match retention {
        Retention::Unstated => "for a time that it does not state, so we do not rely on it",
        _ => "never: each request is a new action",
    }
}

fn ending(end: Timestamp, now: Timestamp) -> String {
    if is_for_ever(end) {
        return "for ever".to_owned();
    }
    let tense = if end <= now { "ended" } else { "ends" };
    format!("{tense} {}, at {} UTC", distance(end, now), stamp(end))
}

/// What the destination promises, before anything was sent.
fn promise(record: &Record) -> String {
    let terms = &record.effect.contract;
    match terms.retention() {
        _ if terms.mechanism() == MechanismKind::Steps => {
            "Each named step has a destination of its own.".to_owned()
        }
        _ if terms.mechanism() == MechanismKind::None => {
            "The destination recognises no repeated request.".to_owned()
        }
        Retention::For(time) => format!("The destination recognises a repeated request for {}.", span(time)),
        Retention::Forever => "The destination recognises a repeated request for ever.".to_owned(),
        Retention::Unstated => {
            "The destination does not say for how long it recognises a repeated request.".to_owned()
        }
    }
}

fn figure(bars: &Bars, now: Timestamp) -> Markup {
    let ends = bars.windows.iter().filter_map(|window| window.until).filter(|end| !is_for_ever(*end));
    let last = ends.chain([now]).max().unwrap_or(now);
    let scale = Scale::new(bars.from, last);
    html! {
        figure.windows {
            @if !bars.of.is_empty() { figcaption { (bars.of) } }
            @for window in &bars.windows {
                div.window {
                    span.name { (window.name) }
                    (bar(window, bars.from, now, &scale))
                    span.hint { (window.told) }
                }
            }
            div.axis { span { "first sent " (distance(bars.from, now)) } span.now { "now" } }
        }
    }
}

fn bar(window: &Window, from: Timestamp, now: Timestamp, scale: &Scale) -> Markup {
    let end = window.until.map(|end| if is_for_ever(end) { WIDTH } else { scale.place(end) });
    let label = format!("{}: {}", window.name, window.told);
    let is_over = window.until.is_none_or(|end| end <= now);
    html! {
        svg.extent viewBox={ "0 0 " (WIDTH) " 16" } preserveAspectRatio="none" role="img" aria-label=(label) {
            rect.track x="0" y="4" width=(WIDTH) height="8" {}
            @if let Some(end) = end {
                rect class=(if is_over { "over" } else { "open" }) x=(scale.place(from)) y="4" width=(end) height="8" {}
            }
            line.now x1=(scale.place(now)) x2=(scale.place(now)) y1="0" y2="16" {}
        }
    }
}

/// From the first send to a little behind the last thing of interest.
struct Scale {
    from: Timestamp,
    millis: u64,
}

impl Scale {
    fn new(from: Timestamp, last: Timestamp) -> Self {
        let millis = u64::try_from(last.since(from).as_millis()).unwrap_or(u64::MAX).max(1_000);
        Self { from, millis: millis.saturating_add(millis / 20) }
    }

    fn place(&self, at: Timestamp) -> u64 {
        let passed = at.since(self.from).as_millis() * u128::from(WIDTH) / u128::from(self.millis);
        u64::try_from(passed).unwrap_or(WIDTH).min(WIDTH)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn places_are_thousandths_of_the_bar() {
        let from = Timestamp::from_millis(1_000_000);
        let scale = Scale::new(from, from.after(Duration::from_secs(2_010)));
        assert_eq!(scale.place(from), 0);
        assert_eq!(scale.place(from.after(Duration::from_secs(2_111))), 1_000);
        assert_eq!(scale.place(from.after(Duration::from_secs(1_056))), 500);
        assert_eq!(scale.place(Timestamp::from_millis(i64::MAX)), 1_000);
        assert_eq!(scale.place(Timestamp::EPOCH), 0);
    }
}
