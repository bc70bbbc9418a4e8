//! Against a mail server of another maker: Python's aiosmtpd, which `cargo xtask test` provides.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use ratchet::RecordState;
use ratchet::mail::lettre::message::header::ContentType;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::office::{Office, id_of};
use crate::tradeoffs::{send_invoice, send_reminder};
use crate::{ORDER, RECEIPT_ID, context, letter, receipt};

pub(crate) struct Aiosmtpd {
    pub(crate) port: u16,
    lines: Lines<BufReader<ChildStdout>>,
    _process: Child,
}

impl Aiosmtpd {
    pub(crate) async fn start(arguments: &[&str]) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let python = root.join("target/tools/python/bin/python");
        assert!(python.exists(), "aiosmtpd is missing: `cargo xtask test --only tests` installs it");
        let mut process = Command::new(python)
            .arg(root.join("tests/mail/server.py"))
            .args(arguments)
            .stdout(Stdio::piped())
            // It tells at length about clients that do not trust it.
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = lines.next_line().await.unwrap().expect("the server did not start").parse().unwrap();
        Self { port, lines, _process: process }
    }

    /// The next message that it took.
    pub(crate) async fn taken(&mut self) -> Value {
        let next = tokio::time::timeout(Duration::from_secs(30), self.lines.next_line());
        let line = next.await.expect("no message arrived for 30 seconds").unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// What it took since, up to a message that is sent now to see the end.
    async fn rest(&mut self) -> Vec<Value> {
        let way = ratchet::mail::Relay::plain("127.0.0.1").port(self.port);
        let mailer = ratchet::mail::Mailer::new(way, "shop.example").unwrap();
        mailer.send(&context(), receipt(7)).await.unwrap();
        let mut taken = Vec::new();
        loop {
            let next = self.taken().await;
            if next["message_id"] == RECEIPT_ID {
                return taken;
            }
            taken.push(next);
        }
    }
}

#[tokio::test]
async fn it_reads_a_message_with_parts_as_it_was_written() {
    let mut server = Aiosmtpd::start(&[]).await;
    let office = Office::at(server.port, ());
    let id = id_of(send_invoice::enqueue(&office.ratchet, ORDER).await.unwrap());
    let record = office.settled(ratchet::registry![send_invoice], &id).await;
    assert_eq!(record.state, RecordState::Succeeded);
    let taken = server.taken().await;
    assert_eq!(taken["from"], "shop@shop.example");
    assert_eq!(taken["to"], json!(["ada@customer.example"]));
    assert_eq!(taken["defects"], 0);
    assert_eq!(taken["message_id"], json!(record.result.unwrap().decode::<String>().unwrap()));
    let parts =
        json!([["text/plain", "Thank you"], ["text/html", "<p>Thank you</p>"], ["text/plain", "14.40"]]);
    assert_eq!(taken["parts"], parts);
}

#[tokio::test]
async fn it_takes_letters_beyond_ascii() {
    let mut server = Aiosmtpd::start(&[]).await;
    let way = ratchet::mail::Relay::plain("127.0.0.1").port(server.port);
    let mailer = ratchet::mail::Mailer::new(way, "shop.example").unwrap();
    let message =
        letter().header(ContentType::TEXT_PLAIN).subject("Grüße").body("Schöne Grüße".to_owned()).unwrap();
    mailer.send(&context(), message).await.unwrap();
    assert_eq!(server.taken().await["parts"], json!([["text/plain", "Schöne Grüße"]]));
}

#[tokio::test]
async fn at_least_once_where_it_takes_the_message_and_the_worker_dies() {
    let mut server = Aiosmtpd::start(&["silent"]).await;
    let office = Office::at(server.port, ());
    let id = id_of(send_invoice::enqueue(&office.ratchet, ORDER).await.unwrap());
    let doomed = office.doomed(ratchet::registry![send_invoice]);
    let first = server.taken().await;
    doomed.kill();
    let record = office.settled(ratchet::registry![send_invoice], &id).await;
    assert_eq!((record.state, record.attempts), (RecordState::Succeeded, 2));
    assert_eq!(server.rest().await, [first]);
}

#[tokio::test]
async fn at_most_once_where_it_takes_the_message_and_the_worker_dies() {
    let mut server = Aiosmtpd::start(&["silent"]).await;
    let office = Office::at(server.port, ());
    let id = id_of(send_reminder::enqueue(&office.ratchet, ORDER).await.unwrap());
    let doomed = office.doomed(ratchet::registry![send_reminder]);
    server.taken().await;
    doomed.kill();
    let record = office.settled(ratchet::registry![send_reminder], &id).await;
    assert_eq!((record.state, record.attempts), (RecordState::Abandoned, 1));
    assert!(server.rest().await.is_empty());
}
