//! What the pages refuse, hide and promise, to whatever speaks HTTP.

use ratchet::http::reqwest::{Method, StatusCode};
use ratchet::{Contract, Namespace, OperationName, Policy, RecordState};

use crate::server::{Server, Visitor, hidden_field, key, printed, set_cookie};
use crate::shop::{HOUR, LOST, LOST_TOO, Shop, submission};

const OPERATOR: [&str; 2] = ["--scope", "operator"];

/// The address of the page of the only uncertain record.
async fn uncertain_record(visitor: &Visitor) -> String {
    let queue = visitor.page("/uncertain").await;
    let rest = queue.split_once("href=\"/records/").expect("a record").1;
    format!("/records/{}", rest.split_once('"').unwrap().0)
}

async fn fields_of(visitor: &Visitor, form: &str) -> (String, String) {
    let page = visitor.page(form).await;
    (hidden_field(&page, "form_token"), hidden_field(&page, "seen"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_gets_in_without_an_operators_key() {
    let shop = Shop::new().await;
    let server = Server::start(&shop.store);
    let operator = key(&shop.store, &OPERATOR);
    let visitor = Visitor::sign_in(&server, &operator).await;

    let accepted = visitor.sign_in_with(&operator).await;
    let cookie = set_cookie(&accepted).to_owned();
    let (secret, attributes) = cookie.split_once(';').unwrap();
    assert_eq!(secret.len(), "ratchet_session=".len() + 64);
    assert_eq!(attributes, " HttpOnly; SameSite=Strict; Path=/; Max-Age=28800");
    assert_eq!(accepted.headers()["location"], "/signed-in?next=/uncertain");

    for wrong in [key(&shop.store, &["--scope", "producer"]), format!("{operator}x"), String::new()] {
        let refused = visitor.sign_in_with(&wrong).await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN);
        assert!(refused.headers().get("set-cookie").is_none());
        let page = refused.text().await.unwrap();
        assert!(
            page.contains("This is no operator key") && (wrong.is_empty() || !page.contains(&wrong)),
            "{page}"
        );
    }
    let stranger = Visitor::stranger(&server);
    for path in ["/", "/records", "/records/1", "/records/1/cancel", "/uncertain", "/decisions"] {
        let sent_away = stranger.get(path).await;
        assert_eq!(sent_away.headers()["location"], format!("/sign-in?next={path}"));
    }
    let linked =
        stranger.request(Method::GET, "/records/1").header("sec-fetch-site", "cross-site").send().await;
    assert_eq!(linked.unwrap().headers()["refresh"], "0", "the second time comes from here, with the cookie");
    let unkept = stranger.get("/signed-in?next=/").await;
    assert_eq!(unkept.status(), StatusCode::FORBIDDEN);
    assert!(unkept.text().await.unwrap().contains("Your browser did not keep the session."));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_ends_with_its_key() {
    let shop = Shop::new().await;
    let server = Server::start(&shop.store);
    let operator = key(&shop.store, &OPERATOR);
    let visitor = Visitor::sign_in(&server, &operator).await;
    assert_eq!(visitor.get("/").await.status(), StatusCode::OK);

    let token = hidden_field(&visitor.page("/").await, "form_token");
    let other = Visitor::sign_in(&server, &operator).await;
    assert_eq!(visitor.post("/sign-out", &[("form_token", &token)]).await.headers()["location"], "/sign-in");
    assert_eq!(visitor.get("/").await.headers()["location"], "/sign-in?next=/");

    let id = operator.split('_').nth(1).unwrap();
    printed(&["keys", "revoke", "--store", &shop.store, id]);
    // The server looks again after two seconds at the most.
    for _ in 0..100 {
        if other.get("/").await.status() == StatusCode::SEE_OTHER {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("a revoked key goes on to open the pages");
}

/// A form of another site, or without what only our pages know, does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forms_of_others_do_nothing() {
    let shop = Shop::new().await;
    let lost = shop.lost_payment(LOST, HOUR).await;
    let server = Server::start(&shop.store);
    let visitor = Visitor::sign_in(&server, &key(&shop.store, &OPERATOR)).await;
    let path = format!("{}/reconcile", uncertain_record(&visitor).await);
    let (token, seen) = fields_of(&visitor, &path).await;
    let fields = |token: &'static str| {
        [("form_token", token), ("found", "applied"), ("reason", "found"), ("seen", "1-uncertain")]
    };
    let with_token =
        [("form_token", token.as_str()), ("found", "applied"), ("reason", "found"), ("seen", seen.as_str())];

    let without_token = visitor.post(&path, &fields("")).await;
    let wrong_token = visitor.post(&path, &fields("0000")).await;
    let elsewhere =
        visitor.form(&path, &with_token).header("origin", "https://evil.example").send().await.unwrap();
    let cross_site =
        visitor.form(&path, &with_token).header("sec-fetch-site", "cross-site").send().await.unwrap();
    let unsaid = visitor.form(&path, &with_token).send().await.unwrap();
    for refused in [without_token, wrong_token, elsewhere, cross_site, unsaid] {
        assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    }
    assert_eq!(shop.record(&lost).await.state, RecordState::Uncertain);

    let accepted = visitor.post(&path, &with_token).await;
    assert_eq!(accepted.status(), StatusCode::SEE_OTHER);
    assert_eq!(shop.record(&lost).await.state, RecordState::Succeeded);
}

/// A form is read no further than to its bound, whoever sends it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_has_a_bound() {
    let shop = Shop::new().await;
    let server = Server::start(&shop.store);
    let stranger = Visitor::stranger(&server);
    let sign_in = async |filler: usize| {
        let filler = "x".repeat(filler);
        stranger.post("/sign-in", &[("name", "ada"), ("key", "none"), ("next", &filler)]).await.status()
    };
    assert_eq!(sign_in(200 * 1024).await, StatusCode::FORBIDDEN);
    assert_eq!(sign_in(257 * 1024).await, StatusCode::BAD_REQUEST);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_act_needs_a_reason_a_fresh_look_and_an_accepted_risk() {
    let shop = Shop::new().await;
    let lost = shop.lost_payment(LOST, HOUR).await;
    let server = Server::start(&shop.store);
    let visitor = Visitor::sign_in(&server, &key(&shop.store, &OPERATOR)).await;
    let record = uncertain_record(&visitor).await;
    let path = format!("{record}/accept-risk");
    let (token, seen) = fields_of(&visitor, &path).await;
    for (reason, accepted, seen, problem) in [
        (" ", "yes", seen.as_str(), "Say why: the reason stands in the audit trail."),
        ("why not", "", seen.as_str(), "Nothing was done: tick that you accept a second effect"),
        ("why not", "yes", "1-pending", "The record has changed since you opened this form"),
    ] {
        let fields =
            [("form_token", token.as_str()), ("reason", reason), ("accept_risk", accepted), ("seen", seen)];
        let refused = visitor.post(&path, &fields).await;
        assert_eq!(refused.status(), StatusCode::CONFLICT);
        let page = refused.text().await.unwrap();
        assert!(page.contains(problem), "{problem} is not in {page}");
        assert!(reason == " " || page.contains("why not</textarea>"), "what was written is lost: {page}");
    }
    let replay = [("form_token", token.as_str()), ("reason", "again"), ("seen", seen.as_str())];
    let refused = visitor.post(&format!("{record}/replay"), &replay).await;
    assert_eq!(refused.status(), StatusCode::CONFLICT);
    assert!(refused.text().await.unwrap().contains("Running it again may have the effect twice"));
    assert_eq!(shop.record(&lost).await.state, RecordState::Uncertain);
    assert_eq!(shop.client.audit(lost.clone()).await.unwrap(), []);

    let fields = [
        ("form_token", token.as_str()),
        ("reason", "why not"),
        ("accept_risk", "yes"),
        ("seen", seen.as_str()),
    ];
    let accepted = visitor.post(&path, &fields).await;
    assert_eq!(accepted.headers()["location"], format!("{record}?done=accept-risk"));
    assert_eq!(shop.record(&lost).await.state, RecordState::Pending);
    let trail = shop.client.audit(lost).await.unwrap();
    assert_eq!((trail[0].action.as_str(), trail[0].reason.as_str()), ("replay", "why not"));
    assert!(trail[0].by.starts_with("ada (key "), "{}", trail[0].by);
}

/// Whatever strangers wrote is text, what is personal is hidden, and no address holds a key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_show_no_more_than_they_may() {
    let shop = Shop::new().await;
    let lost = shop.lost_payment(LOST, HOUR).await;
    let unknown = OperationName::from_static("undeclared");
    let undeclared = shop.submit(unknown, "undeclared:1", Contract::NONE, Policy::DEFAULT).await;
    shop.client.cancel(undeclared, "<b>mallory</b>", "<script>alert(1)</script>\u{202E}").await.unwrap();
    let server = Server::start(&shop.store);
    let visitor = Visitor::sign_in(&server, &key(&shop.store, &OPERATOR)).await;
    let record = visitor.page(&uncertain_record(&visitor).await).await;
    assert!(record.contains("&quot;email&quot;: &quot;[redacted]&quot;"), "{record}");
    assert!(record.contains("12900") && !record.contains("ada@example.com"));

    let decisions = visitor.page("/decisions").await;
    assert!(decisions.contains("&lt;script&gt;alert(1)&lt;/script&gt;\u{FFFD}"), "{decisions}");
    assert!(decisions.contains("&lt;b&gt;mallory"));
    let path = decisions.split_once("href=\"/records/").expect("a record").1.split_once('"').unwrap().0;
    let hidden = visitor.page(&format!("/records/{path}")).await;
    assert!(hidden.contains("Everything is hidden") && !hidden.contains("12900"), "{hidden}");

    let filtered = visitor.page("/records?state=uncertain").await;
    assert!(filtered.contains(LOST) && !filtered.contains("undeclared:1"));
    for page in
        [record, decisions, hidden, filtered, visitor.page("/").await, visitor.page("/uncertain").await]
    {
        let mut addresses = page.split("href=\"").chain(page.split("action=\"")).skip(1);
        assert!(addresses.all(|rest| !rest.split('"').next().unwrap().contains("transfer:")), "{page}");
    }
    let token = hidden_field(&visitor.page("/records").await, "form_token");
    let found = visitor.post("/records/find", &[("form_token", &token), ("key", LOST)]).await;
    assert_eq!(found.headers()["location"], uncertain_record(&visitor).await);
    assert_eq!(shop.record(&lost).await.state, RecordState::Uncertain);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_opens_its_own_world_alone() {
    let shop = Shop::new().await;
    shop.lost_payment(LOST, HOUR).await;
    let tenant = Namespace::from_static("tenant-a");
    let collect = OperationName::from_static("collect_invoice");
    shop.submit_in(tenant, collect.clone(), "invoice:1", Contract::NONE, Policy::DEFAULT).await;
    shop.submit(collect, "invoice:2", Contract::NONE, Policy::DEFAULT).await;
    let server = Server::start(&shop.store);
    let other =
        Visitor::sign_in(&server, &key(&shop.store, &["--scope", "operator", "--namespace", "tenant-a"]))
            .await;
    let some = Visitor::sign_in(
        &server,
        &key(&shop.store, &["--scope", "operator", "--operation", "collect_invoice"]),
    )
    .await;
    let all = Visitor::sign_in(&server, &key(&shop.store, &OPERATOR)).await;
    let path = uncertain_record(&all).await;
    for visitor in [&other, &some] {
        assert_eq!(visitor.get(&path).await.status(), StatusCode::NOT_FOUND);
        assert_eq!(visitor.get(&format!("{path}/reconcile")).await.status(), StatusCode::NOT_FOUND);
        for page in ["/", "/records", "/uncertain"] {
            let page = visitor.page(page).await;
            assert!(!page.contains(LOST) && !page.contains("send_transfer"), "{page}");
        }
    }
    let (in_other, in_some) = (other.page("/records").await, some.page("/records").await);
    assert!(in_other.contains("invoice:1") && !in_other.contains("invoice:2"), "{in_other}");
    assert!(in_some.contains("invoice:2") && !in_some.contains("invoice:1"), "{in_some}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_is_guarded() {
    let shop = Shop::new().await;
    let _ = shop.lost_payment(LOST_TOO, HOUR).await;
    let server = Server::start(&shop.store);
    let visitor = Visitor::sign_in(&server, &key(&shop.store, &OPERATOR)).await;
    for path in ["/", "/records", "/uncertain", "/decisions", "/sign-in", "/records/999999"] {
        let answer = visitor.get(path).await;
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        let policy = header("content-security-policy");
        assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "same-origin");
        let page = answer.text().await.unwrap();
        for inline in [" style=", "<style", " onclick", "javascript:"] {
            assert!(!page.contains(inline), "{inline} in {page}");
        }
    }
}

/// The same action once more: the page goes on to the new generation, which has the same input.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_record_is_released_as_a_new_generation() {
    let shop = Shop::new().await;
    let collect = OperationName::from_static("collect_invoice");
    let id = shop.submit(collect, "invoice:7", Contract::NONE, Policy::DEFAULT).await;
    shop.client.cancel(id.clone(), "ada", "ordered twice").await.unwrap();
    let server = Server::start(&shop.store);
    let visitor = Visitor::sign_in(&server, &key(&shop.store, &OPERATOR)).await;
    let path = "/records/1/release";
    let (token, seen) = fields_of(&visitor, path).await;
    let fields = [("form_token", token.as_str()), ("reason", "wanted after all"), ("seen", seen.as_str())];
    let released = visitor.post(path, &fields).await;
    assert_eq!(released.headers()["location"], "/records/2?done=release");
    let page = visitor.page("/records/2?done=release").await;
    assert!(page.contains("A new generation is enqueued.") && page.contains("invoice:7#2"), "{page}");
    assert_eq!(shop.record(&id.next_generation()).await.state, RecordState::Pending);
    assert_eq!(shop.record(&id).await.state, RecordState::Cancelled);

    let again = visitor.post(path, &fields).await;
    assert_eq!(
        again.headers()["location"],
        "/records/2?done=release",
        "a form that is sent twice makes no third one"
    );
    assert_eq!(visitor.get("/records/3").await.status(), StatusCode::NOT_FOUND);
}

/// What people do leaves nothing in the log that a key, a form or a record holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_holds_no_key_and_no_form() {
    let shop = Shop::new().await;
    let lost = shop.lost_payment(LOST, HOUR).await;
    let server = Server::start(&shop.store);
    let operator = key(&shop.store, &OPERATOR);
    let visitor = Visitor::sign_in(&server, &operator).await;
    let path = format!("{}/reconcile", uncertain_record(&visitor).await);
    let (token, seen) = fields_of(&visitor, &path).await;
    let _ = visitor.post("/records/find", &[("form_token", token.as_str()), ("key", LOST)]).await;
    let fields = [
        ("form_token", token.as_str()),
        ("found", "applied"),
        ("result", r#""bk_secret""#),
        ("reason", "seen_at_the_bank"),
        ("seen", seen.as_str()),
    ];
    assert_eq!(visitor.post(&path, &fields).await.status(), StatusCode::SEE_OTHER);
    assert_eq!(shop.record(&lost).await.state, RecordState::Succeeded);
    let log = server.log();
    assert!(log.contains("/records/{place}/{act}"), "{log}");
    // It may hold the sign that separates the parts before it.
    let secret = operator.splitn(3, '_').nth(2).unwrap();
    for text in [LOST, "bk_secret", "seen_at_the_bank", secret, &token, "ada@example.com"] {
        assert!(!log.contains(text), "{text} is in {log}");
    }
}

/// What pages ask of a store, the other store answers too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_in_postgresql_is_found_and_cancelled() {
    let database = ratchet_test_postgres::shared().database().await;
    let store = database.url();
    let client = ratchet::Ratchet::open(&store).await.unwrap();
    let collect = OperationName::from_static("collect_invoice");
    let submission = submission(Namespace::DEFAULT, collect, "invoice:7", Contract::NONE, Policy::DEFAULT);
    let id = submission.id.clone();
    let _ = client.ledger().submit(vec![submission]).await.unwrap();
    let server = Server::start(&store);
    let visitor = Visitor::sign_in(&server, &key(&store, &OPERATOR)).await;
    for path in [
        "/",
        "/records",
        "/records?state=pending&age=10min",
        "/records?operation=collect_invoice",
        "/uncertain",
    ] {
        visitor.page(path).await;
    }
    let token = hidden_field(&visitor.page("/records").await, "form_token");
    let found = visitor.post("/records/find", &[("form_token", &token), ("key", "invoice:7")]).await;
    let record = found.headers()["location"].to_str().unwrap().to_owned();
    let seen = hidden_field(&visitor.page(&format!("{record}/cancel")).await, "seen");
    let fields = [("form_token", token.as_str()), ("reason", "ordered twice"), ("seen", seen.as_str())];
    let done = visitor.post(&format!("{record}/cancel"), &fields).await;
    assert_eq!(done.headers()["location"], format!("{record}?done=cancel"));
    assert_eq!(client.state(id).await.unwrap(), Some(RecordState::Cancelled));
    assert!(visitor.page(&record).await.contains("It was cancelled before it had any effect."));
    assert!(visitor.page("/decisions").await.contains("ordered twice"));
}
