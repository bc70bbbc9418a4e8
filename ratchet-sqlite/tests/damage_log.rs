//! What operators are told about damaged rows. Alone in its process, since it listens to everything that is logged.

mod common;

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use common::{claim, open, other_connection, submit_new};
use ratchet_core::Ledger as _;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// The errors, as one line each.
#[derive(Clone, Default)]
struct Errors(Arc<Mutex<Vec<String>>>);

impl Subscriber for Errors {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::ERROR
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

#[tokio::test]
async fn each_damaged_row_is_logged_once_by_its_number_alone() {
    let errors = Errors::default();
    let _listening = tracing::subscriber::set_default(errors.clone());
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    for invoice in ["sound", "broken_1", "broken_2"] {
        submit_new(&ledger, invoice).await;
    }
    let mut other = other_connection(directory.path()).await;
    for damage in [
        "INSERT INTO ratchet_terms VALUES (9, '{\"secret\":1}')",
        "UPDATE ratchet_records SET terms = 9 WHERE key LIKE '%broken%'",
    ] {
        sqlx::query(damage).execute(&mut other).await.unwrap();
    }
    assert_eq!(claim(&ledger, 1).await.len(), 1);
    for _ in 0..3 {
        assert_eq!(claim(&ledger, 10).await, []);
        assert_eq!(ledger.expire(10).await.unwrap(), 0);
    }
    let line = |row| {
        format!(
            "message=a damaged record is left alone: restore it or ask for help row={row} \
             what=\"its policy and contract cannot be read\" "
        )
    };
    assert_eq!(*errors.0.lock().unwrap(), [line(2), line(3)]);
}
