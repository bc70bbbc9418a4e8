//! Lengths of time, as people write and read them.

use std::time::Duration;

const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)];

/// Reads a number with a unit, such as `90s`, `15m`, `24h` or `30d`.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let read = || {
        let (unit, seconds) = UNITS.into_iter().find(|(unit, _)| text.ends_with(unit))?;
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(seconds).filter(|seconds| *seconds > 0).map(Duration::from_secs)
    };
    read().ok_or_else(|| "write a number and `s`, `m`, `h` or `d`, such as `15m`".to_owned())
}

/// The same in the largest unit that fits.
pub(super) fn spelled(span: Duration) -> String {
    let whole = span.as_secs();
    match UNITS
        .into_iter()
        .find(|(_, seconds)| whole > 0 && span.subsec_nanos() == 0 && whole.is_multiple_of(*seconds))
    {
        Some((unit, seconds)) => format!("{}{unit}", whole / seconds),
        None => format!("{span:?}"),
    }
}

/// The next whole number of a unit that people would say.
pub(super) fn rounded_up(span: Duration) -> Duration {
    let unit = match span.as_secs() {
        0..120 => 1,
        120..7200 => 60,
        _ => 3600,
    };
    let seconds = span.as_secs() + u64::from(span.subsec_nanos() > 0);
    Duration::from_secs(seconds.div_ceil(unit) * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_read_and_spelled_alike() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("23h", 82_800), ("30d", 2_592_000)] {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)));
            assert_eq!(spelled(Duration::from_secs(seconds)), text);
        }
        assert_eq!(spelled(Duration::from_millis(900)), "900ms");
        let rounded = |millis| spelled(rounded_up(Duration::from_millis(millis)));
        assert_eq!([rounded(1_100), rounded(330_000), rounded(95_040_000)], ["2s", "6m", "27h"]);
        for refused in ["", "5", "m", "0s", "-1s", "1.5h", "99999999999999999d"] {
            assert!(parse(refused).is_err(), "{refused}");
        }
    }
}
