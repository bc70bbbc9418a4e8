//! `ratchet explain`.

use ratchet_key::Code;

use crate::support::ratchet;

const CODES: [Code; 15] = [
    Code::R001,
    Code::R002,
    Code::R003,
    Code::R004,
    Code::R005,
    Code::R006,
    Code::R007,
    Code::R008,
    Code::R009,
    Code::R010,
    Code::R011,
    Code::R012,
    Code::R013,
    Code::R014,
    Code::R015,
];

#[test]
fn every_code_is_explained_under_its_title() {
    for code in CODES {
        let ended = ratchet(&["explain", code.as_str()], "");
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{code}");
        assert!(ended.out.starts_with(&format!("{code}: {}\n\n**What:** ", code.title())), "{}", ended.out);
        for label in ["\n**Wrong:**", "\n```rust", "\n**Right:**", "\n**Allow:**"] {
            assert!(ended.out.contains(label), "{code} lacks {label:?}");
        }
        assert!(!ended.out.contains("\n## ") && ended.out.ends_with(".\n"), "{code} ends with its section");
    }
}

#[test]
fn case_does_not_matter() {
    assert_eq!(ratchet(&["explain", "r002"], "").out, ratchet(&["explain", "R002"], "").out);
}

#[test]
fn without_a_code_all_are_listed() {
    let ended = ratchet(&["explain"], "");
    let expected: Vec<String> = CODES.iter().map(|code| format!("{code}: {}", code.title())).collect();
    assert_eq!(ended.out.lines().collect::<Vec<_>>(), expected);
    assert_eq!(ended.code, Some(0));
}

#[test]
fn an_unknown_code_is_refused_with_the_list() {
    for code in ["R016", "", "R00", "attempt"] {
        let ended = ratchet(&["explain", code], "");
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{code:?}");
        let list = "`ratchet explain` lists them: R001, R002, R003, R004, R005, R006, R007, R008, R009, R010, R011, R012, R013, R014, R015\n";
        assert_eq!(ended.err, format!("error: there is no finding `{code}`; {list}"));
    }
}
