#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| ratchet_hostile::canonical_json(input));
