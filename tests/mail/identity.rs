//! What goes out, and that it is always the same.

use ratchet::mail::lettre::Message;
use ratchet::mail::lettre::address::Envelope;
use ratchet::mail::{Mailer, Relay};
use ratchet::{CauseKind, OutcomeKind};

use crate::relay::{At, Does, Scripted};
use crate::{RECEIPT_ID, context, letter, mailer, receipt};

pub(crate) fn header<'a>(message: &'a str, name: &str) -> Vec<&'a str> {
    let (head, _) = message.split_once("\r\n\r\n").unwrap();
    let is_it = |line: &&str| line.split(':').next().is_some_and(|found| found.eq_ignore_ascii_case(name));
    head.lines().filter(is_it).map(|line| line.split_once(": ").unwrap().1).collect()
}

#[tokio::test]
async fn the_message_id_is_a_digest_of_the_key_at_the_senders_domain() {
    let mut relay = Scripted::playing(&[]).await;
    let id = mailer(&relay).send(&context(), receipt(7)).await.unwrap();
    assert_eq!(id.as_str(), RECEIPT_ID);
    let message = relay.taken().await;
    assert_eq!(header(&message, "Message-ID"), [RECEIPT_ID]);
    assert!(!message.contains("order:7"), "{message}");
}

#[tokio::test]
async fn another_text_or_recipient_under_the_same_key_is_stopped_before_the_network() {
    let mut relay = Scripted::playing(&[Some((At::Recipient, Does::Say("450 later")))]).await;
    let (mailer, ctx) = (mailer(&relay), context());
    let _ = mailer.send(&ctx, receipt(7)).await.unwrap_err();
    let heard = relay.heard().len();
    let other_text = mailer.send(&ctx, receipt(8)).await.unwrap_err();
    let eve = "eve@customer.example".parse().unwrap();
    let to_other = Message::builder().from("shop@shop.example".parse().unwrap()).to(eve);
    let to_other = to_other.subject("Your receipt").body("Thank you for order 7.".to_owned()).unwrap();
    let to_other = mailer.send(&ctx, to_other).await.unwrap_err();
    // The same text, in an envelope for somebody else.
    let addresses = ("shop@shop.example".parse().unwrap(), "eve@customer.example".parse().unwrap());
    let envelope = Envelope::new(Some(addresses.0), vec![addresses.1]).unwrap();
    let readdressed = letter().envelope(envelope).subject("Your receipt");
    let readdressed = readdressed.body("Thank you for order 7.".to_owned()).unwrap();
    let readdressed = mailer.send(&ctx, readdressed).await.unwrap_err();
    let way = Relay::plain("127.0.0.1").port(relay.port);
    let other_domain = Mailer::new(way, "other.example").unwrap().send(&ctx, receipt(7)).await.unwrap_err();
    for failure in [other_text, to_other, readdressed, other_domain] {
        assert_eq!(failure.outcome().kind(), OutcomeKind::Unknown);
        assert_eq!(failure.outcome().cause().unwrap().kind(), CauseKind::RequestChanged);
    }
    assert_eq!(relay.heard().len(), heard);
    // What certainly did not arrive may be sent again.
    mailer.send(&ctx, receipt(7)).await.unwrap();
    assert_eq!(header(&relay.taken().await, "Message-ID"), [RECEIPT_ID]);
}

#[tokio::test]
async fn a_line_that_is_a_dot_arrives_as_one() {
    let mut relay = Scripted::playing(&[]).await;
    let body = "one\r\n.\r\n..two".to_owned();
    mailer(&relay).send(&context(), letter().body(body).unwrap()).await.unwrap();
    let message = relay.taken().await;
    assert!(message.ends_with("\r\n\r\none\r\n..\r\n...two\r\n"), "{message:?}");
}

#[tokio::test]
async fn credentials_are_shown_to_nobody_but_the_relay() {
    let relay = Scripted::playing(&[Some((At::SignIn, Does::Say("535 5.7.8 shop hunter2")))]).await;
    let way = Relay::plain("127.0.0.1").port(relay.port).credentials("shop", "hunter2");
    let mailer = Mailer::new(way, "shop.example").unwrap();
    let failure = mailer.send(&context(), receipt(7)).await.unwrap_err();
    // "\0shop\0hunter2"
    assert!(relay.heard().contains(&"AUTH PLAIN AHNob3AAaHVudGVyMg==".to_owned()), "{:?}", relay.heard());
    let shown = format!("{mailer:?} {failure:?} {failure}");
    for secret in ["hunter2", "AHNob3", "ada@", "Thank you"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}
