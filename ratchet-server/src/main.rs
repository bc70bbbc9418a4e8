//! The `ratchet` program.

fn main() {}
