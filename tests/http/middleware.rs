//! The identity as a middleware of `reqwest-middleware`.

use ratchet::http::middleware::{Identified, failure_of};
use ratchet::http::reqwest;
use ratchet::{CauseKind, OutcomeKind};
use reqwest_middleware::ClientWithMiddleware;

use crate::answers::context;
use crate::scripted::{Destination, answer};

fn client() -> ClientWithMiddleware {
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    reqwest_middleware::ClientBuilder::new(http).with(Identified).build()
}

#[tokio::test]
async fn a_request_goes_out_under_its_identity_and_the_answer_comes_back() {
    let destination = Destination::answering(&[&answer("201 Created", "x-id: 7\r\n", "made")]).await;
    let request = client().post(&destination.url).body("{}").with_extension(context());
    let reply = request.send().await.map_err(failure_of).unwrap();
    assert_eq!((reply.status().as_u16(), reply.headers()["x-id"].to_str().unwrap()), (201, "7"));
    assert_eq!(reply.text().await.unwrap(), "made");
    assert!(destination.received()[0].contains("idempotency-key: charge:ch_1\r\n"));
}

#[tokio::test]
async fn what_is_not_confirmed_comes_back_as_what_is_known() {
    for (reply, kind, cause) in [
        (answer("402 Payment Required", "", ""), OutcomeKind::Rejected, CauseKind::Status(402)),
        (answer("503 Busy", "", ""), OutcomeKind::Unknown, CauseKind::Status(503)),
        (String::new(), OutcomeKind::Unknown, CauseKind::Transport),
    ] {
        let destination = Destination::answering(&[&reply]).await;
        let sent = client().post(&destination.url).with_extension(context()).send().await;
        let outcome = failure_of(sent.unwrap_err()).into_outcome();
        assert_eq!((outcome.kind(), outcome.cause().unwrap().kind()), (kind, cause));
    }
}

#[tokio::test]
async fn a_request_without_an_identity_is_not_sent_unless_its_method_is_safe() {
    let destination = Destination::answering(&[&answer("404 Not Found", "", "")]).await;
    let refused = client().post(&destination.url).send().await.unwrap_err();
    assert_eq!(failure_of(refused).into_outcome().kind(), OutcomeKind::NotApplied);
    assert!(destination.received().is_empty());
    assert_eq!(client().get(&destination.url).send().await.unwrap().status().as_u16(), 404);
}
