//! A statement for many submissions.

use std::sync::Arc;

use ratchet_core::decide::{Answer, Command};
use ratchet_core::ledger::Order;
use ratchet_core::{
    Conflict, Contract, Ledger as _, Outcome, Policy, Record, Renewal, State, Submission, Submitted, Terms,
};

use crate::support::{all, claim, database, execute, id, open, payload, settle, submission, submit_new};

/// After many repetitions a batch is looked up before it is inserted, which must not be seen in its answers.
#[tokio::test]
async fn a_batch_after_many_repetitions_is_answered_like_any_other() {
    let database = database().await;
    let ledger = open(&database).await;
    let batch = |invoices: &[&str]| invoices.iter().map(|invoice| submission(invoice)).collect::<Vec<_>>();
    for _ in 0..2 {
        let _ = ledger.submit(batch(&["a", "b", "c"])).await.unwrap();
    }
    let mut mixed = batch(&["a", "d", "b", "d", "e"]);
    mixed[2].input = payload("another");
    let existing = |invoice: &str| Submitted::Existing {
        id: id(invoice),
        state: State::Pending,
        result: None,
        version: submission(invoice).version,
    };
    let new = |invoice: &str| Submitted::New { id: id(invoice) };
    assert_eq!(
        ledger.submit(mixed).await.unwrap(),
        [existing("a"), new("d"), Submitted::Conflict(Conflict::OtherInput), existing("d"), new("e")]
    );
    assert_eq!(all(&ledger).await.len(), 5);
}

/// After many repetitions too, a submission behind a renewal of its key is told of the new generation.
#[tokio::test]
async fn a_submission_behind_a_renewal_of_its_key_sees_the_new_generation() {
    let database = database().await;
    let ledger = open(&database).await;
    submit_new(&ledger, "a").await;
    let leased = claim(&ledger, 1).await.remove(0);
    settle(&ledger, &leased).await.unwrap();
    let _ = ledger.submit(vec![submission("a"), submission("a")]).await.unwrap();
    let renewal = Some(Renewal { by: "ada".to_owned(), reason: "a test".to_owned() });
    let renewed = Submission { renewal, ..submission("a") };
    let told = ledger.submit(vec![submission("a"), renewed, submission("a")]).await.unwrap();
    let next = id("a").next_generation();
    let existing =
        |id, state, result| Submitted::Existing { id, state, result, version: submission("a").version };
    assert_eq!(
        told,
        [
            existing(id("a"), State::Succeeded, Some(payload("paid"))),
            Submitted::New { id: next.clone() },
            existing(next, State::Pending, None),
        ]
    );
}

/// What somebody else keeps locked is waited for apart from the orders that came with it.
#[tokio::test]
async fn a_locked_record_holds_up_no_other_order_of_its_call() {
    let database = database().await;
    let ledger = open(&database).await;
    for invoice in ["locked", "free"] {
        submit_new(&ledger, invoice).await;
    }
    let leased = claim(&ledger, 2).await;
    let mut other = database.connect().await;
    execute(&mut other, "BEGIN; SELECT FROM ratchet.progress WHERE record_id = 1 FOR UPDATE").await;
    let settle = |record: &Record| Order {
        id: record.id.clone(),
        command: Command::Settle { token: record.token, outcome: Outcome::done(payload("paid")) },
    };
    let orders = leased.iter().map(settle).collect();
    let applies = tokio::spawn({
        let ledger = Arc::clone(&ledger);
        async move { ledger.apply(orders).await }
    });
    while ledger.find(id("free")).await.unwrap().unwrap().state() != State::Succeeded {
        assert!(!applies.is_finished(), "one of them is locked");
    }
    execute(&mut other, "COMMIT").await;
    let settled = Ok(Answer::Settled(State::Succeeded));
    assert_eq!(applies.await.unwrap().unwrap(), [settled.clone(), settled]);
}

/// Each text is sent once for neighbours that share it.
#[tokio::test]
async fn every_record_of_a_batch_keeps_its_own_policy_and_contract() {
    let database = database().await;
    let ledger = open(&database).await;
    let longer = Policy { timeout: Policy::DEFAULT.timeout * 2, ..Policy::DEFAULT };
    let (header, other) = (submission("a").contract, Contract::DATABASE.terms());
    let wanted: Vec<(&str, &Policy, &Terms)> = vec![
        ("d", &Policy::DEFAULT, &header),
        ("b", &longer, &header),
        ("a", &longer, &other),
        ("c", &Policy::DEFAULT, &other),
    ];
    let with = |(invoice, policy, contract): &(&str, &Policy, &Terms)| Submission {
        policy: (*policy).clone(),
        contract: (*contract).clone(),
        ..submission(invoice)
    };
    ledger.submit(wanted.iter().map(with).collect()).await.unwrap();
    let found = all(&ledger).await;
    assert_eq!(found.len(), wanted.len());
    for (invoice, policy, contract) in wanted {
        let named = |record: &&Record| record.id == id(invoice);
        let record = found.iter().find(named).expect("a record");
        assert_eq!((&record.policy, &record.effect.contract), (policy, contract), "{invoice}");
    }
}
