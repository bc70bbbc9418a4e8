//! The protocol as published clients speak it, with the program as people start it.

mod declared;
#[cfg(feature = "testing")]
mod given_up;
mod keys;
mod languages;
mod limits;
mod operating;
mod producing;
mod schema;
mod support;
mod waiting;
mod working;
