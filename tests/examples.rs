//! The small examples, with their real kills. Each fails by itself if what it shows does not hold.
#![cfg(all(feature = "http", feature = "mail", feature = "sqlite"))]

use std::process::Command;

/// Cargo builds examples together with the tests, in the folder beside theirs.
fn run(name: &str) -> String {
    let this = std::env::current_exe().unwrap();
    let example = this.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(example.exists(), "build it first: cargo build --all-features --example {name}");
    let output = Command::new(example).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn database_write() {
    let text = run("database_write");
    assert!(text.ends_with("attempts 2, bookings 1, the record is succeeded\n"), "{text}");
}

#[test]
fn email() {
    let text = run("email");
    let line = |begins: &str| text.lines().find(|line| line.starts_with(begins)).unwrap().to_owned();
    let receipt = line("receipt");
    let ids: Vec<&str> = receipt.split('"').filter(|part| part.starts_with('<')).collect();
    assert!(ids.len() == 2 && ids[0] == ids[1], "{text}");
    assert!(receipt.ends_with("the record is succeeded"), "{text}");
    let reminder = line("reminder");
    assert_eq!(reminder.matches("@shop.example>").count(), 1, "{text}");
    assert!(reminder.ends_with("the record is abandoned"), "{text}");
}

#[test]
fn outbox() {
    let text = run("outbox");
    assert!(text.ends_with("requests by key: {\"order:7:announce:v1\": 2}\n"), "{text}");
}
