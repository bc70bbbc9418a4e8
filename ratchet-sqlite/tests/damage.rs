//! Rows that no release could have written: they stop nobody but themselves.

mod common;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use common::{
    claim, claim_of, id, open, other_connection, payload, settle, submission, submit, submit_new, url,
};
use ratchet_core::decide::{Answer, Command, Refusal};
use ratchet_core::ledger::{Claim, Order};
use ratchet_core::time::ManualClock;
use ratchet_core::{
    Cause, CauseKind, Contract, Ledger as _, LedgerError, Namespace, Outcome, Policy, Record, State,
    StepName, Submission, Submitted, Timestamp, Token,
};
use ratchet_sqlite::{SqliteLedger, SqliteOptions};

const DAMAGE: &str = "UPDATE ratchet_records SET terms = 0 WHERE key LIKE '%broken%'";

async fn execute(directory: &Path, statement: &'static str) -> u64 {
    let mut other = other_connection(directory).await;
    sqlx::query(statement).execute(&mut other).await.unwrap().rows_affected()
}

async fn with_clock(directory: &Path) -> (Arc<SqliteLedger>, Arc<ManualClock>) {
    let clock = ManualClock::at(Timestamp::from_millis(1_768_464_000_000));
    let ledger = SqliteOptions::new().clock(clock.clone()).open(&url(directory)).await.unwrap();
    (ledger, clock)
}

fn keys(records: &[Record]) -> Vec<&str> {
    records.iter().map(|record| record.id.key.as_str()).collect()
}

async fn apply(ledger: &SqliteLedger, invoice: &str, command: Command) -> Result<Answer, Refusal> {
    ledger.apply(vec![Order { id: id(invoice), command }]).await.unwrap().remove(0)
}

#[tokio::test]
async fn a_claim_goes_past_damaged_rows() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    for invoice in
        ["broken_1", "broken_2", "broken_3", "broken_4", "broken_5", "sound_1", "sound_2", "sound_3"]
    {
        submit_new(&ledger, invoice).await;
    }
    assert_eq!(execute(directory.path(), DAMAGE).await, 5);
    assert_eq!(keys(&claim(&ledger, 1).await), ["invoice:sound_1:collect:v1"]);
    let rest = claim(&ledger, 10).await;
    assert_eq!(keys(&rest), ["invoice:sound_2:collect:v1", "invoice:sound_3:collect:v1"]);
    assert_eq!(claim(&ledger, 10).await, []);
    assert_eq!(claim(&ledger, 0).await, []);

    let mends =
        "UPDATE ratchet_records SET terms = (SELECT terms FROM ratchet_records WHERE key LIKE '%sound_1%')";
    execute(directory.path(), mends).await;
    assert_eq!(keys(&claim(&ledger, 1).await), ["invoice:broken_1:collect:v1"], "mended, and served again");
}

#[tokio::test]
async fn a_claim_takes_no_more_than_it_may_behind_damaged_rows() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    for invoice in ["broken_1", "sound_1", "sound_2", "sound_3", "sound_4"] {
        submit_new(&ledger, invoice).await;
    }
    assert_eq!(execute(directory.path(), DAMAGE).await, 1);
    let two = claim(&ledger, 2).await;
    assert_eq!(keys(&two), ["invoice:sound_1:collect:v1", "invoice:sound_2:collect:v1"]);
    assert_eq!(claim(&ledger, 10).await.len(), 2, "the others were left");
}

#[tokio::test]
async fn a_priority_out_of_its_range_stops_its_own_record_alone() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    submit_new(&ledger, "broken").await;
    submit_new(&ledger, "sound").await;
    let damage = "UPDATE ratchet_records SET priority = 100000 WHERE key LIKE '%broken%'";
    assert_eq!(execute(directory.path(), damage).await, 1);
    assert_eq!(keys(&claim(&ledger, 1).await), ["invoice:sound:collect:v1"]);
}

#[tokio::test]
async fn expiry_goes_past_damaged_rows() {
    let directory = tempfile::tempdir().unwrap();
    let (ledger, clock) = with_clock(directory.path()).await;
    for invoice in ["broken_1", "broken_2", "broken_3", "sound_1", "sound_2"] {
        submit_new(&ledger, invoice).await;
        let unstarted = Claim { start_if_safe: false, ..claim_of(1) };
        assert_eq!(ledger.claim(unstarted).await.unwrap().len(), 1);
        clock.advance(Duration::from_secs(1));
    }
    assert_eq!(execute(directory.path(), DAMAGE).await, 3);
    clock.advance(Duration::from_hours(1));
    assert_eq!(ledger.expire(1).await.unwrap(), 1);
    assert_eq!(ledger.expire(10).await.unwrap(), 1);
    assert_eq!(ledger.expire(10).await.unwrap(), 0);
    assert_eq!(claim(&ledger, 10).await.len(), 2, "what had expired is due again");
}

#[tokio::test]
async fn an_order_for_a_damaged_record_is_refused_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (ledger, clock) = with_clock(directory.path()).await;
    for invoice in ["sound_1", "broken", "sound_2"] {
        submit_new(&ledger, invoice).await;
    }
    assert_eq!(claim(&ledger, 3).await.len(), 3);
    assert_eq!(execute(directory.path(), DAMAGE).await, 1);
    clock.advance(Duration::from_secs(40));
    let renew = |invoice| Order {
        id: id(invoice),
        command: Command::Renew { token: Token::new(1), duration: Duration::from_mins(1) },
    };
    let answers =
        ledger.apply(["sound_1", "broken", "missing", "sound_2"].map(renew).to_vec()).await.unwrap();
    let until = Timestamp::from_millis(1_768_464_100_000);
    let renewed = Answer::Renewed { until, cancel_requested: false };
    let what = "its policy and contract cannot be read".to_owned();
    let damaged = Refusal::Damaged { what };
    assert_eq!(answers, [Ok(renewed.clone()), Err(damaged.clone()), Err(Refusal::NoRecord), Ok(renewed)]);
    assert_eq!(
        damaged.to_string(),
        "the record cannot be read: its policy and contract cannot be read; restore it or ask for help"
    );
    clock.advance(Duration::from_secs(40));
    assert_eq!(
        ledger.expire(10).await.unwrap(),
        0,
        "the extended leases stand, the damaged one is left alone"
    );
}

#[tokio::test]
async fn a_damaged_step_stops_its_own_record_alone() {
    for column in ["contract", "pin"] {
        let directory = tempfile::tempdir().unwrap();
        let ledger = open(directory.path()).await;
        for invoice in ["broken", "sound"] {
            let in_steps = Submission { contract: Contract::STEPS.terms(), ..submission(invoice) };
            let _ = ledger.submit(vec![in_steps]).await.unwrap();
        }
        let leased = claim(&ledger, 2).await;
        let begin = |token| Command::BeginStep {
            token,
            step: StepName::from_static("charge"),
            contract: Contract::header("Idempotency-Key").terms(),
            reconciles: false,
        };
        for (invoice, record) in ["broken", "sound"].into_iter().zip(&leased) {
            let started = apply(&ledger, invoice, Command::Start { token: record.token }).await;
            assert_eq!(started, Ok(Answer::Started));
            assert_eq!(apply(&ledger, invoice, begin(record.token)).await, Ok(Answer::StepBegun));
        }
        let damage = match column {
            "contract" => "UPDATE ratchet_steps SET contract = '{\"no' WHERE record_id = 1",
            _ => "UPDATE ratchet_steps SET pin = 'no JSON' WHERE record_id = 1",
        };
        assert_eq!(execute(directory.path(), damage).await, 1);
        let refused = apply(&ledger, "broken", begin(leased[0].token)).await;
        assert!(matches!(refused, Err(Refusal::Damaged { .. })), "{column}: {refused:?}");
        let both = ledger.apply(
            ["broken", "sound"]
                .map(|invoice| Order { id: id(invoice), command: begin(Token::new(1)) })
                .to_vec(),
        );
        assert_eq!(both.await.unwrap()[1], Ok(Answer::StepBegun), "{column}");
        let end = settle(&ledger, &leased[1], Outcome::done(payload("paid"))).await;
        assert!(matches!(end, Answer::Settled(_)), "{column}: {end:?}");
    }
}

#[tokio::test]
async fn a_submission_under_a_damaged_key_fails_alone() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    submit_new(&ledger, "broken").await;
    submit_new(&ledger, "sound").await;
    let damage = "UPDATE ratchet_records SET state = 'broken' WHERE key LIKE '%broken%'";
    assert_eq!(execute(directory.path(), damage).await, 1);
    let (broken, sound, new) =
        tokio::join!(submit(&ledger, "broken"), submit(&ledger, "sound"), submit(&ledger, "new"));
    let error = broken.unwrap_err();
    assert!(matches!(error, LedgerError::Damaged { .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("broken"), "an error must not show a key");
    assert!(matches!(sound, Ok(Submitted::Existing { .. })), "{sound:?}");
    assert!(matches!(new, Ok(Submitted::New { .. })), "{new:?}");
}

#[tokio::test]
async fn a_question_goes_past_damaged_rows() {
    let directory = tempfile::tempdir().unwrap();
    let (ledger, clock) = with_clock(directory.path()).await;
    let asking = |invoice| Submission {
        policy: Policy { reconciles: true, reconcile_after: Duration::ZERO, ..Policy::DEFAULT },
        contract: Contract::NONE.terms(),
        ..submission(invoice)
    };
    let invoices: Vec<String> =
        (0..20).map(|number| format!("broken_{number}")).chain(["sound".to_owned()]).collect();
    for invoice in &invoices {
        let _ = ledger.submit(vec![asking(invoice)]).await.unwrap();
        let leased = claim(&ledger, 1).await.remove(0);
        let token = leased.token;
        apply(&ledger, invoice, Command::Start { token }).await.unwrap();
        let outcome = Outcome::unknown(Cause::new(CauseKind::Transport, "cut"));
        let answer = apply(&ledger, invoice, Command::Settle { token, outcome }).await.unwrap();
        assert_eq!(answer, Answer::Settled(State::Uncertain));
        // The longest waiting are asked about first.
        clock.advance(Duration::from_millis(1));
    }
    assert_eq!(execute(directory.path(), DAMAGE).await, 20);
    let served = vec![claim_of(1).offers.remove(0).served];
    let due = ledger.to_reconcile(Namespace::DEFAULT, served, 16).await.unwrap();
    assert_eq!(keys(&due), ["invoice:sound:collect:v1"]);
}

#[tokio::test]
async fn an_attempt_that_is_on_record_twice_holds_up_nobody_else() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    for invoice in ["broken", "sound"] {
        submit_new(&ledger, invoice).await;
    }
    let leased = claim(&ledger, 2).await;
    let again = "INSERT INTO ratchet_attempts (record_id, token, worker, version, leased_at) \
        SELECT id, 1, 'by hand', '1', 1 FROM ratchet_records WHERE key LIKE '%broken%'";
    assert_eq!(execute(directory.path(), again).await, 1);
    let orders = |command: fn(Token) -> Command| {
        leased.iter().map(|record| Order { id: record.id.clone(), command: command(record.token) }).collect()
    };
    let renew = |token| Command::Renew { token, duration: Duration::from_mins(1) };
    let renewed = ledger.apply(orders(renew)).await.unwrap();
    assert!(matches!(renewed[..], [Ok(Answer::Renewed { .. }), Ok(Answer::Renewed { .. })]), "{renewed:?}");
    let unknown =
        |token| Command::Settle { token, outcome: Outcome::unknown(Cause::new(CauseKind::Failed, "")) };
    let ended = ledger.apply(orders(unknown)).await.unwrap();
    assert!(ended.iter().all(Result::is_ok), "{ended:?}");
}
