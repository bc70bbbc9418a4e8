//! Sends a receipt and a reminder through a relay that takes both and falls silent, and kills the worker there.
//!
//! ```text
//! cargo run --features mail --example email
//! ```
//!
//! Whether a message that was handed over arrived is known to nobody then. The receipt says `may_duplicate` and is sent
//! again, with the same Message-ID; the reminder says `may_lose` and is not.

#[allow(dead_code, reason = "each example uses a part of it")]
mod support;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratchet::mail::lettre::Message;
use ratchet::mail::{MAIL, Mailer, Relay};
use ratchet::{Context, Enqueued, Failure, Input, Ratchet, RetryPolicy, State};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use support::{Result, Worker, parent_is_gone};

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Order {
    order_id: u64,
}

const AT_ONCE: RetryPolicy = RetryPolicy::doubling(3, Duration::ZERO, Duration::ZERO);

#[ratchet::operation(name = "send_receipt", version = "1", key = "order:<order_id>:receipt:v1",
    destination = MAIL, on_unknown = may_duplicate, retry = AT_ONCE)]
async fn send_receipt(ctx: Context, State(mailer): State<Mailer>, input: Order) -> Result<String, Failure> {
    Ok(mailer.send(&ctx, letter("Your receipt", input.order_id)?).await?.to_string())
}

#[ratchet::operation(name = "send_reminder", version = "1", key = "order:<order_id>:reminder:v1",
    destination = MAIL, on_unknown = may_lose, retry = AT_ONCE)]
async fn send_reminder(ctx: Context, State(mailer): State<Mailer>, input: Order) -> Result<String, Failure> {
    Ok(mailer.send(&ctx, letter("A reminder", input.order_id)?).await?.to_string())
}

fn letter(subject: &str, order_id: u64) -> Result<Message, Failure> {
    let builder = Message::builder().from("shop@shop.example".parse()?).to("ada@customer.example".parse()?);
    Ok(builder.subject(subject).body(format!("Order {order_id}"))?)
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => parent().await,
        [ledger, port] => worker(ledger, port.parse()?).await,
        _ => Err("this example has no arguments".into()),
    }
}

async fn worker(ledger: &str, port: u16) -> Result<ExitCode> {
    let mailer = Mailer::new(Relay::plain("127.0.0.1").port(port), "shop.example")?;
    let worker =
        Ratchet::open(ledger).await?.worker(ratchet::registry![send_receipt, send_reminder]).state(mailer);
    let worker = worker.lease(Duration::from_secs(1)).poll_interval(Duration::from_millis(50)).build()?;
    worker.run(parent_is_gone()).await?;
    Ok(ExitCode::SUCCESS)
}

async fn parent() -> Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let ledger = format!("sqlite:{}", folder.path().join("ratchet.db").display());
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port().to_string();
    let (is_silent, (take, mut taken)) = (Arc::new(AtomicBool::new(true)), unbounded_channel());
    let relay_is_silent = Arc::clone(&is_silent);
    std::thread::spawn(move || relay(&listener, &relay_is_silent, &take));

    let ratchet = Ratchet::open(&ledger).await?;
    let order = Order { order_id: 7 };
    let (Enqueued::New { id: receipt }, Enqueued::New { id: reminder }) = (
        send_receipt::enqueue(&ratchet, order.clone()).await?,
        send_reminder::enqueue(&ratchet, order).await?,
    ) else {
        return Err("they were on record already".into());
    };

    let first = Worker::spawn(&[&ledger, &port])?;
    let mut messages = Vec::new();
    for _ in 0..2 {
        messages.push(taken.recv().await.ok_or("the relay is gone")?);
    }
    first.kill().await?;
    println!("the relay took both and did not answer; the worker is killed");
    is_silent.store(false, Ordering::SeqCst);
    let receipt = Worker::spawn(&[&ledger, &port])?.settle(&ratchet, &receipt).await?;
    let reminder = Worker::spawn(&[&ledger, &port])?.settle(&ratchet, &reminder).await?;
    messages.extend(std::iter::from_fn(|| taken.try_recv().ok()));

    let of =
        |subject| messages.iter().filter(|(found, _)| found == subject).map(|(_, id)| id).collect::<Vec<_>>();
    let (receipts, reminders) = (of("Your receipt"), of("A reminder"));
    println!("receipt  (may_duplicate): {receipts:?}, the record is {}", receipt.state.as_str());
    println!("reminder (may_lose):      {reminders:?}, the record is {}", reminder.state.as_str());
    let holds = receipts.len() == 2 && receipts[0] == receipts[1] && reminders.len() == 1;
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A mail server that keeps subject and Message-ID of what it takes.
fn relay(listener: &TcpListener, is_silent: &Arc<AtomicBool>, taken: &UnboundedSender<(String, String)>) {
    for socket in listener.incoming().flatten() {
        let (is_silent, taken) = (Arc::clone(is_silent), taken.clone());
        std::thread::spawn(move || dialogue(&socket, &is_silent, &taken));
    }
}

fn dialogue(
    mut socket: &TcpStream,
    is_silent: &AtomicBool,
    taken: &UnboundedSender<(String, String)>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(socket).lines();
    socket.write_all(b"220 relay.example\r\n")?;
    while let Some(line) = lines.next().transpose()? {
        if line == "DATA" {
            socket.write_all(b"354 go ahead\r\n")?;
            let message: Vec<String> =
                lines.by_ref().map_while(std::result::Result::ok).take_while(|line| line != ".").collect();
            let header =
                |name| message.iter().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
            let _ = taken.send((header("Subject: "), header("Message-ID: ")));
            while is_silent.load(Ordering::SeqCst) {
                std::thread::park_timeout(Duration::from_millis(10));
            }
        }
        socket.write_all(b"250 ok\r\n")?;
    }
    Ok(())
}
