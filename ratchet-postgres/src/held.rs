//! Records that this program has leased, as they were when it last wrote them.
//!
//! Most orders come from the worker that holds the lease, so nobody else has written the record meanwhile. It is decided
//! about as it is known here, and the write insists on the row being the same still: one round trip instead of five. Where
//! it is not, the row is loaded and locked, and everything is decided anew.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ratchet_core::ledger::Order;
use ratchet_core::ledger::desk::{Desk, Sheet};
use ratchet_core::{Payload, Record, RecordId, State, Timestamp};
use tokio::time::Instant;

use crate::desk::Loaded;
use crate::seen::Seen;
use crate::write::Mark;

/// How many records are kept in mind; bounds the memory that leases take which nobody ends.
const MOST: usize = 8_192;

/// For how long the database's clock is known after it was read.
const CLOCK_TRUSTED_FOR: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Copy {
    row: i64,
    seen: Seen,
    record: Record,
}

/// What is known without a look.
#[derive(Debug)]
pub(crate) struct Held {
    records: Mutex<HashMap<RecordId, Box<Copy>>>,
    clock: Mutex<Option<(Timestamp, Instant)>>,
    no_input: Payload,
}

impl Held {
    pub(crate) fn new() -> Self {
        Self { records: Mutex::default(), clock: Mutex::default(), no_input: Payload::from_stored("") }
    }

    fn records(&self) -> MutexGuard<'_, HashMap<RecordId, Box<Copy>>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The database's clock, if it was read a moment ago. It errs towards the past, by the time that the answer took.
    fn now(&self) -> Option<Timestamp> {
        let (read, at) = (*self.clock.lock().unwrap_or_else(PoisonError::into_inner))?;
        let passed = at.elapsed();
        (passed < CLOCK_TRUSTED_FOR).then(|| read.after(passed))
    }

    /// Lays on a desk what is known of the records of these orders, and says for each order where; the others have to be
    /// loaded.
    pub(crate) fn lay_out(
        &self,
        orders: &[&Order],
        own_clock: Option<i64>,
    ) -> Option<(Loaded, Vec<Option<usize>>)> {
        let now = own_clock.map(Timestamp::from_millis).or_else(|| self.now())?;
        let mut loaded = Loaded { desk: Desk::default(), now, marks: HashMap::with_capacity(orders.len()) };
        // Sheets are large: a list that grows would move them again and again.
        loaded.desk.sheets.reserve(orders.len());
        let mut known: HashMap<&RecordId, Option<usize>> = HashMap::with_capacity(orders.len());
        let records = self.records();
        let mut lay = |id: &RecordId| {
            let Copy { row, seen, record } = &**records.get(id)?;
            loaded.marks.insert(*row, Mark::new(*seen, record));
            loaded.desk.sheets.push(Sheet::new(*row, record.clone()));
            Some(loaded.desk.sheets.len() - 1)
        };
        let places: Vec<_> =
            orders.iter().map(|order| *known.entry(&order.id).or_insert_with(|| lay(&order.id))).collect();
        (!loaded.desk.sheets.is_empty()).then_some((loaded, places))
    }

    /// Keeps the clock in mind that rows were read with.
    pub(crate) fn read_clock(&self, loaded: &Loaded) {
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.now > Timestamp::EPOCH {
            *clock = Some((loaded.now, Instant::now()));
        }
    }

    /// Keeps in mind what was written, as far as it is known here already, or else if `new_too`. What is not among
    /// `written` was not compared with its row, or differs from it.
    pub(crate) fn remember(&self, loaded: &Loaded, written: &HashMap<i64, Seen>, new_too: bool) {
        let mut records = self.records();
        if records.len() > MOST {
            records.clear();
        }
        for sheet in &loaded.desk.sheets {
            let id = &sheet.record.id;
            match written.get(&sheet.row) {
                Some(seen) if sheet.record.state == State::Running => {
                    if new_too || records.contains_key(id) {
                        let record = Record { input: self.no_input.clone(), ..sheet.record.clone() };
                        records.insert(id.clone(), Box::new(Copy { row: sheet.row, seen: *seen, record }));
                    }
                }
                // Settled, or somebody else has written it.
                _ => drop(records.remove(id)),
            }
        }
    }
}
