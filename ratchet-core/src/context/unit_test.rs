//! Contexts for unit tests that call a handler directly.

use std::sync::Arc;

use ratchet_key::{Key, KeyError};

use super::orders::UnitTestOrders;
use super::{Cancellation, Context, LeaseClock};
use crate::decide::{SubmitDecision, decide_submission};
use crate::model::{Generation, Namespace, Payload, Priority, Record, RecordId, Submission, Token};
use crate::operation::Spec;
use crate::time::{SharedClock, SystemClock, Timestamp};
use crate::wire_key::WireSecrets;

impl Context {
    /// A context for a unit test that calls a handler directly: the first attempt, in the default namespace, with a
    /// lease that lasts.
    ///
    /// # Errors
    /// If the identity is too long.
    pub(crate) fn of_unit_test(spec: &Spec, key: Key) -> Result<Self, KeyError> {
        let id = RecordId {
            namespace: Namespace::DEFAULT,
            operation: spec.name.clone(),
            key,
            generation: Generation::FIRST,
        };
        let clock: SharedClock = SystemClock::shared();
        let submitted = submitted(spec, id);
        let running = Record { token: Token::new(1), attempts: 1, ..submitted.clone() };
        let orders = Box::new(UnitTestOrders::new(submitted, clock.clone()));
        let lease = Arc::new(LeaseClock::endless(clock));
        Self::new(
            &running,
            spec.contract,
            Arc::new(WireSecrets::of_unit_tests()),
            orders,
            lease,
            Arc::new(Cancellation::new()),
            Arc::default(),
        )
    }
}

#[cfg(feature = "testing")]
impl Context {
    /// The context of a record that a test has leased and started by itself, with a lease that lasts.
    ///
    /// # Errors
    /// If the identity is too long.
    pub fn of_leased(
        record: &Record,
        contract: crate::Contract,
        ledger: crate::ledger::SharedLedger,
    ) -> Result<Self, KeyError> {
        let lease = Arc::new(LeaseClock::endless(SystemClock::shared()));
        let secrets = Arc::new(WireSecrets::of_unit_tests());
        Self::of_attempt(
            record,
            contract,
            secrets,
            ledger,
            lease,
            Arc::new(Cancellation::new()),
            Arc::default(),
        )
    }
}

fn submitted(spec: &Spec, id: RecordId) -> Record {
    let submission = Submission {
        id,
        version: spec.version.clone(),
        input: Payload::from_stored("null"),
        compared: None,
        policy: spec.policy.clone(),
        contract: spec.contract.terms(),
        not_before: None,
        queue: spec.queue.clone(),
        priority: Priority::default(),
        group: None,
        after: None,
        renewal: None,
        trace: None,
    };
    match decide_submission(None, &submission, Timestamp::EPOCH) {
        SubmitDecision::Insert { record, .. } => *record,
        SubmitDecision::Answer(_) => unreachable!("there is no record that could answer"),
    }
}
