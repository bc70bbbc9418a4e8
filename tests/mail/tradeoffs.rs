//! What becomes of a message that a relay took, and whose worker died before it knew.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ratchet::mail::lettre::message::header::ContentType;
use ratchet::mail::lettre::message::{Attachment, MultiPart};
use ratchet::mail::{MAIL, Mailer};
use ratchet::{Clock, Context, Failure, RecordState, State, Timestamp, Uncertainty};

use crate::identity::header;
use crate::office::{Office, id_of};
use crate::relay::{At, Does, Scene};
use crate::{AT_ONCE, ORDER, Order, RECEIPT_ID, letter, send_receipt};

#[ratchet::operation(name = "send_invoice", version = "1", key = "order:<order_id>:invoice:v1",
    destination = MAIL, on_unknown = may_duplicate, retry = AT_ONCE)]
pub(crate) async fn send_invoice(
    ctx: Context,
    State(mailer): State<Mailer>,
    _input: Order,
) -> Result<String, Failure> {
    // lettre draws the boundaries of its parts at random, and the date is one that no retry would have.
    let text = MultiPart::alternative_plain_html("Thank you".to_owned(), "<p>Thank you</p>".to_owned());
    let file = Attachment::new("invoice.txt".to_owned()).body("14.40".to_owned(), ContentType::TEXT_PLAIN);
    let parts = MultiPart::mixed().multipart(text).singlepart(file);
    let date = UNIX_EPOCH + Duration::from_hours(ctx.attempt().into());
    Ok(mailer.send(&ctx, letter().date(date).multipart(parts)?).await?.to_string())
}

#[ratchet::operation(name = "send_reminder", version = "1", key = "order:<order_id>:reminder:v1",
    destination = MAIL, on_unknown = may_lose, retry = AT_ONCE)]
pub(crate) async fn send_reminder(
    ctx: Context,
    State(mailer): State<Mailer>,
    _input: Order,
) -> Result<String, Failure> {
    Ok(mailer.send(&ctx, letter().body("Remember".to_owned())?).await?.to_string())
}

#[ratchet::operation(name = "send_notice", version = "1", key = "order:<order_id>:notice:v1",
    destination = MAIL, on_unknown = park, retry = AT_ONCE)]
async fn send_notice(ctx: Context, State(mailer): State<Mailer>, _input: Order) -> Result<String, Failure> {
    Ok(mailer.send(&ctx, letter().body("Notice".to_owned())?).await?.to_string())
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
    assert_eq!(office.relay.rest(), std::slice::from_ref(&first));
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

/// A monotonic clock that a test moves.
#[derive(Debug, Default)]
struct Moved(AtomicU64);

impl Clock for Moved {
    fn now(&self) -> Timestamp {
        Timestamp::from(SystemTime::now())
    }

    fn monotonic(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

#[tokio::test]
async fn a_lease_that_passes_during_the_dialogue_keeps_the_message_back() {
    let mut office = Office::with(&[Some((At::Data, Does::Hold))]).await;
    let id = id_of(send_reminder::enqueue(&office.ratchet, ORDER).await.unwrap());
    let clock = Arc::new(Moved::default());
    // Renewed so rarely that nobody but the mailer looks at it.
    let builder = office.builder(ratchet::registry![send_reminder]).lease(Duration::from_mins(15));
    let worker = builder.clock(clock.clone()).build().unwrap();
    let passes = async {
        while !office.relay.heard().contains(&"DATA".to_owned()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        clock.0.store(60 * 60, Ordering::SeqCst);
        office.relay.go_on.notify_one();
    };
    let (record, ()) = tokio::join!(office.settled_by(worker, &id), passes);
    // Certainly not sent, so it is tried again.
    assert_eq!((record.state, record.attempts), (RecordState::Succeeded, 2));
    assert_eq!(office.relay.rest().len(), 1);
}
