//! What becomes of a message that a relay took, and whose worker died before it knew.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ratchet::mail::lettre::message::header::ContentType;
use ratchet::mail::lettre::message::{Attachment, MultiPart};
use ratchet::mail::{MAIL, Mailer, Relay};
use ratchet::{
    Context, Enqueued, Failure, Input, Ratchet, Record, RecordId, RecordState, Registry, State, Stored,
    Uncertainty,
};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::identity::header;
use crate::relay::{At, Does, Scene, Scripted};
use crate::{AT_ONCE, ORDER, Order, RECEIPT_ID, letter, send_receipt};

#[ratchet::operation(name = "send_invoice", version = "1", key = "order:<order_id>:invoice:v1",
    destination = MAIL, on_unknown = may_duplicate, retry = AT_ONCE)]
async fn send_invoice(ctx: Context, State(mailer): State<Mailer>, _input: Order) -> Result<String, Failure> {
    // lettre draws the boundaries of its parts at random, and the date is one that no retry would have.
    let text = MultiPart::alternative_plain_html("Thank you".to_owned(), "<p>Thank you</p>".to_owned());
    let file = Attachment::new("invoice.txt".to_owned()).body("14.40".to_owned(), ContentType::TEXT_PLAIN);
    let parts = MultiPart::mixed().multipart(text).singlepart(file);
    let date = UNIX_EPOCH + Duration::from_hours(ctx.attempt().into());
    Ok(mailer.send(&ctx, letter().date(date).multipart(parts)?).await?.to_string())
}

#[ratchet::operation(name = "send_reminder", version = "1", key = "order:<order_id>:reminder:v1",
    destination = MAIL, on_unknown = may_lose, retry = AT_ONCE)]
async fn send_reminder(ctx: Context, State(mailer): State<Mailer>, _input: Order) -> Result<String, Failure> {
    Ok(mailer.send(&ctx, letter().body("Remember".to_owned())?).await?.to_string())
}

#[ratchet::operation(name = "send_notice", version = "1", key = "order:<order_id>:notice:v1",
    destination = MAIL, on_unknown = park, retry = AT_ONCE)]
async fn send_notice(ctx: Context, State(mailer): State<Mailer>, _input: Order) -> Result<String, Failure> {
    Ok(mailer.send(&ctx, letter().body("Notice".to_owned())?).await?.to_string())
}

/// Nothing of it is left but what it wrote and sent.
struct Doomed {
    runtime: tokio::runtime::Runtime,
}

impl Doomed {
    fn kill(self) {
        self.runtime.shutdown_background();
    }
}

struct Office {
    ratchet: Ratchet,
    relay: Scripted,
}

impl Office {
    async fn with(scenes: &[Scene]) -> Self {
        Self { ratchet: Ratchet::in_memory(), relay: Scripted::playing(scenes).await }
    }

    fn worker(&self, registry: Registry) -> ratchet::Worker {
        let way = Relay::plain("127.0.0.1").port(self.relay.port);
        let builder = self.ratchet.worker(registry).state(Mailer::new(way, "shop.example").unwrap());
        let builder = builder.state(self.ratchet.clone());
        builder.lease(Duration::from_secs(1)).poll_interval(Duration::from_millis(20)).build().unwrap()
    }

    /// A worker whose threads can be taken from under it.
    fn doomed(&self, registry: Registry) -> Doomed {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.spawn(self.worker(registry).run(std::future::pending()));
        Doomed { runtime }
    }

    /// Lets a worker run until the record is settled.
    async fn settled(&self, registry: Registry, id: &RecordId) -> Record {
        let (end, ended) = oneshot::channel::<()>();
        let working = tokio::spawn(self.worker(registry).run(async {
            let _ = ended.await;
        }));
        let settled = async {
            loop {
                match self.ratchet.find(id.clone()).await.unwrap() {
                    Some(Stored::Record(record)) if record.state.is_settled() => return *record,
                    _ => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        };
        let record = tokio::time::timeout(Duration::from_secs(30), settled).await.unwrap();
        end.send(()).unwrap();
        working.await.unwrap().unwrap();
        record
    }
}

fn id_of<T: std::fmt::Debug>(enqueued: Enqueued<T>) -> RecordId {
    match enqueued {
        Enqueued::New { id } => id,
        other => panic!("expected a new record, got {other:?}"),
    }
}

const SILENT_AT_FIRST: &[Scene] = &[Some((At::Verdict, Does::Stall))];

#[tokio::test]
async fn may_duplicate_sends_the_very_same_message_again() {
    let mut office = Office::with(SILENT_AT_FIRST).await;
    let id = id_of(send_invoice::enqueue(&office.ratchet, ORDER).await.unwrap());
    let before = SystemTime::now();
    let doomed = office.doomed(ratchet::registry![send_invoice]);
    let first = office.relay.taken().await;
    doomed.kill();
    let record = office.settled(ratchet::registry![send_invoice], &id).await;
    assert_eq!((record.state, record.attempts), (RecordState::Succeeded, 2));
    assert_eq!(office.relay.rest(), [first.clone()]);
    let message_id = record.result.unwrap().decode::<String>().unwrap();
    assert_eq!(header(&first, "Message-ID"), [message_id]);
    // The date is that of the first send.
    let dates = header(&first, "Date");
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap().as_secs();
    let pinned = record.effect.pin.unwrap().first_at.as_millis() / 1000;
    assert!(
        u64::try_from(pinned).unwrap() >= seconds(before) && dates.len() == 1 && !dates[0].contains("1970"),
        "{dates:?}"
    );
}

#[tokio::test]
async fn may_lose_sends_at_most_once() {
    let mut office = Office::with(SILENT_AT_FIRST).await;
    let id = id_of(send_reminder::enqueue(&office.ratchet, ORDER).await.unwrap());
    let doomed = office.doomed(ratchet::registry![send_reminder]);
    office.relay.taken().await;
    doomed.kill();
    let record = office.settled(ratchet::registry![send_reminder], &id).await;
    assert_eq!((record.state, record.attempts), (RecordState::Abandoned, 1));
    assert!(office.relay.rest().is_empty());
}

#[tokio::test]
async fn may_lose_loses_nothing_that_certainly_did_not_arrive() {
    let later = Some((At::Recipient, Does::Say("450 4.2.1 greylisted")));
    let mut office = Office::with(&[later, Some((At::Data, Does::Cut))]).await;
    let id = id_of(send_reminder::enqueue(&office.ratchet, ORDER).await.unwrap());
    let record = office.settled(ratchet::registry![send_reminder], &id).await;
    assert_eq!((record.state, record.attempts), (RecordState::Succeeded, 3));
    assert_eq!(office.relay.rest().len(), 1);
}

#[tokio::test]
async fn park_leaves_the_message_to_a_person_and_a_replay_has_the_same_identity() {
    let mut office = Office::with(SILENT_AT_FIRST).await;
    let id = id_of(send_notice::enqueue(&office.ratchet, ORDER).await.unwrap());
    let doomed = office.doomed(ratchet::registry![send_notice]);
    let first = office.relay.taken().await;
    doomed.kill();
    let record = office.settled(ratchet::registry![send_notice], &id).await;
    assert_eq!(
        (record.state, record.uncertainty),
        (RecordState::Uncertain, Some(Uncertainty::NoDeduplication))
    );
    assert!(office.relay.rest().is_empty());
    office.ratchet.replay(id.clone(), "ada", "the customer has not got it", true).await.unwrap();
    let record = office.settled(ratchet::registry![send_notice], &id).await;
    assert_eq!(record.state, RecordState::Succeeded);
    assert_eq!(office.relay.rest(), [first]);
}

#[tokio::test]
async fn a_connection_that_breaks_at_the_final_dot_is_decided_in_the_same_way() {
    let mut office = Office::with(&[Some((At::Verdict, Does::Cut)), Some((At::Verdict, Does::Cut))]).await;
    let registry = || ratchet::registry![send_receipt, send_reminder];
    let lost = id_of(send_reminder::enqueue(&office.ratchet, ORDER).await.unwrap());
    assert_eq!(office.settled(registry(), &lost).await.state, RecordState::Abandoned);
    let doubled = id_of(send_receipt::enqueue(&office.ratchet, ORDER).await.unwrap());
    assert_eq!(office.settled(registry(), &doubled).await.state, RecordState::Succeeded);
    let messages = office.relay.rest();
    assert_eq!(messages.len(), 3);
    assert_eq!(header(&messages[2], "Message-ID"), [RECEIPT_ID]);
    assert_eq!(messages[1], messages[2]);
}

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Issue {
    issue_id: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct IssueCopy {
    issue_id: u64,
    subscriber_id: u64,
}

const SUBSCRIBERS: [u64; 3] = [1, 2, 3];

/// Enqueues one operation for each recipient, and dies among them the first time.
#[ratchet::operation(name = "send_newsletter", version = "1", key = "newsletter:<issue_id>:send:v1",
    on_unknown = may_duplicate, retry = AT_ONCE)]
async fn send_newsletter(ctx: Context, State(ratchet): State<Ratchet>, input: Issue) -> Result<(), Failure> {
    for subscriber_id in SUBSCRIBERS {
        let copy = IssueCopy { issue_id: input.issue_id, subscriber_id };
        let enqueued = send_copy::enqueue(&ratchet, copy).await?;
        if matches!(enqueued, Enqueued::New { .. }) && subscriber_id == 2 && ctx.attempt() == 1 {
            panic!("the worker dies here");
        }
    }
    Ok(())
}

#[ratchet::operation(name = "send_copy", version = "1", key = "newsletter:<issue_id>:to:<subscriber_id>:v1",
    destination = MAIL, on_unknown = may_lose, retry = AT_ONCE)]
async fn send_copy(ctx: Context, State(mailer): State<Mailer>, input: IssueCopy) -> Result<String, Failure> {
    let text = format!("Issue {} for {}", input.issue_id, input.subscriber_id);
    Ok(mailer.send(&ctx, letter().body(text)?).await?.to_string())
}

/// The lease of a four-hour mailing ends, or its worker dies: everybody gets one copy all the same.
#[tokio::test]
async fn a_mailing_that_is_begun_again_writes_to_nobody_twice() {
    let mut office = Office::with(&[]).await;
    let registry = || ratchet::registry![send_newsletter, send_copy];
    let id = id_of(send_newsletter::enqueue(&office.ratchet, Issue { issue_id: 9 }).await.unwrap());
    let record = office.settled(registry(), &id).await;
    assert_eq!((record.state, record.attempts), (RecordState::Succeeded, 2));
    for subscriber_id in SUBSCRIBERS {
        let copy = RecordId { operation: ratchet::OperationName::from_static("send_copy"), ..id.clone() };
        let key = send_copy::key(&IssueCopy { issue_id: 9, subscriber_id }).unwrap();
        let copy = RecordId { key, ..copy };
        assert_eq!(office.settled(registry(), &copy).await.state, RecordState::Succeeded);
    }
    let mut messages = office.relay.rest();
    messages.sort_by_key(|message| message.chars().rev().collect::<String>());
    let texts: Vec<_> =
        messages.iter().map(|message| message.split_once("\r\n\r\n").unwrap().1.trim_end()).collect();
    assert_eq!(texts, ["Issue 9 for 1", "Issue 9 for 2", "Issue 9 for 3"]);
}
