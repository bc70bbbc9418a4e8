//! Fingerprints inside JSON.

use ratchet_core::Fingerprint;

/// In lower case, as [`Fingerprint`] prints itself.
pub(crate) fn encode(fingerprint: &Fingerprint) -> String {
    let digit = |value: u8| char::from(if value < 10 { b'0' + value } else { b'a' + value - 10 });
    fingerprint.as_bytes().iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// In either case; `None` if it is none.
pub(crate) fn decode(text: &str) -> Option<Fingerprint> {
    let mut bytes = [0; 32];
    if text.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        for digit in digits {
            *byte = (*byte << 4) | u8::try_from(char::from(*digit).to_digit(16)?).ok()?;
        }
    }
    Some(Fingerprint::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_for_the_bytes() {
        let mut bytes = [0; 32];
        (bytes[0], bytes[1], bytes[31]) = (0x09, 0xAF, 0xF0);
        let fingerprint = Fingerprint::from_bytes(bytes);
        let text = encode(&fingerprint);
        assert_eq!(text, format!("09af{}f0", "00".repeat(29)));
        assert_eq!(text, fingerprint.to_string());
        assert_eq!(decode(&text), Some(fingerprint));
        assert_eq!(decode(&text.to_uppercase()), Some(fingerprint));
        for no_fingerprint in ["", "09af", &text[..62], &format!("{}gg", &text[..62]), &format!("{text}00")] {
            assert_eq!(decode(no_fingerprint), None, "{no_fingerprint}");
        }
    }
}
