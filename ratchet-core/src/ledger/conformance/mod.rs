//! What every ledger must do, as test cases that any ledger crate runs.
