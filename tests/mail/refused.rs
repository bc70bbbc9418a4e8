//! What is not sent at all.

use std::time::Duration;

use ratchet::mail::lettre::Message;
use ratchet::mail::lettre::message::Body;
use ratchet::mail::lettre::message::header::{ContentTransferEncoding, HeaderName, HeaderValue};
use ratchet::mail::{Mailer, MailerError, Relay};
use ratchet::{Context, Contract, Failure, OutcomeKind};

use crate::relay::{At, Does, Scripted};
use crate::{Order, RECEIPT_ID, context, letter, mailer, receipt};

/// Why a message was not sent, by a relay that would take anything.
async fn why_not(ctx: &Context, message: Message) -> String {
    let relay = Scripted::playing(&[]).await;
    let failure = mailer(&relay).send(ctx, message).await.unwrap_err();
    assert_eq!(failure.outcome().kind(), OutcomeKind::NotApplied, "{failure}");
    assert!(relay.heard().is_empty(), "{:?}", relay.heard());
    failure.to_string()
}

#[tokio::test]
async fn a_message_has_no_message_id_of_another_making() {
    let named = |id: &str| letter().message_id(Some(id.to_owned())).body(String::new()).unwrap();
    let why = why_not(&context(), named("<random@shop.example>")).await;
    assert!(why.contains("Message-ID of another making"), "{why}");
    let in_other_letters = HeaderValue::new(HeaderName::new_from_ascii_str("message-id"), "<a@b>".to_owned());
    let why = why_not(&context(), letter().raw_header(in_other_letters).body(String::new()).unwrap()).await;
    assert!(why.contains("Message-ID of another making"), "{why}");
    // Its own is no other.
    let relay = Scripted::playing(&[]).await;
    mailer(&relay).send(&context(), named(RECEIPT_ID)).await.unwrap();
}

#[tokio::test]
async fn a_signed_message_would_not_stay_as_it_was_signed() {
    let signature = HeaderValue::new(HeaderName::new_from_ascii_str("DKIM-Signature"), "v=1".to_owned());
    let why = why_not(&context(), letter().raw_header(signature).body(String::new()).unwrap()).await;
    assert!(why.contains("DKIM"), "{why}");
}

#[tokio::test]
async fn a_line_has_one_end() {
    for body in ["one\n.\ntwo", "one\rtwo", "one\n"] {
        let body = Body::dangerous_pre_encoded(body.into(), ContentTransferEncoding::SevenBit);
        let why = why_not(&context(), letter().body(body).unwrap()).await;
        assert!(why.contains("lone CR or LF"), "{why}");
    }
}

#[tokio::test]
async fn a_message_to_several_is_sent_only_on_purpose_and_to_all_or_none() {
    let to_two = || letter().cc("bob@customer.example".parse().unwrap()).body("Hello".to_owned()).unwrap();
    let why = why_not(&context(), to_two()).await;
    assert!(why.contains("several recipients"), "{why}");

    // The relay knows the first, and not the second.
    let mut relay = Scripted::playing(&[]).await;
    mailer(&relay).send_to_all(&context(), to_two()).await.unwrap();
    assert!(relay.taken().await.contains("Hello"));
    let recipients: Vec<_> = relay.heard().into_iter().filter(|line| line.starts_with("RCPT")).collect();
    assert_eq!(recipients, ["RCPT TO:<ada@customer.example>", "RCPT TO:<bob@customer.example>"]);
    let mut relay = Scripted::playing(&[Some((At::Recipient, Does::Say("550 5.1.1 no")))]).await;
    let failure = mailer(&relay).send_to_all(&context(), to_two()).await.unwrap_err();
    assert_eq!(failure.outcome().kind(), OutcomeKind::Rejected);
    assert!(relay.rest().is_empty() && !relay.heard().contains(&"DATA".to_owned()));
}

#[ratchet::operation(name = "charge", version = "1", key = "order:<order_id>:charge:v1",
    destination = Contract::header("Idempotency-Key"))]
async fn charge(_ctx: Context, _input: Order) -> Result<(), Failure> {
    std::future::ready(Ok(())).await
}

#[tokio::test]
async fn a_contract_that_promises_what_smtp_does_not_is_refused() {
    let why = why_not(&charge::test_context(&crate::ORDER), receipt(7)).await;
    assert!(why.contains("SMTP does not"), "{why}");
}

#[tokio::test]
async fn an_attempt_hands_over_once_even_if_its_handler_tries_again_by_itself() {
    let mut relay = Scripted::playing(&[Some((At::Verdict, Does::Cut))]).await;
    let (mailer, ctx) = (mailer(&relay), context());
    let _ = mailer.send(&ctx, receipt(7)).await.unwrap_err();
    let again = mailer.send(&ctx, receipt(7)).await.unwrap_err();
    assert_eq!(again.outcome().kind(), OutcomeKind::Unknown);
    assert_eq!(relay.rest().len(), 1);

    let mut relay = Scripted::playing(&[]).await;
    let (mailer, ctx) = (crate::mailer(&relay), context());
    mailer.send(&ctx, receipt(7)).await.unwrap();
    let again = mailer.send(&ctx, receipt(7)).await.unwrap_err();
    assert_eq!(again.outcome().kind(), OutcomeKind::Unknown);
    assert_eq!(relay.rest().len(), 1);

    // Two at the same time.
    let mut relay = Scripted::playing(&[]).await;
    let (mailer, ctx) = (crate::mailer(&relay), context());
    let (one, other) = tokio::join!(mailer.send(&ctx, receipt(7)), mailer.send(&ctx, receipt(7)));
    assert!(one.is_ok() != other.is_ok());
    assert_eq!(relay.rest().len(), 1);
}

#[tokio::test]
async fn a_future_that_is_dropped_after_the_message_left_leaves_nothing_certain() {
    let mut relay = Scripted::playing(&[Some((At::Verdict, Does::Stall))]).await;
    let (mailer, ctx) = (mailer(&relay), context());
    tokio::select! {
        ended = mailer.send(&ctx, receipt(7)) => panic!("{ended:?}"),
        _ = relay.taken() => {}
    }
    let judged = ctx.begin_send().failed(Failure::rejected("it took too long"));
    assert_eq!(judged.outcome().kind(), OutcomeKind::Unknown);
}

#[test]
fn a_mailer_needs_a_domain_and_keeps_its_credentials_to_itself() {
    let refused = Mailer::new(Relay::plain("localhost"), "shop>example").unwrap_err();
    assert!(matches!(refused, MailerError::Domain(_)), "{refused}");
    let open =
        Relay::plain("mail.example").credentials("shop", "hunter2").opening_timeout(Duration::from_secs(1));
    let refused = Mailer::new(open, "shop.example").unwrap_err();
    assert!(matches!(refused, MailerError::OpenCredentials), "{refused}");
}
