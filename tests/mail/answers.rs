//! What is known after each way in which a dialogue can end.

use std::time::Duration;

use ratchet::mail::{Mailer, Relay};
use ratchet::{Cause, CauseKind, Failure, OutcomeKind};
use tokio::net::TcpListener;

use crate::relay::{At, Does, Scripted};
use crate::{context, letter, mailer, receipt};

const STAGES: [At; 6] = [At::Greeting, At::Hello, At::SignIn, At::Sender, At::Recipient, At::Data];

/// Sends to a relay that is in no hurry, and says what came of it and how many messages the relay took.
async fn ended(at: At, does: Does) -> (Failure, usize) {
    let mut relay = Scripted::playing(&[Some((at, does))]).await;
    let patience =
        if matches!(does, Does::Stall) { Duration::from_millis(300) } else { Duration::from_secs(30) };
    let way = Relay::plain("127.0.0.1").port(relay.port).credentials("shop", "hunter2");
    let way = way.opening_timeout(patience).answer_timeout(patience);
    let mailer = Mailer::new(way, "shop.example").unwrap();
    // Larger than what sockets hold between them.
    let body = if at == At::Middle { "a line of text\r\n".repeat(3 << 16) } else { "short".to_owned() };
    let message = letter().body(body).unwrap();
    let failure = mailer.send(&context(), message).await.unwrap_err();
    (failure, relay.rest().len())
}

fn kind(failure: &Failure) -> OutcomeKind {
    failure.outcome().kind()
}

fn cause(failure: &Failure) -> &Cause {
    failure.outcome().cause().unwrap()
}

#[tokio::test]
async fn a_relay_that_goes_or_falls_silent_before_the_end_of_the_message_has_none() {
    for at in STAGES.into_iter().chain([At::Middle]) {
        for does in [Does::Cut, Does::Stall] {
            let (failure, taken) = ended(at, does).await;
            assert_eq!((kind(&failure), taken), (OutcomeKind::NotApplied, 0), "{at:?} {does:?}");
            assert_eq!(cause(&failure).kind(), CauseKind::Connect, "{at:?} {does:?}");
        }
    }
}

#[tokio::test]
async fn nobody_knows_what_became_of_a_message_whose_final_dot_was_not_answered() {
    // None of these is an answer to a final dot.
    for does in [Does::Cut, Does::Stall, Does::Say("354 go on"), Does::Say("25x what"), Does::Say("garbage")]
    {
        let (failure, taken) = ended(At::Verdict, does).await;
        let took = usize::from(!matches!(does, Does::Say(_)));
        assert_eq!((kind(&failure), taken), (OutcomeKind::Unknown, took), "{does:?}");
        assert_eq!(cause(&failure).kind(), CauseKind::Transport, "{does:?}");
    }
}

#[tokio::test]
async fn a_relay_that_asks_for_later_has_taken_nothing() {
    for at in STAGES.into_iter().chain([At::Verdict]) {
        let (failure, taken) = ended(at, Does::Say("451 4.7.1 ada@customer.example later")).await;
        assert_eq!((kind(&failure), taken), (OutcomeKind::NotApplied, 0), "{at:?}");
        assert_eq!(cause(&failure).kind(), CauseKind::Status(451), "{at:?}");
    }
}

#[tokio::test]
async fn a_refusal_of_the_message_is_final_and_one_of_our_access_is_not() {
    for (at, refused) in [
        (At::Greeting, OutcomeKind::NotApplied),
        (At::Hello, OutcomeKind::NotApplied),
        (At::SignIn, OutcomeKind::NotApplied),
        (At::Sender, OutcomeKind::Rejected),
        (At::Recipient, OutcomeKind::Rejected),
        (At::Data, OutcomeKind::Rejected),
        (At::Verdict, OutcomeKind::Rejected),
    ] {
        let (failure, taken) = ended(at, Does::Say("550 5.1.1 <ada@customer.example>: no")).await;
        assert_eq!((kind(&failure), taken), (refused, 0), "{at:?}");
        assert_eq!(cause(&failure).kind(), CauseKind::Status(550), "{at:?}");
        let (failure, _) = ended(at, Does::Say("530 5.7.0 Authentication required")).await;
        assert_eq!(kind(&failure), OutcomeKind::NotApplied, "{at:?}");
    }
}

#[tokio::test]
async fn a_cause_has_the_codes_and_nothing_else_of_what_the_relay_said() {
    let (failure, _) = ended(At::Recipient, Does::Say("550 5.1.1 <ada@customer.example>: no")).await;
    assert_eq!(failure.to_string(), "rejected (status 550: the relay refused the recipient (5.1.1))");
    let (failure, _) = ended(At::Verdict, Does::Say("554 ada@customer.example is 5.1.1")).await;
    assert_eq!(failure.to_string(), "rejected (status 554: the relay refused the message)");
}

#[tokio::test]
async fn without_a_connection_nothing_was_sent() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let mailer = Mailer::new(Relay::plain("127.0.0.1").port(closed), "shop.example").unwrap();
    let failure = mailer.send(&context(), receipt(7)).await.unwrap_err();
    assert_eq!((kind(&failure), cause(&failure).kind()), (OutcomeKind::NotApplied, CauseKind::Connect));
}

#[tokio::test]
async fn a_relay_that_takes_no_goodbye_has_taken_the_message() {
    let mut relay = Scripted::playing(&[]).await;
    mailer(&relay).send(&context(), receipt(7)).await.unwrap();
    assert!(relay.taken().await.contains("Thank you for order 7."));
}
