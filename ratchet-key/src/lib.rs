//! The key language of Ratchet: grammar, rendering, naming lexicons and findings.
