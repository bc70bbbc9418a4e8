//! The attribute and derives of Ratchet.
