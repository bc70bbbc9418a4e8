//! The operation model, the decision function, the ledger trait, the client and the worker of Ratchet.
