//! A relay with limits: who waits is not heard by it, and everybody knows when it fails.

use std::time::Duration;

use ratchet::mail::{MAIL, Mailer, Relay};
use ratchet::{
    CauseKind, Context, Destination, DestinationName, Failure, Record, RecordId, RecordState, RetryPolicy,
    State, Stored, WorkerBuilder,
};

use crate::office::{Office, id_of};
use crate::relay::{At, Does};
use crate::{Order, receipt};

const HOUR: Duration = Duration::from_hours(1);
const LATER: RetryPolicy = RetryPolicy::doubling(3, HOUR, HOUR);

#[ratchet::operation(name = "send_later", version = "1", key = "order:<order_id>:later:v1",
    destination = MAIL, on_unknown = may_duplicate, retry = LATER)]
async fn send_later(ctx: Context, State(mailer): State<Mailer>, input: Order) -> Result<String, Failure> {
    Ok(mailer.send(&ctx, receipt(input.order_id)).await?.to_string())
}

fn worker(office: &Office, destination: Destination) -> WorkerBuilder {
    let relay = Relay::plain("127.0.0.1").port(office.relay.port);
    let mailer = Mailer::new(relay, "shop.example").unwrap().to(destination);
    office.builder(ratchet::registry![send_later]).state(mailer)
}

async fn enqueue(office: &Office, order_id: u64) -> RecordId {
    id_of(send_later::enqueue(&office.ratchet, Order { order_id }).await.unwrap())
}

async fn record_when(office: &Office, id: &RecordId, wanted: impl Fn(&Record) -> bool) -> Record {
    let waits = async {
        loop {
            match office.ratchet.find(id.clone()).await.unwrap() {
                Some(Stored::Record(record)) if wanted(&record) => return *record,
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waits).await.expect("it never came about")
}

fn was_not_admitted(record: &Record) -> bool {
    record.cause.as_ref().is_some_and(|cause| cause.kind() == CauseKind::NotAdmitted)
}

fn succeeded(record: &Record) -> bool {
    record.state == RecordState::Succeeded
}

#[tokio::test]
async fn a_relay_that_fails_is_left_alone_until_somebody_knows_better() {
    let mut office = Office::with(&[Some((At::Greeting, Does::Cut))]).await;
    let relay = Destination::new("relay").breaker(1, HOUR);
    let working = tokio::spawn(worker(&office, relay).build().unwrap().run(std::future::pending()));
    let first = enqueue(&office, 7).await;
    let failed = record_when(&office, &first, |record| record.spent == 1).await;
    assert!(failed.effect.pin.is_some());
    let is_sending = async || !office.ratchet.gates().await.unwrap()[0].gate.sends.is_empty();
    while is_sending().await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let second = enqueue(&office, 8).await;
    let waits = record_when(&office, &second, was_not_admitted).await;
    assert_eq!((waits.spent, waits.effect.pin), (0, None));
    assert_eq!(office.relay.heard(), [""; 0]);

    let name = DestinationName::new("relay").unwrap();
    assert!(office.ratchet.reopen(name, "ada", "they say it works").await.unwrap());
    let third = enqueue(&office, 9).await;
    record_when(&office, &third, succeeded).await;
    assert!(office.relay.taken().await.contains("Thank you for order 9."));
    working.abort();
}

#[tokio::test]
async fn a_relay_is_asked_to_take_no_more_at_once_than_it_is_said_to() {
    let mut office = Office::with(&[Some((At::Verdict, Does::Hold))]).await;
    let relay = Destination::new("relay").at_most(1);
    let working = tokio::spawn(worker(&office, relay).build().unwrap().run(std::future::pending()));
    let first = enqueue(&office, 7).await;
    office.relay.taken().await;
    let second = enqueue(&office, 8).await;
    let waits = record_when(&office, &second, was_not_admitted).await;
    assert_eq!(waits.spent, 0);
    assert_eq!(office.relay.rest(), [""; 0]);
    office.relay.go_on.notify_one();
    for id in [&first, &second] {
        record_when(&office, id, succeeded).await;
    }
    assert!(office.relay.taken().await.contains("Thank you for order 8."));
    // The answer may take ten minutes, and the place is kept for as long.
    let gate = office.ratchet.gates().await.unwrap().remove(0).gate;
    assert_eq!(gate.limits.longest_send, Duration::from_mins(11));
    working.abort();
}
