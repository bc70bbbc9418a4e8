//! The embedded SQLite ledger of Ratchet.
