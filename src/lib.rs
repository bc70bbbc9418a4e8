//! Ratchet makes background operations safe to run more than once.
