//! Canonical JSON, beside a second telling of RFC 8785.

use std::fmt::Write as _;

use ratchet_core::{Payload, PayloadError};
use serde_json::Value;

/// Whatever is accepted has the text that RFC 8785 gives it, which is read back and is its own canonical form.
pub fn canonical_json(input: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(input) else { return };
    match Payload::from_value(&value, Payload::LARGEST_INPUT) {
        Ok(payload) => {
            let mut expected = String::new();
            write(&value, &mut expected);
            assert_eq!(payload.as_str(), expected);
            let read: Value = payload.decode().expect("what is written is read");
            let mut again = String::new();
            write(&read, &mut again);
            assert_eq!(again, expected);
            match Payload::from_value(&read, Payload::LARGEST_INPUT) {
                Ok(again) => assert_eq!(again.fingerprint(), payload.fingerprint()),
                // `1e20` is a double, and the same with all its digits an integer.
                Err(_) => assert!(has(&value, &is_large_double)),
            }
        }
        Err(PayloadError::IntegerTooLarge) => assert!(has(&value, &is_rounded)),
        Err(PayloadError::TooDeep) => assert!(depth(&value) > 64),
        Err(PayloadError::TooLarge { bytes, limit }) => assert!(bytes > limit),
        Err(other) => panic!("{other:?}"),
    }
}

fn has(value: &Value, wanted: &impl Fn(&Value) -> bool) -> bool {
    wanted(value)
        || match value {
            Value::Array(items) => items.iter().any(|item| has(item, wanted)),
            Value::Object(members) => members.values().any(|member| has(member, wanted)),
            _ => false,
        }
}

fn is_rounded(value: &Value) -> bool {
    let number = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    number.is_some_and(|number| number.abs() >= 1 << 53)
}

fn is_large_double(value: &Value) -> bool {
    value.is_f64() && value.as_f64().is_some_and(|number| (9.0e15..1.0e21).contains(&number.abs()))
}

fn depth(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(members) => members.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number_text(number.as_f64().expect("a double"))),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            separated(items.iter(), out, write);
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            // By the units of UTF-16, which is not the order of UTF-8.
            members.sort_by_key(|(name, _)| name.encode_utf16().collect::<Vec<u16>>());
            out.push('{');
            separated(members.into_iter(), out, |(name, member), out| {
                write_text(name, out);
                out.push(':');
                write(member, out);
            });
            out.push('}');
        }
    }
}

fn separated<T>(items: impl Iterator<Item = T>, out: &mut String, write: impl Fn(T, &mut String)) {
    for (place, item) in items.enumerate() {
        if place > 0 {
            out.push(',');
        }
        write(item, out);
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\0'..='\u{1f}' => write!(out, "\\u{:04x}", u32::from(char)).expect("text takes text"),
            _ => out.push(char),
        }
    }
    out.push('"');
}

/// As ECMAScript writes a number: the fewest digits that are read back as it, laid out by the place of the point.
fn number_text(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{:e}", number.abs());
    let (digits, exponent) = scientific.split_once('e').expect("an exponent");
    let digits = even_of_two(number.abs(), digits.replace('.', ""));
    let length = i32::try_from(digits.len()).expect("at most 17 digits");
    let point = exponent.parse::<i32>().expect("a number") + 1;
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    let text = match point {
        _ if length <= point && point <= 21 => format!("{digits}{}", zeros(point - length)),
        1..=21 => {
            let (whole, fraction) = digits.split_at(usize::try_from(point).expect("positive"));
            format!("{whole}.{fraction}")
        }
        -5..=0 => format!("0.{}{digits}", zeros(-point)),
        _ => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            let sign = if point > 0 { "+" } else { "-" };
            format!("{first}{dot}{rest}e{sign}{}", (point - 1).abs())
        }
    };
    if number < 0.0 { format!("-{text}") } else { text }
}

/// Where two numbers of so many digits are equally near, ECMAScript takes the even one, and Rust either.
fn even_of_two(number: f64, digits: String) -> String {
    let exact = format!("{number:.60e}").replace('.', "");
    let (kept, left) = exact.split_at(digits.len());
    let is_between = left.starts_with('5')
        && left[1..].split('e').next().is_some_and(|rest| rest.bytes().all(|it| it == b'0'));
    if is_between && kept.ends_with(['0', '2', '4', '6', '8']) { kept.to_owned() } else { digits }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the appendix of RFC 8785.
    #[test]
    fn numbers_are_written_as_the_rfc_says() {
        for (bits, text) in [
            (0x0000_0000_0000_0001, "5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0xc1b3_de43_5555_5555, "-333333333.3333333"),
            (0x8000_0000_0000_0000, "0"),
            // Half way between two.
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            assert_eq!(number_text(f64::from_bits(bits)), text);
        }
    }
}
