//! A statement for many submissions.

use ratchet_core::{Contract, Ledger as _, Policy, Record, Submission, Terms};

use crate::support::{all, database, id, open, submission};

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
