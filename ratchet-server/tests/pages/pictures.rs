//! Pictures of every page, for people to look at: below the folder of build products, in `tmp/pages`.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::browser::Browser;
use crate::server::{Server, key};
use crate::shop::{LOST, Shop};

/// Takes a picture of what is open, in all forms.
async fn take(browser: &Browser, name: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&folder).unwrap();
    for (form, scheme, width) in [("light", "light", 1280), ("dark", "dark", 1280), ("phone", "light", 390)] {
        browser.prefer(scheme).await;
        browser.width(width).await;
        let picture = STANDARD.decode(browser.picture().await).unwrap();
        std::fs::write(folder.join(format!("{name}-{form}.png")), picture).unwrap();
        let wide = browser.run("return document.documentElement.scrollWidth - window.innerWidth").await;
        assert!(
            wide.as_i64().is_some_and(|pixels| pixels <= 0),
            "{name} is {wide} pixels wider than {width}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_has_its_picture() {
    let shop = Shop::furnished().await;
    shop.remember_a_day().await;
    let server = Server::start(&shop.store);
    let browser = Browser::start().await;
    browser.open(&server.base).await;
    take(&browser, "sign-in").await;
    browser.type_into("#name", "Ada Lovelace").await;
    browser.type_into("#key", &key(&shop.store, &["--scope", "operator", "--name", "ops"])).await;
    browser.press("Sign in").await;
    browser.sees("Oldest uncertain").await;
    take(&browser, "overview").await;
    browser.open(&format!("{}/?hours=24", server.base)).await;
    take(&browser, "overview-day").await;
    for (path, name) in [("/records", "records"), ("/uncertain", "uncertain"), ("/decisions", "decisions")] {
        browser.open(&format!("{}{path}", server.base)).await;
        take(&browser, name).await;
    }
    for (key, name, acts) in [
        (LOST, "uncertain", &["Reconcile", "Accept the risk"][..]),
        ("invoice:inv_2048:collect:v1", "spent", &[]),
        ("invoice:inv_2054:collect:v1", "waiting", &["Cancel"]),
        ("transfer:510:send:v1", "running", &[]),
        ("invoice:inv_2050:collect:v1", "failed", &["Replay", "Release"]),
        ("receipt:3:mail:v1", "succeeded", &[]),
        ("order:77:close:v1", "steps", &[]),
    ] {
        browser.open(&format!("{}/records", server.base)).await;
        browser.type_into("#key", key).await;
        browser.press("Find").await;
        browser.sees("What happened").await;
        take(&browser, &format!("record-{name}")).await;
        let record = browser.url().await;
        for act in acts {
            browser.open(&record).await;
            browser.press(act).await;
            browser.sees("What it does not do").await;
            take(&browser, &format!("act-{}", act.to_lowercase().replace(' ', "-"))).await;
        }
    }
    assert_eq!(browser.complaints().await, Vec::<String>::new());
}
