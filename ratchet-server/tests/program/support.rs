//! Starts the program.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_ratchet"))
}

/// Runs the program with `input` on its standard input.
pub(crate) fn ratchet(arguments: &[&str], input: impl Into<Vec<u8>>) -> Ended {
    let mut child = program()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    let input = input.into();
    // In a thread of its own, since the program answers while it reads; it may also end before it has read all.
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("the input is written");
    Ended {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("the output is UTF-8"),
        err: String::from_utf8(output.stderr).expect("the errors are UTF-8"),
    }
}

/// Runs a command on a store.
pub(crate) fn on(store: &str, arguments: &[&str]) -> Ended {
    let (command, rest) = arguments.split_first().expect("a command");
    ratchet(&[&[*command, "--store", store], rest].concat(), "")
}
