//! `ratchet lint keys`: what it prints, and with which exit code it ends.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use ratchet_key::{Finding, inspect_foreign};

use crate::support::{program, ratchet};

const MAIL: &str = "mail:<user.email>:<now>";

/// The two findings on [`MAIL`]: which words they use is for the key language's own tests.
fn mail() -> [Finding; 2] {
    inspect_foreign(MAIL).try_into().expect("an address and a clock")
}

#[test]
fn json_has_one_object_for_each_line() {
    let ended = ratchet(&["lint", "keys", "--format", "json"], format!("invoice:<invoice_id>\n\n{MAIL}\n"));
    let [email, now] = mail();
    let text = |text: &str| serde_json::to_string(text).expect("text is JSON");
    let expected = format!(
        concat!(
            r#"{{"line":1,"input":"invoice:<invoice_id>","findings":[]}}"#,
            "\n",
            r#"{{"line":2,"input":"","findings":[]}}"#,
            "\n",
            r#"{{"line":3,"input":"mail:<user.email>:<now>","findings":["#,
            r#"{{"code":"R004","placeholder":"user.email","word":"email","category":"direct_pii","message":{},"help":{}}},"#,
            r#"{{"code":"R002","placeholder":"now","word":"now","category":null,"message":{},"help":{}}}]}}"#,
            "\n"
        ),
        text(&email.message),
        text(&email.help),
        text(&now.message),
        text(&now.help)
    );
    assert_eq!(ended.out, expected);
    assert_eq!((ended.code, ended.err.as_str()), (Some(1), ""));
}

#[test]
fn text_shows_place_template_carets_and_help() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("keys.txt");
    fs::write(&file, format!("invoice:<invoice_id>\n{MAIL}\n")).expect("the file is written");
    let file = file.to_str().expect("a path in UTF-8");

    let ended = ratchet(&["lint", "keys", file], "");
    let [email, now] = mail();
    let expected = format!(
        "{file}:2:6: R004: {}\n\n    mail:<user.email>:<now>\n         ^^^^^^^^^^^^\nhelp: {}\n\n\
         {file}:2:19: R002: {}\n\n    mail:<user.email>:<now>\n                      ^^^^^\nhelp: {}\n\n",
        email.message, email.help, now.message, now.help
    );
    assert_eq!(ended.out, expected);
    assert_eq!(ended.err, format!("{file}: 2 checked, 1 with findings\n"));
    assert_eq!(ended.code, Some(1));
}

#[test]
fn sound_keys_are_clean() {
    for arguments in
        [&["lint", "keys"][..], &["lint", "keys", "-"], &["lint", "keys", "--format", "text", "-"]]
    {
        let ended = ratchet(arguments, "invoice:<invoice_id>:collect:v1\n  \norder:<order.id>");
        assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""));
        assert_eq!(ended.err, "<stdin>: 2 checked, 0 with findings\n");
    }
}

#[test]
fn nothing_to_judge_is_clean() {
    let ended = ratchet(&["lint", "keys", "--format", "json"], "");
    assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (Some(0), "", ""));
}

#[test]
fn a_number_sign_begins_no_comment() {
    let ended = ratchet(&["lint", "keys", "--format=json"], "#mail-<user.email>\n");
    assert!(
        ended.out.starts_with(r##"{"line":1,"input":"#mail-<user.email>","findings":["##),
        "{}",
        ended.out
    );
}

#[test]
fn line_ends_of_windows_and_the_mark_before_the_text_are_no_part_of_a_key() {
    let ended = ratchet(&["lint", "keys", "--format=json"], "\u{FEFF}a:<a_id>\r\n\r\nb:<b_id>\r\n");
    assert_eq!(
        ended.out,
        concat!(
            r#"{"line":1,"input":"a:<a_id>","findings":[]}"#,
            "\n",
            r#"{"line":2,"input":"","findings":[]}"#,
            "\n",
            r#"{"line":3,"input":"b:<b_id>","findings":[]}"#,
            "\n"
        )
    );
}

#[test]
fn a_line_is_answered_before_the_next_is_written() {
    let mut child = program()
        .args(["lint", "keys", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("standard output is a pipe")).lines();
    for (number, key) in [(1, "a:<a_id>"), (2, "b:<b_id>")] {
        writeln!(stdin, "{key}").expect("the program reads");
        let answer = answers.next().expect("an answer").expect("in UTF-8");
        assert_eq!(answer, format!(r#"{{"line":{number},"input":"{key}","findings":[]}}"#));
    }
    drop(stdin);
    assert_eq!(child.wait().expect("the program ends").code(), Some(0));
}
