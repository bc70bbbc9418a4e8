//! What is found in bodies, and what is left alone.

use proc_macro2::TokenStream;

use super::inspect;
use crate::errors::Errors;
use crate::key::Allowances;
use crate::operation::Handler;

/// The finding of each error and of each warning, up to the reason.
fn found(body: &str) -> (Vec<String>, Vec<String>) {
    let item = format!("async fn charge(ctx: Context, input: Charge) -> Result<(), Failure> {{ {body} }}");
    let mut errors = Errors::default();
    let handler = Handler::parse(item.parse().expect("tokens"), &mut errors).ok().expect("a handler");
    assert!(errors.is_empty());
    let warnings = inspect(&handler, &mut Allowances::default(), &mut errors);
    (notes(&errors.report()), notes(&warnings))
}

/// What stands between the first two backticks of every text.
fn notes(tokens: &TokenStream) -> Vec<String> {
    let text = tokens.to_string().replace("\\\"", "");
    let texts = text.split('"').skip(1).step_by(2);
    texts.filter_map(|text| text.split('`').nth(1)).map(str::to_owned).collect()
}

fn refused(body: &str, by: &[&str]) {
    let (errors, warnings) = found(body);
    assert_eq!(errors, by, "{body}");
    assert!(warnings.is_empty(), "{body}: {warnings:?}");
}

fn warned(body: &str, of: &[&str]) {
    let (errors, warnings) = found(body);
    assert_eq!(warnings, of, "{body}");
    assert!(errors.is_empty(), "{body}: {errors:?}");
}

fn silent(body: &str) {
    let (errors, warnings) = found(body);
    assert!(errors.is_empty() && warnings.is_empty(), "{body}: {errors:?} {warnings:?}");
}

#[test]
fn every_place_that_takes_an_identity() {
    for place in [
        r#"http.post(url).header("Idempotency-Key", VALUE).send().await?;"#,
        r#"http.post(url).header("idempotency-key", VALUE);"#,
        r#"http.post(url).header(&"X-Idempotency-Key", VALUE);"#,
        r#"http.post(url).header(b"PayPal-Request-Id", VALUE);"#,
        "http.post(url).header(r#\"Idempotency-Token\"#, VALUE);",
        r#"http.post(url).header(HeaderName::from_static("idempotency-key"), VALUE);"#,
        "http.post(url).header(headers::IDEMPOTENCY_KEY, VALUE);",
        r#"request.headers_mut().insert("Idempotency-Key", VALUE.parse()?);"#,
        r#"request.insert_header(("Idempotency-Key", VALUE));"#,
        r#"let headers = [("Accept", "json"), ("Idempotency-Key", VALUE)];"#,
        "client.charge().idempotency_key(VALUE).send().await?;",
        "client.charge().with_idempotency_key(VALUE);",
        "client.charge().set_idempotency_key(Some(VALUE));",
        "client.run_instances().client_token(VALUE);",
        "client.charge(Charge { amount, idempotency_key: VALUE, note }).await?;",
        "charge.idempotency_key = Some(VALUE);",
        "send_receipt::enqueue(&ratchet, Receipt { id: VALUE }).await?;",
        "mail::send_receipt::request(VALUE, input.amount);",
        "r#type::enqueue(&ratchet, VALUE).await?;",
        "queue.enqueue(VALUE).await?;",
        "tokio::join!(send_receipt::enqueue(&ratchet, VALUE), other());",
        "for item in items { if item.open { work(|| async move { send::enqueue(&r, VALUE).await }); } }",
    ] {
        refused(&place.replace("VALUE", "Uuid::new_v4()"), &["Uuid::new_v4"]);
        silent(&place.replace("VALUE", "ctx.key()"));
        warned(&format!("let fresh = Uuid::new_v4(); {}", place.replace("VALUE", "fresh")), &["fresh"]);
    }
}

#[test]
fn every_value_that_differs_between_attempts() {
    for (value, name) in [
        ("uuid::Uuid::new_v4()", "Uuid::new_v4"),
        ("Uuid::now_v7()", "Uuid::now_v7"),
        ("Uuid::new_v4().to_string()", "Uuid::new_v4"),
        ("format!(\"{}-{}\", input.id, Uuid::new_v4())", "Uuid::new_v4"),
        ("&hash(&[Uuid::new_v4().as_bytes()])", "Uuid::new_v4"),
        ("{ audit(); Uuid::new_v4() }", "Uuid::new_v4"),
        ("input.request_id.unwrap_or_else(Uuid::new_v4)", "Uuid::new_v4"),
        ("Ulid::new()", "Ulid::new"),
        ("nanoid!()", "nanoid!"),
        ("nanoid::nanoid!(10)", "nanoid!"),
        ("rand::random::<u64>()", "rand::random"),
        ("random::<u64>()", "random"),
        ("rand::thread_rng().r#gen::<u64>()", "rand::thread_rng"),
        ("thread_rng().gen::<u64>()", "thread_rng"),
        ("rng.random::<u64>()", "rng.random"),
        ("fastrand::u64(..)", "fastrand::u64"),
        ("OsRng.next_u64()", "OsRng"),
        ("getrandom::u64()", "getrandom::u64"),
        ("chrono::Utc::now()", "Utc::now"),
        ("Local::now().timestamp()", "Local::now"),
        ("SystemTime::now().duration_since(UNIX_EPOCH)", "SystemTime::now"),
        ("UNIX_EPOCH.elapsed()", "UNIX_EPOCH.elapsed"),
        ("Instant::now()", "Instant::now"),
        ("OffsetDateTime::now_utc()", "OffsetDateTime::now_utc"),
        ("Timestamp::now()", "Timestamp::now"),
        ("Zoned::now()", "Zoned::now"),
        ("ctx.attempt()", "ctx.attempt"),
        ("format!(\"{}:{}\", ctx.key(), ctx.attempt())", "ctx.attempt"),
        ("ctx.token()", "ctx.token"),
    ] {
        refused(&format!("http.header(\"Idempotency-Key\", {value});"), &[name]);
        refused(&format!("next::enqueue(&ratchet, Next {{ id: input.id, part: {value} }}).await?;"), &[name]);
    }
    refused(
        "let copy = ctx.clone(); let ctx = &copy; http.idempotency_key(ctx.attempt());",
        &["ctx.attempt"],
    );
    refused("next::enqueue(&r, Next { id: Uuid::new_v4(), at: Utc::now() });", &["Uuid::new_v4", "Utc::now"]);
}

#[test]
fn values_that_are_the_same_on_every_attempt() {
    for value in [
        "ctx.key()",
        "ctx.id().digest()",
        "Uuid::new_v5(&Uuid::NAMESPACE_OID, input.id.as_bytes())",
        "Uuid::new_v3(&SPACE, b\"a\")",
        "Uuid::from_u128(7)",
        "Uuid::parse_str(&input.id)?",
        "login.attempt()",
        "input.token()",
        "input.created_at",
        "StdRng::seed_from_u64(7).next_u64()",
        "\"Uuid::new_v4()\"",
        "format!(\"{{fresh}}:{}\", input.id) /* Uuid::new_v4() */",
        // The answer of another service is what it is.
        "ids.of(Uuid::new_v4()).await?",
    ] {
        silent(&format!("http.header(\"Idempotency-Key\", {value});"));
        silent(&format!("next::enqueue(&ratchet, Next {{ id: {value} }}).await?;"));
    }
}

#[test]
fn places_that_take_no_identity() {
    for body in [
        "http.header(\"X-Trace-Id\", Uuid::new_v4());",
        "http.header(\"X-Request-Id\", Uuid::new_v4()).header(\"Idempotency-Key\", ctx.key());",
        "http.get(\"Idempotency-Key\");",
        "audit(headers.get(\"Idempotency-Key\"), Utc::now());",
        "tracing::info!(\"Idempotency-Key\", at = Utc::now());",
        "next::enqueue(&ratchet, Next { id }).not_before(SystemTime::now() + DAY).await?;",
        "Client::request(Method::POST, Uuid::new_v4());",
        "super::enqueue(Utc::now());",
        "let idempotency_key: Uuid = Uuid::new_v4();",
        "let Charge { idempotency_key, .. } = charge; now(Utc::now());",
        "let text = \"next::enqueue(Uuid::new_v4())\";",
        "let half = http.header(\"Idempotency-Key\", ; Uuid::new_v4(",
    ] {
        if body.parse::<TokenStream>().is_ok() {
            silent(body);
        }
    }
}

#[test]
fn the_nearest_binding_counts() {
    for (body, name) in [
        ("let fresh = Uuid::new_v4(); SEND(fresh)", "fresh"),
        ("let fresh: String = Uuid::new_v4().to_string(); SEND(fresh.as_str())", "fresh"),
        ("let fresh = Some(HeaderValue::from_str(&Uuid::new_v4().to_string())?); SEND(fresh)", "fresh"),
        ("let fresh = format!(\"a-{}\", Utc::now()); SEND(&fresh)", "fresh"),
        ("let fresh = Uuid::new_v4(); SEND(format!(\"a-{fresh}\"))", "fresh"),
        ("let fresh = Uuid::new_v4(); SEND(format!(\"{{{fresh:?}}}\"))", "fresh"),
        ("let id = Uuid::new_v4(); let key = format!(\"a-{id}\"); SEND(key)", "key"),
        ("let id = Uuid::new_v4(); let id = id.to_string(); SEND(id)", "id"),
        ("let id = input.id; let id = Uuid::new_v4(); SEND(id)", "id"),
        ("let id = Uuid::new_v4(); let id = SEND(id) let x = 1;", "id"),
        ("let id = Uuid::new_v4(); { let id = 1; } SEND(id)", "id"),
        ("let id = Uuid::new_v4(); if open { retry(|| SEND(id)) }", "id"),
        ("let id = Uuid::new_v4(); items.iter().map(|item| SEND(id))", "id"),
        ("let n = ctx.attempt(); SEND(n)", "n"),
        ("let mut rng = rand::rng(); SEND(rng.random::<u64>())", "rng"),
        ("let mut id = input.id; id = Uuid::new_v4(); SEND(id)", "id"),
        ("let job = Job { id: Uuid::new_v4() }; SEND(job)", "job"),
        ("let started = Instant::now(); work().await?; SEND(started.elapsed())", "started"),
    ] {
        warned(&body.replace("SEND(", "http.idempotency_key(").replace(") let", "); let"), &[name]);
        warned(&body.replace("SEND(", "next::enqueue(&r, ").replace(") let", "); let"), &[name]);
    }
}

#[test]
fn what_is_unclear_is_passed_over() {
    for body in [
        "let id = Uuid::new_v4(); let id = ctx.key(); SEND(id)",
        "let mut id = Uuid::new_v4(); id = input.id; SEND(id)",
        "let mut id = Uuid::new_v4(); if let Some(old) = old { id = old; } SEND(id)",
        "let id = Uuid::new_v4(); if let Some(id) = input.id { SEND(id) }",
        "let id = Uuid::new_v4(); let Some(id) = input.id else { return }; SEND(id)",
        "let id = Uuid::new_v4(); match input.id { Some(id) => SEND(id), None => {} }",
        "let id = Uuid::new_v4(); for id in input.ids { SEND(id) }",
        "let id = Uuid::new_v4(); input.ids.iter().map(|id| SEND(id))",
        "let id = Uuid::new_v4(); SEND(input.ids.iter().map(|id| id.len()))",
        "let id = Uuid::new_v4(); fn send(id: u64) { SEND(id) }",
        "let id = Uuid::new_v4(); SEND(input.id)",
        "let id = Uuid::new_v4(); SEND(Part { id: input.id })",
        "let id = Uuid::new_v4(); SEND(format!(\"{id}\", id = input.id))",
        "let id = Uuid::new_v4(); SEND(id(input.key))",
        "let id = match stored { Some(id) => id, None => Uuid::new_v4() }; SEND(id)",
        "let id = if open { Uuid::new_v4() } else { input.id }; SEND(id)",
        "let id = stored.get_or_insert_with(|| Uuid::new_v4()); SEND(id)",
        "let make = || Uuid::new_v4(); SEND(make)",
        "let answer = http.post(url).header(\"X-Trace\", Uuid::new_v4()).send().await?; SEND(answer.id)",
        "let row = rows.touch(Utc::now()); SEND(row.id)",
        "let pair = (input.id, Uuid::new_v4()); SEND(pair.0)",
        "let log = Log { order: input.id, trace: Uuid::new_v4() }; SEND(log.order)",
        "let ctx = other(); SEND(ctx.attempt())",
        "let rng = StdRng::seed_from_u64(input.id); SEND(rng.random())",
        "SEND(fresh)",
    ] {
        silent(&body.replace("SEND(", "http.idempotency_key("));
    }
}

#[test]
fn a_value_is_found_once() {
    refused("queue.enqueue(next::request(Uuid::new_v4())).await?;", &["Uuid::new_v4"]);
    refused(
        "one::enqueue(&r, One { next: two::enqueue(&r, Uuid::new_v4()).await?.id() }).await?;",
        &["Uuid::new_v4"],
    );
}

#[test]
fn a_chain_of_bindings_ends() {
    let step = |step: usize| format!("let a{} = b + b + b + a{step} + a{step};", step + 1);
    let chain: Vec<String> = (0..19).map(step).collect();
    let body = format!("let a0 = Uuid::new_v4(); {} http.idempotency_key(a19);", chain.join(" "));
    warned(&body, &["a19"]);
    silent(&body.replace("Uuid::new_v4()", "1"));
    let deep = format!("http.idempotency_key({}Uuid::new_v4(){});", "(".repeat(500), ")".repeat(500));
    silent(&deep);
}

#[test]
fn a_permission_counts_for_the_body_and_is_missed_by_none() {
    let codes = |key: &str, body: &str| {
        let allow = "allow(R012 = \"the destination wants it so\")";
        let args = format!("name = \"a\", version = \"1\", key = \"{key}\", {allow}");
        let item = format!("async fn charge(ctx: Context, input: Charge) {{ {body} }}");
        let expanded =
            crate::operation::expand(args.parse().expect("tokens"), &item.parse().expect("tokens"));
        let text = expanded.to_string();
        ["R001: ", "R012: ", "R015: "].map(|code| text.contains(code))
    };
    let fresh = "http.idempotency_key(Uuid::new_v4());";
    assert_eq!(codes("a:<id>:v1", fresh), [false, false, false]);
    assert_eq!(codes("a:<attempt>:v1", fresh), [true, false, false]);
    assert_eq!(codes("a:<id>:v1", ""), [false, false, true]);
}
