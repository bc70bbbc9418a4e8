//! Several messages, and several effects beside a message.

use ratchet::mail::{MAIL, Mailer};
use ratchet::{Context, Enqueued, Failure, Input, Ratchet, RecordId, RecordState, State};
use serde::{Deserialize, Serialize};

use crate::office::{Office, id_of};
use crate::{AT_ONCE, ORDER, Order, letter};

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
        let is_half_done = matches!(enqueued, Enqueued::New { .. }) && subscriber_id == 2;
        assert!(!is_half_done || ctx.attempt() > 1, "the worker dies here");
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

/// Sends, and files a copy, which fails at first.
#[ratchet::operation(name = "send_and_file", version = "1", key = "order:<order_id>:confirm:v1",
    destination = steps, on_unknown = park, retry = AT_ONCE)]
async fn send_and_file(ctx: Context, State(mailer): State<Mailer>, _input: Order) -> Result<u32, Failure> {
    let send = ctx.step("send").to(MAIL);
    let id = send.run(async |step: Context| {
        let message = letter().body("Confirmed".to_owned())?;
        Ok(mailer.send(&step, message).await?.to_string())
    });
    let id = id.await?;
    let file = ctx.step("file").run(async |step: Context| match step.attempt() {
        1 => Err(Failure::not_applied("the folder is locked")),
        2 => Err(Failure::not_applied("the folder is still locked")),
        attempt => Ok((attempt, id)),
    });
    Ok(file.await?.0)
}

#[tokio::test]
async fn a_message_whose_copy_could_not_be_filed_is_not_sent_again() {
    let mut office = Office::with(&[]).await;
    let id = id_of(send_and_file::enqueue(&office.ratchet, ORDER).await.unwrap());
    let record = office.settled(ratchet::registry![send_and_file], &id).await;
    assert_eq!((record.state, record.attempts), (RecordState::Succeeded, 3));
    assert_eq!(record.result.unwrap().decode::<u32>().unwrap(), 3);
    assert_eq!(office.relay.rest().len(), 1);
}
