//! The grammar of RFC 9110 for dates in headers, as patterns.

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const LONG_DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Whether the text is an `HTTP-date`, in one of its three forms.
pub(crate) fn is_http_date(text: &str) -> bool {
    let preferred = || {
        let rest = one_of(text, &DAYS)?;
        let rest = one_of(fits(rest, ", 00 ")?, &MONTHS)?;
        fits(rest, " 0000 00:00:00 GMT")
    };
    let of_rfc_850 = || {
        let rest = one_of(text, &LONG_DAYS)?;
        let rest = one_of(fits(rest, ", 00-")?, &MONTHS)?;
        fits(rest, "-00 00:00:00 GMT")
    };
    let of_asctime = || {
        let rest = one_of(one_of(text, &DAYS)?.strip_prefix(' ')?, &MONTHS)?;
        let rest = fits(rest, " 00").or_else(|| fits(rest, "  0"))?;
        fits(rest, " 00:00:00 0000")
    };
    [preferred(), of_rfc_850(), of_asctime()].contains(&Some(""))
}

fn one_of<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().find_map(|word| text.strip_prefix(word))
}

/// The rest behind the pattern, in which `0` stands for any digit.
fn fits<'a>(text: &'a str, pattern: &str) -> Option<&'a str> {
    let mut rest = text.chars();
    for wanted in pattern.chars() {
        let found = rest.next()?;
        let is_it = if wanted == '0' { found.is_ascii_digit() } else { found == wanted };
        if !is_it {
            return None;
        }
    }
    Some(rest.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_forms_are_dates_and_nothing_else_is() {
        for date in
            ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        {
            assert!(is_http_date(date), "{date}");
            assert!(!is_http_date(&format!("{date} ")) && !is_http_date(&date.to_lowercase()), "{date}");
        }
    }
}
