//! The `ratchet` program, started as people start it.

mod explain;
mod fields;
mod hostile;
mod keys;
mod operate;
mod probe;
mod support;
