//! The attribute, the derives and `registry!` as a user meets them.
#![cfg(feature = "testing")]
#![allow(clippy::unused_async, reason = "operations are async, and these have nothing to wait for")]

#[path = "macros/forms.rs"]
mod forms;
#[path = "macros/registry.rs"]
mod registry;
