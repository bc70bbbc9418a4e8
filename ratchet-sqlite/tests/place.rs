//! A database file that goes away while it is open.
#![cfg(unix)]

mod common;

use std::fs;
use std::path::Path;

use common::{all, claim_of, open, submission, submit, submit_new};
use ratchet_core::{Ledger as _, LedgerError};
use ratchet_sqlite::SqliteLedger;

const TOLD: &str = "the store is damaged: the database file was moved or deleted while it was open; \
                    restore it from a backup or ask for help before going on";

/// A call that is alone, one with several entries, and one that reads first.
async fn nothing_is_written(ledger: &SqliteLedger) {
    let commits = ledger.commits();
    let alone = submit(ledger, "late").await.unwrap_err();
    let several = ledger.submit(vec![submission("late"), submission("later")]).await.unwrap_err();
    let claiming = ledger.claim(claim_of(1)).await.unwrap_err();
    for error in [alone, several, claiming] {
        assert_eq!(error.to_string(), TOLD);
        assert!(matches!(error, LedgerError::Damaged { .. }), "{error:?}");
        assert!(!error.is_transient());
    }
    assert_eq!(ledger.commits(), commits);
}

fn rename(directory: &Path, from: &str, to: &str) {
    for end in ["", "-wal", "-shm"] {
        let place = |name: &str| directory.join(format!("{name}{end}"));
        fs::rename(place(from), place(to)).unwrap();
    }
}

#[tokio::test]
async fn nothing_is_written_into_a_deleted_file() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    submit_new(&ledger, "before").await;
    fs::remove_file(directory.path().join("ledger.db")).unwrap();
    nothing_is_written(&ledger).await;
    assert!(!directory.path().join("ledger.db").exists(), "and no empty one is made in its place");
}

#[tokio::test]
async fn nothing_is_written_into_a_moved_file_until_it_is_back() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    submit_new(&ledger, "before").await;
    rename(directory.path(), "ledger.db", "elsewhere.db");
    nothing_is_written(&ledger).await;
    rename(directory.path(), "elsewhere.db", "ledger.db");
    submit_new(&ledger, "after").await;
    assert_eq!(all(&ledger).await.len(), 2);
}

#[tokio::test]
async fn nothing_is_written_once_another_file_is_in_the_place() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    submit_new(&ledger, "before").await;
    rename(directory.path(), "ledger.db", "elsewhere.db");
    let other = open(directory.path()).await;
    nothing_is_written(&ledger).await;
    submit_new(&other, "theirs").await;
    assert_eq!(all(&other).await.len(), 1, "only what was written to it");
}
