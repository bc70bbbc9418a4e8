//! Boundaries between the parts of a message: random where lettre drew them, and the same on every attempt here.

use ratchet_core::Fingerprint;

/// How long the boundaries are that lettre draws.
const LENGTH: usize = 40;

/// The message with digests of its content in the place of random boundaries. Nobody can write a text that contains the
/// digest of a message with this text in it.
pub(crate) fn settled(message: &[u8]) -> Vec<u8> {
    let mut drawn = Vec::new();
    find_drawn(message, &mut drawn);
    let blank = replaced(message, &drawn, |_| "-".repeat(LENGTH));
    let content = Fingerprint::of(&blank);
    replaced(message, &drawn, |place| {
        let digest = Fingerprint::of_parts(&[b"boundary 1", content.as_bytes(), &place.to_be_bytes()]);
        digest.to_string().chars().take(LENGTH).collect()
    })
}

/// The random boundaries of a part and of the parts in it, outermost first.
fn find_drawn<'a>(part: &'a [u8], drawn: &mut Vec<&'a [u8]>) {
    let Some((head, body)) = split_once(part, b"\r\n\r\n") else { return };
    let Some((_, parameter)) = split_once(head, b"boundary=\"") else { return };
    let Some((boundary, _)) = split_once(parameter, b"\"") else { return };
    // One that an author chose is the same again already.
    if boundary.len() == LENGTH && boundary.iter().all(u8::is_ascii_alphanumeric) {
        drawn.push(boundary);
    }
    let delimiter = [b"--", boundary].concat();
    let mut rest = split_once(body, &delimiter).map(|(_, rest)| rest);
    while let Some((inner, next)) = rest.and_then(|rest| split_once(rest, &delimiter)) {
        find_drawn(inner, drawn);
        rest = Some(next);
    }
}

fn replaced(message: &[u8], drawn: &[&[u8]], new: impl Fn(usize) -> String) -> Vec<u8> {
    let mut message = message.to_vec();
    for (place, boundary) in drawn.iter().enumerate() {
        let new = new(place);
        let mut from = 0;
        while let Some(at) = position(&message[from..], boundary) {
            message[from + at..][..LENGTH].copy_from_slice(new.as_bytes());
            from += at + LENGTH;
        }
    }
    message
}

fn split_once<'a>(text: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    position(text, separator).map(|at| (&text[..at], &text[at + separator.len()..]))
}

fn position(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use lettre::message::header::ContentType;
    use lettre::message::{Attachment, MultiPart, SinglePart};

    use super::*;

    fn nested() -> Vec<u8> {
        let text = "see boundary=\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"".to_owned();
        let alternative = MultiPart::alternative_plain_html(text, "<p>see</p>".to_owned());
        let attached = Attachment::new("a.txt".to_owned()).body("a".to_owned(), ContentType::TEXT_PLAIN);
        let mixed = MultiPart::mixed().multipart(alternative).singlepart(attached);
        let mixed = MultiPart::mixed()
            .boundary("chosen")
            .multipart(mixed)
            .singlepart(SinglePart::plain("b".to_owned()));
        mixed.formatted()
    }

    #[test]
    fn random_boundaries_are_found_at_every_depth_and_nowhere_else() {
        let message = nested();
        let mut drawn = Vec::new();
        find_drawn(&message, &mut drawn);
        assert_eq!(drawn.len(), 2);
        let shown = String::from_utf8(settled(&message)).unwrap();
        assert!(
            drawn.iter().all(|boundary| !shown.contains(std::str::from_utf8(boundary).unwrap())),
            "{shown}"
        );
        assert!(shown.contains("--chosen--") && shown.contains("boundary=\"aaaaaaaa"), "{shown}");
    }

    #[test]
    fn the_same_content_is_the_same_bytes_and_parses_as_before() {
        let (one, other) = (nested(), nested());
        assert_ne!(one, other);
        let settled = super::settled(&one);
        assert_eq!(settled, super::settled(&other));
        // Each of the two stands in its header, before each of its two parts, and at the end.
        let mut boundaries = Vec::new();
        find_drawn(&settled, &mut boundaries);
        let count = |boundary: &[u8]| settled.windows(LENGTH).filter(|window| *window == boundary).count();
        assert_eq!(boundaries.iter().map(|boundary| count(boundary)).collect::<Vec<_>>(), [4, 4]);
    }
}
