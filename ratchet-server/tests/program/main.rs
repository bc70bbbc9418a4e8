//! The `ratchet` program, started as people start it.

mod doctor;
mod explain;
mod fields;
mod generate;
mod hostile;
mod keys;
mod operate;
mod probe;
mod probe_contract;
mod restored;
mod support;
