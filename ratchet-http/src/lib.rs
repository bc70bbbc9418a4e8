//! The HTTP destination client of Ratchet.
