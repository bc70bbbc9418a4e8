//! Which identity goes out, and that it is always the same.

use ratchet::http::Client;
use ratchet::{CauseKind, Context, Failure, Input, OutcomeKind};
use serde::{Deserialize, Serialize};

use crate::answers::context;
use crate::scripted::Destination;

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Ping {
    id: u64,
}

#[ratchet::operation(name = "ping", version = "1", key = "ping:<id>", destination = none, on_unknown = may_duplicate)]
async fn ping(_ctx: Context, _input: Ping) -> Result<(), Failure> {
    Ok(())
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

fn keys(received: &[String]) -> Vec<&str> {
    let key = |line: &'_ str| line.to_ascii_lowercase().starts_with("idempotency-key: ");
    received
        .iter()
        .flat_map(|request| request.lines())
        .filter(|line| key(line))
        .map(|line| &line[17..])
        .collect()
}

#[tokio::test]
async fn the_key_goes_where_the_contract_says_and_is_the_same_again() {
    let destination = Destination::answering(&["", OK]).await;
    let (http, ctx) = (Client::new().unwrap(), context());
    let send = || http.post(&destination.url).json(&7).idempotent(&ctx).deliver();
    assert_eq!(send().await.unwrap_err().outcome().kind(), OutcomeKind::Unknown);
    send().await.unwrap();
    assert_eq!(keys(&destination.received()), ["charge:ch_1", "charge:ch_1"]);
}

#[tokio::test]
async fn a_destination_without_a_mechanism_receives_no_key() {
    let destination = Destination::answering(&[OK]).await;
    let ctx = ping::test_context(&Ping { id: 1 });
    Client::new().unwrap().post(&destination.url).idempotent(&ctx).deliver().await.unwrap();
    let received = destination.received();
    assert_eq!(received.len(), 1);
    assert!(!received[0].contains("ping:1"), "{}", received[0]);
}

#[tokio::test]
async fn another_request_under_the_same_key_is_stopped_before_the_network() {
    let destination = Destination::answering(&[OK, OK, OK, OK]).await;
    let (http, ctx) = (Client::new().unwrap(), context());
    http.post(&destination.url).json(&1).idempotent(&ctx).deliver().await.unwrap();
    let other_body = http.post(&destination.url).json(&2).idempotent(&ctx).deliver().await.unwrap_err();
    let other_url =
        http.post(&format!("{}/x", destination.url)).json(&1).idempotent(&ctx).deliver().await.unwrap_err();
    let other_method = http.put(&destination.url).json(&1).idempotent(&ctx).deliver().await.unwrap_err();
    for (failure, what) in [(other_body, "body"), (other_url, "URL"), (other_method, "method")] {
        assert_eq!(failure.outcome().kind(), OutcomeKind::Unknown);
        assert_eq!(failure.outcome().cause().unwrap().kind(), CauseKind::RequestChanged);
        assert!(failure.to_string().contains(&format!("the {what} of the request differs")), "{failure}");
    }
    assert_eq!(destination.received().len(), 1);
}

#[tokio::test]
async fn the_header_is_not_set_by_hand() {
    let destination = Destination::answering(&[OK]).await;
    let http = Client::new().unwrap();
    let failure = http
        .post(&destination.url)
        .header("IDEMPOTENCY-key", "mine")
        .idempotent(&context())
        .deliver()
        .await
        .unwrap_err();
    assert_eq!(failure.outcome().kind(), OutcomeKind::NotApplied);
    assert!(failure.to_string().contains("`idempotency-key` was set by hand"), "{failure}");
    assert!(destination.received().is_empty());
}

#[tokio::test]
async fn the_order_of_a_hash_map_is_no_other_request() {
    let destination = Destination::answering(&[OK, OK]).await;
    let (http, ctx) = (Client::new().unwrap(), context());
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for order in [names.iter().rev().collect::<Vec<_>>(), names.iter().collect()] {
        // Each map has a hash seed of its own, and so another order.
        let body: std::collections::HashMap<_, _> = order.into_iter().map(|name| (*name, 1)).collect();
        http.post(&destination.url).json(&body).idempotent(&ctx).deliver().await.unwrap();
    }
    let received = destination.received();
    assert!(received[0].ends_with(r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1}"#), "{}", received[0]);
    assert_eq!(received.len(), 2);
}

#[tokio::test]
async fn a_fragment_is_no_part_of_the_address() {
    let destination = Destination::answering(&[OK]).await;
    let url = format!("{}/charges?mode=test#top", destination.url);
    Client::new().unwrap().post(&url).idempotent(&context()).deliver().await.unwrap();
    assert!(destination.received()[0].starts_with("POST /charges?mode=test HTTP/1.1"));
}

#[tokio::test]
async fn debug_output_shows_no_credential_and_no_key() {
    let http = Client::configured(|builder| {
        let headers = [("x-api-key".parse().unwrap(), "secret-default".parse().unwrap())];
        builder.default_headers(headers.into_iter().collect())
    })
    .unwrap();
    let ctx = context();
    let request = http.post("http://127.0.0.1/?token=secret-query").header("x-key", "secret-header");
    let shown = format!("{http:?} {request:?} {:?} {ctx:?}", request_of(&http).idempotent(&ctx));
    assert!(!shown.contains("secret") && !shown.contains("charge:ch_1"), "{shown}");
    let pin = ctx.pin("scope", ratchet::Fingerprint::of(b"body")).await.unwrap();
    assert_eq!(pin.wire_key, "charge:ch_1");
    assert!(!format!("{pin:?}").contains("ch_1"), "{pin:?}");
}

fn request_of(http: &Client) -> ratchet::http::Request<ratchet::http::NoIdentity> {
    http.post("http://127.0.0.1/").bearer_auth("secret-token").basic_auth("user", "secret-password")
}
