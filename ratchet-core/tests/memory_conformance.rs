//! The in-memory ledger against the suite for all ledgers.
