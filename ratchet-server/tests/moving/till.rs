//! A destination that recognises keys, remembers who asked, and answers when it is told to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::shop::{Charge, SLOW, is_doubtful};

#[derive(Clone)]
pub(crate) struct Till(Arc<Inner>);

struct Inner {
    book: Mutex<Book>,
    /// Grows with each request.
    requests: watch::Sender<usize>,
    /// The answer to a slow charge waits for it, and so do handlers of the test.
    released: watch::Sender<bool>,
    /// Until then, doubtful charges happen and nobody is told so.
    mended: watch::Sender<bool>,
}

#[derive(Default)]
struct Book {
    /// One effect for each key.
    effects: BTreeMap<String, Charge>,
    requests_of: BTreeMap<String, usize>,
}

/// A till that is open until the test ends.
pub(crate) struct Opened {
    pub(crate) till: Till,
    pub(crate) url: String,
    serving: AbortHandle,
}

impl Opened {
    pub(crate) async fn new() -> Self {
        let till = Till(Arc::new(Inner {
            book: Mutex::default(),
            requests: watch::Sender::new(0),
            released: watch::Sender::new(false),
            mended: watch::Sender::new(false),
        }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/charges", listener.local_addr().unwrap());
        let router =
            axum::Router::new().route("/charges", axum::routing::post(charge)).with_state(till.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { till, url, serving: serving.abort_handle() }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn charge(
    State(till): State<Till>,
    headers: HeaderMap,
    Json(charge): Json<Charge>,
) -> (StatusCode, String) {
    let text = |name| headers[name].to_str().unwrap().to_owned();
    let order = charge.order;
    {
        let mut book = till.book();
        let first = book.effects.entry(text("idempotency-key")).or_insert_with(|| charge.clone());
        assert_eq!(*first, charge, "a key belongs to one charge");
        *book.requests_of.entry(text("x-worker")).or_default() += 1;
    }
    till.0.requests.send_modify(|requests| *requests += 1);
    if order == SLOW {
        till.released().await;
    }
    if is_doubtful(order) && !*till.0.mended.borrow() {
        return (StatusCode::INTERNAL_SERVER_ERROR, String::new());
    }
    (StatusCode::OK, order.to_string())
}

impl Till {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.book.lock().unwrap()
    }

    pub(crate) fn release(&self) {
        self.0.released.send_replace(true);
    }

    pub(crate) async fn released(&self) {
        self.0.released.subscribe().wait_for(|released| *released).await.unwrap();
    }

    pub(crate) fn mend(&self) {
        self.0.mended.send_replace(true);
    }

    /// Until each of these was charged.
    pub(crate) async fn charged(&self, orders: &BTreeSet<u64>) {
        let mut requests = self.0.requests.subscribe();
        while !orders.is_subset(&self.orders()) {
            requests.changed().await.unwrap();
        }
    }

    pub(crate) fn orders(&self) -> BTreeSet<u64> {
        self.book().effects.values().map(|charge| charge.order).collect()
    }

    /// How many effects there were, and how many keys: the same.
    pub(crate) fn effects(&self) -> usize {
        self.book().effects.len()
    }

    /// Under which keys an order was charged.
    pub(crate) fn keys_of(&self, order: u64) -> Vec<String> {
        let book = self.book();
        book.effects.iter().filter(|(_, charge)| charge.order == order).map(|(key, _)| key.clone()).collect()
    }

    /// How many requests came from workers of this name.
    pub(crate) fn requests_of(&self, workers: &str) -> usize {
        self.book().requests_of.get(workers).copied().unwrap_or(0)
    }
}
