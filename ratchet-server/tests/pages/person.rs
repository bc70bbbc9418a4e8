//! What somebody with a browser does.

use serde_json::json;

use crate::browser::{Browser, ENTER};
use crate::server::{Server, key};
use crate::shop::{HOUR, LOST, LOST_TOO, MINUTE, Shop};

async fn signed_in(browser: &Browser, server: &Server, key: &str) {
    browser.open(&format!("{}/", server.base)).await;
    browser.type_into("#name", "Ada Lovelace").await;
    browser.type_into("#key", key).await;
    browser.press("Sign in").await;
    browser.sees("Overview").await;
}

/// Somebody who knows nothing of the system finds the uncertain payment, reads why, and settles it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_settles_an_uncertain_payment() {
    let shop = Shop::furnished().await;
    let server = Server::start(&shop.store);
    let browser = Browser::start().await;
    signed_in(&browser, &server, &key(&shop.store, &["--scope", "operator"])).await;

    browser.press("All that is uncertain").await;
    browser.sees(LOST).await;
    browser.press(LOST).await;
    browser.sees("The effect may have happened, and nobody knows.").await;
    browser.sees("The connection broke after the request may have left: “connection reset by peer”.").await;
    browser.sees("The destination does not recognise a repeated request").await;
    browser.sees("Nothing happens by itself").await;

    browser.press("Reconcile").await;
    browser.sees("It does not ask the destination for you, and sends nothing.").await;
    browser.sees("https://api.bank.example").await;
    browser.click(&browser.find("input[value=applied]").await).await;
    browser.type_into("#result", r#"{"booking": "bk_1"}"#).await;
    browser.type_into("#reason", "The bank's page shows booking bk_1").await;
    browser.press("Write down what I found").await;

    browser.sees("Written down.").await;
    browser.sees("The effect happened.").await;
    browser.sees("Reconciled by Ada Lovelace (key").await;
    browser.sees("bk_1").await;
    browser.press("Decisions").await;
    browser.sees("The bank's page shows booking bk_1").await;
    assert_eq!(browser.complaints().await, Vec::<String>::new());
}

/// The same without a mouse, on a phone's width, in the dark.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_settles_a_payment_with_the_keyboard_alone() {
    let shop = Shop::new().await;
    let lost = shop.lost_payment(LOST_TOO, HOUR).await;
    let server = Server::start(&shop.store);
    let browser = Browser::start().await;
    browser.width(390).await;
    browser.prefer("dark").await;
    browser.open(&format!("{}/uncertain", server.base)).await;
    browser.tab_to("Your name").await;
    browser.keys("Grace").await;
    browser.tab_to("Operator key").await;
    browser.keys(&key(&shop.store, &["--scope", "operator"])).await;
    browser.keys(&ENTER.to_string()).await;

    browser.sees(LOST_TOO).await;
    browser.tab_to(&format!("Reconcile {LOST_TOO}")).await;
    browser.keys(&ENTER.to_string()).await;
    browser.sees("What did you find at the destination?").await;
    browser.tab_to("The effect is there").await;
    // The arrow goes to the next choice, and chooses it.
    browser.keys("\u{E015}").await;
    browser.tab_to("Why").await;
    browser.keys("The bank cancelled it by this reference").await;
    browser.tab_to("Write down what I found").await;
    browser.keys(&ENTER.to_string()).await;
    browser.sees("It was refused, and had no effect.").await;
    assert_eq!(shop.record(&lost).await.state, ratchet::RecordState::Failed);

    let wide = browser.run("return document.documentElement.scrollWidth - window.innerWidth").await;
    assert!(
        wide.as_i64().is_some_and(|pixels| pixels <= 0),
        "the page is {wide} pixels wider than the phone"
    );
    assert_eq!(browser.complaints().await, Vec::<String>::new());
}

/// A page that is open follows what happens elsewhere, and stays as it is under somebody's hands.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_page_follows_the_record() {
    let shop = Shop::new().await;
    let lost = shop.lost_payment(LOST, 5 * MINUTE).await;
    let server = Server::start(&shop.store);
    let browser = Browser::start().await;
    signed_in(&browser, &server, &key(&shop.store, &["--scope", "operator"])).await;
    browser.open(&format!("{}/uncertain", server.base)).await;
    browser.press(LOST).await;
    browser.sees("The effect may have happened, and nobody knows.").await;
    browser.run("window.stayed = true; document.querySelector('.acts a').focus()").await;

    let seen = shop.record(&lost).await.token;
    shop.client
        .resolve(lost, "bank", "found", seen, ratchet::Verdict::Applied { result: None })
        .await
        .unwrap();
    browser.sees("The state is succeeded now.").await;
    browser.sees("Reconciled by bank").await;
    assert_eq!(browser.run("return window.stayed").await, json!(true), "it was not loaded anew");

    drop(server);
    browser.sees("Not up to date: the server does not answer.").await;
}

/// Everything but the updates works without the script.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_cancels_without_a_script() {
    let shop = Shop::furnished().await;
    let server = Server::start(&shop.store);
    let browser = Browser::start().await;
    browser.devtools("Emulation.setScriptExecutionDisabled", json!({"value": true})).await;
    signed_in(&browser, &server, &key(&shop.store, &["--scope", "operator"])).await;
    browser.press("Records").await;
    browser.type_into("#key", "invoice:inv_2054:collect:v1").await;
    browser.press("Find").await;
    browser.sees("The destination recognises a repeated request, so the same request is sent again").await;
    browser.press("Cancel").await;
    browser.sees("It is no rollback").await;
    browser.type_into("#reason", "paid in cash").await;
    browser.press("Start nothing more").await;
    browser.sees("It was cancelled after an attempt that may have had its effect.").await;
}
