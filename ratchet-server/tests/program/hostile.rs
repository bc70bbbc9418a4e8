//! Input that nobody writes on purpose, and calls that cannot be answered.

use std::io::{Read, Write};
use std::process::Stdio;
use std::thread;

use crate::support::{program, ratchet};

#[test]
fn text_that_is_not_utf8_is_named_by_line_and_what_came_before_is_shown() {
    for (kind, sound) in [("keys", "order:<order.id>"), ("fields", "order.id")] {
        let input = [sound.as_bytes(), b"\nx.ab\xFFc\norder.id\n"].concat();
        let ended = ratchet(&["lint", kind, "--format=json"], input);
        assert_eq!(ended.out, format!("{{\"line\":1,\"input\":\"{sound}\",\"findings\":[]}}\n"));
        assert_eq!(
            ended.err,
            "error: line 2 of <stdin> is not UTF-8 from its byte 5 on; save the text as UTF-8\n"
        );
        assert_eq!(ended.code, Some(2));
    }
}

#[test]
fn a_strangers_file_name_does_not_command_the_terminal() {
    let ended = ratchet(&["lint", "keys", "gone\u{1B}[2J"], "");
    assert!(ended.err.starts_with("error: gone\u{FFFD}[2J cannot be read: "), "{:?}", ended.err);
}

#[test]
fn a_line_has_a_bound() {
    let long = "a".repeat(65_536);
    let ended = ratchet(&["lint", "keys", "--format=json"], format!("\u{FEFF}{long}\r\nb:<b_id>\r\n"));
    assert_eq!(ended.out.lines().count(), 2, "the longest line is read");

    let ended = ratchet(&["lint", "keys", "--format=json"], format!("b:<b_id>\n{long}a\n"));
    assert_eq!(
        ended.err,
        "error: line 2 of <stdin> is longer than 65536 bytes; put one template or field on a line\n"
    );
    assert_eq!(ended.code, Some(2));

    let ended = ratchet(&["lint", "fields"], "x".repeat(1_000_000));
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""));
}

#[test]
fn a_line_without_an_end_is_not_read_to_its_end() {
    let mut child = program()
        .args(["lint", "keys"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    // Goes on until the program has gone away.
    while stdin.write_all(&[b'x'; 4096]).is_ok() {}
    assert_eq!(child.wait().expect("the program ends").code(), Some(2));
}

#[test]
fn broken_templates_are_judged_without_a_panic() {
    let lines = [
        "<",
        ">",
        "<>",
        "a:<",
        "a:<b",
        "a:<<b>",
        "a:<b<c>",
        "a>b<c",
        "{",
        "${",
        "a\0b:<id>",
        "\u{202E}<id>",
        "<\u{1B}[2J>",
        "\u{1B}[2J\u{202E}.email",
    ];
    for kind in ["keys", "fields"] {
        let ended = ratchet(&["lint", kind, "--format=json"], lines.join("\n"));
        assert!(matches!(ended.code, Some(0 | 1)), "{kind}: {:?} {}", ended.code, ended.err);
        let read: Vec<String> = ended
            .out
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("an object"))
            .map(|object| object["input"].as_str().expect("a text").to_owned())
            .collect();
        assert_eq!(read, lines, "{kind}");

        let ended = ratchet(&["lint", kind], lines.join("\n"));
        assert!(!ended.out.contains(['\0', '\u{1B}', '\u{202E}']), "{kind}: {:?}", ended.out);
    }
}

#[test]
fn many_lines_are_judged_in_order() {
    let lines = 100_000;
    let ended = ratchet(
        &["lint", "keys", "--format=json"],
        "mail-<user.email>\norder-<order.id>\n".repeat(lines / 2),
    );
    assert_eq!(ended.out.lines().count(), lines);
    let last = ended.out.lines().last().expect("a line");
    assert_eq!(last, r#"{"line":100000,"input":"order-<order.id>","findings":[]}"#);
    assert_eq!(ended.code, Some(1));
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    for format in ["text", "json"] {
        let mut child = program()
            .args(["lint", "keys", "--format", format])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        let writer = thread::spawn(move || {
            // Ends when the program has gone away in its turn.
            while stdin.write_all(b"mail-<user.email>\n").is_ok() {}
        });
        let mut first = [0; 10];
        child.stdout.take().expect("standard output is a pipe").read_exact(&mut first).expect("an answer");
        // Standard output is closed here.
        let output = child.wait_with_output().expect("the program ends");
        writer.join().expect("the writer ends");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.status.code(), Some(1), "{format}");
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let ended = ratchet(&["lint", "keys", "no/such/file"], "");
    assert!(ended.err.starts_with("error: no/such/file cannot be read: "), "{}", ended.err);
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""));

    let folder = tempfile::tempdir().expect("a folder");
    let ended = ratchet(&["lint", "fields", folder.path().to_str().expect("a path in UTF-8")], "");
    assert!(ended.err.contains(" cannot be read: "), "{}", ended.err);
    assert_eq!(ended.code, Some(2));
}

#[test]
fn wrong_calls_end_with_two() {
    for arguments in [
        &[][..],
        &["lint"],
        &["lint", "key"],
        &["lint", "keys", "--format", "xml"],
        &["lint", "keys", "a", "b"],
    ] {
        let ended = ratchet(arguments, "");
        assert_eq!(ended.code, Some(2), "{arguments:?}");
        assert_eq!(ended.out, "", "{arguments:?}");
    }
}
