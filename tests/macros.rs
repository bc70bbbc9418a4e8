//! The attribute, the derives and `registry!` as a user meets them.
#![cfg(feature = "testing")]

#[path = "macros/forms.rs"]
mod forms;
#[path = "macros/registry.rs"]
mod registry;
