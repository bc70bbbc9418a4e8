//! A ledger behind a network that fails in one phase of a call after the other.

use std::sync::Arc;
use std::time::Duration;

use ratchet_core::LedgerError;
use ratchet_postgres::{PostgresLedger, PostgresOptions};
use ratchet_test_postgres::{Database, Fault, Proxy, shared};
use tokio::time::timeout;

use crate::support::{database, open};

/// How long a ledger behind the proxy waits for an answer.
pub(crate) const PATIENCE: Duration = Duration::from_millis(250);

/// Longer than any call may take: a failure, a reconnection and a second failure.
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// Two ways to one database: one that is to fail, and one that works.
pub(crate) struct Ways {
    pub(crate) database: Database<'static>,
    pub(crate) proxy: Proxy,
    pub(crate) far: Arc<PostgresLedger>,
    pub(crate) near: Arc<PostgresLedger>,
}

impl Ways {
    pub(crate) async fn new() -> Self {
        let (database, proxy) = (database().await, shared().proxy().await);
        let near = open(&database).await;
        let far = Self::open_far(&proxy, &database).await;
        Self { database, proxy, far, near }
    }

    /// Lets go of all connections that were made.
    pub(crate) async fn start_again(&mut self) {
        self.far = Self::open_far(&self.proxy, &self.database).await;
    }

    async fn open_far(proxy: &Proxy, database: &Database<'_>) -> Arc<PostgresLedger> {
        let options = PostgresOptions::new().busy_timeout(PATIENCE / 3).answer_timeout(PATIENCE);
        let opens = async {
            loop {
                // A busy machine may take longer than that.
                match options.clone().open(&proxy.url(database)).await {
                    Ok(ledger) => return ledger,
                    Err(error) => is_told_to_try_again(&error),
                }
            }
        };
        timeout(SOON, opens).await.expect("a ledger")
    }

    /// Whether a call has ended before the failure came, which then comes no more.
    pub(crate) fn over(&self) -> bool {
        let over = self.proxy.is_to_fail();
        self.proxy.heal();
        over
    }

    /// Asks until there is an answer.
    pub(crate) async fn ask<T>(&self, call: impl AsyncFn(&PostgresLedger) -> Result<T, LedgerError>) -> T {
        for _ in 0..50 {
            match timeout(SOON, call(&self.far)).await.expect("an answer or an error in time") {
                Ok(answer) => return answer,
                Err(error) => is_told_to_try_again(&error),
            }
        }
        panic!("the network works again, and the call still fails");
    }
}

pub(crate) fn is_told_to_try_again(error: &LedgerError) {
    assert!(matches!(error, LedgerError::Store { .. } | LedgerError::Busy { .. }), "{error:?}");
    assert!(error.is_transient());
}

/// Does `call` with a failure in its first exchange, in its second, and so on until it ends before the failure. `call` is
/// given a name that is new each time.
pub(crate) async fn in_every_phase(call: impl AsyncFn(&Ways, &str)) {
    let call = &call;
    // Side by side, since most of it is waiting for what does not come.
    let [before, answer, within, frozen, silent] =
        Fault::ALL.map(|fault| Box::pin(fails_in_every_phase(fault, call)));
    tokio::join!(before, answer, within, frozen, silent);
}

async fn fails_in_every_phase(fault: Fault, call: impl AsyncFn(&Ways, &str)) {
    let ways = Ways::new().await;
    // Makes its connections and prepares its statements, which a failure then interrupts.
    call(&ways, "first").await;
    for exchange in 0.. {
        ways.proxy.fail_once(exchange, fault);
        call(&ways, &format!("{fault:?}.{exchange}")).await;
        if ways.over() {
            assert!(exchange > 0, "nothing went through the proxy");
            return;
        }
    }
}
