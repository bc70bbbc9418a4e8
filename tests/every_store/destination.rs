//! Where the operations of these tests have their effects.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use ratchet::{Enqueued, RecordId};
use tokio::sync::Notify;

/// A destination that counts what it is sent under each key, and lets the test hold a call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Destination {
    calls: Arc<Mutex<BTreeMap<String, u32>>>,
    pub(crate) entered: Arc<Notify>,
    pub(crate) go: Arc<Notify>,
}

impl Destination {
    pub(crate) fn call(&self, key: &str) -> u32 {
        let mut calls = self.calls.lock().unwrap();
        let count = calls.entry(key.to_owned()).or_default();
        *count += 1;
        *count
    }

    pub(crate) fn calls(&self) -> BTreeMap<String, u32> {
        self.calls.lock().unwrap().clone()
    }
}

/// Of a record that is new.
pub(crate) fn id_of<T: Debug>(answer: Enqueued<T>) -> RecordId {
    match answer {
        Enqueued::New { id } => id,
        other => panic!("expected a new record, got {other:?}"),
    }
}
