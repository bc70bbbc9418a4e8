//! Pictures of the states over time, as SVG without a word in it: what stands beside it is HTML, which keeps its size.

use std::fmt::Write as _;
use std::time::Duration;

use maud::{Markup, html};
use ratchet::{RecordState, Timestamp};

use super::history::Sample;
use super::words::span;

/// How many columns a picture has.
const COLUMNS: usize = 90;

/// Its height; its width is ten units per column.
const HEIGHT: u64 = 100;

/// One span of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Column {
    /// What waited, ran and was uncertain at its end; `None` before the first sample.
    open: Option<[u64; 3]>,
    /// What ended well, and otherwise, meanwhile.
    ended: [u64; 2],
}

const OPEN: [RecordState; 3] = [RecordState::Pending, RecordState::Running, RecordState::Uncertain];
const WELL: [RecordState; 1] = [RecordState::Succeeded];
const OTHERWISE: [RecordState; 4] =
    [RecordState::Failed, RecordState::Exhausted, RecordState::Cancelled, RecordState::Abandoned];

/// How much time a picture shows.
pub(super) struct Reach {
    pub(super) until: Timestamp,
    pub(super) back: Duration,
}

impl Reach {
    fn column_of(&self, at: Timestamp) -> Option<usize> {
        let ago = self.until.since(at);
        if ago >= self.back {
            return None;
        }
        let from_start = self.back.saturating_sub(ago).as_millis() * COLUMNS as u128 / self.back.as_millis();
        usize::try_from(from_start).ok().map(|column| column.min(COLUMNS - 1))
    }
}

fn columns(samples: &[Sample], reach: &Reach) -> Vec<Column> {
    let mut columns = vec![Column::default(); COLUMNS];
    let mut before: Option<&Sample> = None;
    for sample in samples {
        if let Some(column) = reach.column_of(sample.at).and_then(|at| columns.get_mut(at)) {
            column.open = Some(OPEN.map(|state| sample.of_state(state)));
            if let Some(before) = before {
                let more = |states: &[RecordState]| {
                    states
                        .iter()
                        .map(|state| sample.of_state(*state).saturating_sub(before.of_state(*state)))
                        .sum::<u64>()
                };
                column.ended[0] += more(&WELL);
                column.ended[1] += more(&OTHERWISE);
            }
        }
        before = Some(sample);
    }
    // Between two samples nothing is known to have changed.
    let mut last = None;
    let newest = columns.iter().rposition(|column| column.open.is_some()).unwrap_or(0);
    for column in columns.iter_mut().take(newest + 1) {
        last = column.open.or(last);
        column.open = last;
    }
    columns
}

/// What waits, runs and is uncertain, and what ended, over time.
pub(super) fn show(samples: &[Sample], reach: &Reach) -> Markup {
    let columns = columns(samples, reach);
    let most_open = columns.iter().filter_map(|column| column.open).flatten().max().unwrap_or(0);
    let most_ended = columns.iter().map(|column| column.ended.iter().sum::<u64>()).max().unwrap_or(0);
    let width = COLUMNS * 10;
    let column = span(reach.back / u32::try_from(COLUMNS).unwrap_or(1));
    html! {
        div.charts {
            figure {
                figcaption { "Open records" span.legend { @for state in OPEN { span class={ "line " (state) } { (state) } } } }
                div.plot {
                    svg viewBox={ "0 0 " (width) " " (HEIGHT) } preserveAspectRatio="none" role="img"
                        aria-label={ "Open records over the last " (span(reach.back)) ", at most " (most_open) " in one state" } {
                        @for (index, state) in OPEN.iter().enumerate() {
                            polyline class=(state) points=(line(&columns, index, most_open)) {}
                        }
                    }
                    span.most { (most_open) }
                }
                div.axis { span { (span(reach.back)) " ago" } span { "now" } }
            }
            figure {
                figcaption {
                    "Ended, per " (column)
                    span.legend { span.line.succeeded { "succeeded" } span.line.failed { "otherwise" } }
                }
                div.plot {
                    svg viewBox={ "0 0 " (width) " " (HEIGHT) } preserveAspectRatio="none" role="img"
                        aria-label={ "Records that ended over the last " (span(reach.back)) ", at most " (most_ended) " in " (column) } {
                        @for (index, column) in columns.iter().enumerate() { (bars(index, column.ended, most_ended)) }
                    }
                    span.most { (most_ended) }
                }
                div.axis { span { (span(reach.back)) " ago" } span { "now" } }
            }
        }
    }
}

fn scaled(value: u64, most: u64) -> u64 {
    value * (HEIGHT - 4) / most.max(1)
}

fn line(columns: &[Column], index: usize, most: u64) -> String {
    let mut points = String::new();
    for (number, column) in columns.iter().enumerate() {
        if let Some(value) = column.open.and_then(|open| open.get(index).copied()) {
            let height = HEIGHT - 2 - scaled(value, most);
            let _ = write!(points, "{},{height} {},{height} ", number * 10, number * 10 + 10);
        }
    }
    points
}

fn bars(index: usize, [well, otherwise]: [u64; 2], most: u64) -> Markup {
    let (well, otherwise) = (scaled(well, most), scaled(otherwise, most));
    html! {
        @if well > 0 { rect.succeeded x=(index * 10 + 1) y=(HEIGHT - well) width="8" height=(well) {} }
        @if otherwise > 0 {
            rect.failed x=(index * 10 + 1) y=(HEIGHT - well - otherwise) width="8" height=(otherwise) {}
        }
    }
}

/// How many records ended within a span of time, as far as it was watched: well, and otherwise.
pub(super) fn ended_within(samples: &[Sample], reach: &Reach) -> [u64; 2] {
    columns(samples, reach)
        .iter()
        .fold([0, 0], |[well, otherwise], column| [well + column.ended[0], otherwise + column.ended[1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_768_464_000_000);
    const HOUR: Reach = Reach { until: NOW, back: Duration::from_hours(1) };

    fn ago(minutes: i64, counts: &[(RecordState, u64)]) -> Sample {
        Sample::with(Timestamp::from_millis(NOW.as_millis() - minutes * 60_000), counts)
    }

    #[test]
    fn differences_count_as_what_ended() {
        use RecordState::{Failed, Pending, Succeeded};
        let samples = [
            ago(90, &[(Succeeded, 5)]),
            ago(50, &[(Succeeded, 9), (Pending, 3)]),
            ago(20, &[(Succeeded, 20), (Failed, 2), (Pending, 1)]),
            ago(0, &[(Succeeded, 11), (Failed, 2)]),
        ];
        let columns = columns(&samples, &HOUR);
        let seen: Vec<(usize, [u64; 2])> = columns
            .iter()
            .map(|column| column.ended)
            .enumerate()
            .filter(|(_, ended)| *ended != [0, 0])
            .collect();
        assert_eq!(seen, [(15, [4, 0]), (60, [11, 2])], "a purge is no negative end");
        let open: Vec<Option<u64>> = columns.iter().map(|column| column.open.map(|open| open[0])).collect();
        assert_eq!(
            (open[14], open[15], open[59], open[60], open[89]),
            (None, Some(3), Some(3), Some(1), Some(0))
        );
        assert_eq!(ended_within(&samples, &HOUR), [15, 2]);
    }
}
