//! JSON bodies that are the same bytes on every attempt.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

/// The JSON of `body` with the names of its objects sorted. Numbers and texts stay as serde wrote them.
pub(crate) fn sorted<T: Serialize + ?Sized>(body: &T) -> serde_json::Result<Box<RawValue>> {
    let mut text = String::new();
    write_sorted(&serde_json::value::to_raw_value(body)?, &mut text)?;
    RawValue::from_string(text)
}

fn write_sorted(value: &RawValue, out: &mut String) -> serde_json::Result<()> {
    match value.get().as_bytes().first() {
        Some(b'{') => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(value.get())?;
            out.push('{');
            for (place, (name, member)) in members.into_iter().enumerate() {
                separate(place, out);
                out.push_str(&serde_json::to_string(&name)?);
                out.push(':');
                write_sorted(member, out)?;
            }
            out.push('}');
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(value.get())?;
            out.push('[');
            for (place, item) in items.into_iter().enumerate() {
                separate(place, out);
                write_sorted(item, out)?;
            }
            out.push(']');
        }
        _ => out.push_str(value.get()),
    }
    Ok(())
}

fn separate(place: usize, out: &mut String) {
    if place > 0 {
        out.push(',');
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn text<T: Serialize + ?Sized>(body: &T) -> String {
        sorted(body).unwrap().get().to_owned()
    }

    #[test]
    fn names_are_sorted_at_every_depth() {
        let inner: HashMap<&str, u8> = [("z", 1), ("a", 2), ("m\"n", 3)].into();
        assert_eq!(text(&[HashMap::from([("k", inner)])]), r#"[{"k":{"a":2,"m\"n":3,"z":1}}]"#);
    }

    #[test]
    fn numbers_and_texts_stay_as_they_were_written() {
        let raw = RawValue::from_string(r#"{"p":1.10,"n":12345678901234567890123}"#.to_owned()).unwrap();
        assert_eq!(text(&raw), r#"{"n":12345678901234567890123,"p":1.10}"#);
        assert_eq!(text(&[19.99_f32]), "[19.99]");
        assert_eq!(text(&u128::MAX), "340282366920938463463374607431768211455");
        assert_eq!(text("ä\n\"<"), r#""ä\n\"<""#);
        assert_eq!(text(&(None::<u8>, true, Vec::<u8>::new())), "[null,true,[]]");
    }
}
