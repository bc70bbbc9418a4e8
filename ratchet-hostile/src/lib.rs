//! What must hold of Ratchet for every input, whoever wrote it.
//!
//! Each property is a function of bytes that panics where it does not hold. The targets of `fuzz/` make bytes up until one
//! does; a test of this crate tries those that are kept in `fuzz/corpus`, on any compiler.
#![allow(clippy::missing_panics_doc, reason = "a property that does not hold panics")]

mod answer;
mod canonical;
mod dates;
mod inbound_key;
mod key;
mod template;
#[cfg(feature = "wire")]
mod wire;

use tokio::runtime::{Builder, Runtime};

pub use answer::{classification, retry_after};
pub use canonical::canonical_json;
pub use inbound_key::inbound_key;
pub use key::key_rendering;
pub use template::template;
#[cfg(feature = "wire")]
pub use wire::wire_body;

/// A property, under the name of its fuzz target and of its corpus.
pub struct Property {
    /// The name.
    pub name: &'static str,
    /// Panics where it does not hold.
    pub holds: fn(&[u8]),
}

/// All of them.
pub const ALL: &[Property] = &[
    Property { name: "template", holds: template },
    Property { name: "key_rendering", holds: key_rendering },
    Property { name: "canonical_json", holds: canonical_json },
    Property { name: "inbound_key", holds: inbound_key },
    Property { name: "retry_after", holds: retry_after },
    Property { name: "classification", holds: classification },
    #[cfg(feature = "wire")]
    Property { name: "wire_body", holds: wire_body },
];

/// In a runtime that lasts: making one takes longer than most inputs.
fn in_runtime(work: impl Future<Output = ()>) {
    thread_local! {
        static RUNTIME: Runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    }
    RUNTIME.with(|runtime| runtime.block_on(work));
}

/// Cuts at the first byte of this value.
fn cut(input: &[u8], at: u8) -> (&[u8], &[u8]) {
    match input.iter().position(|byte| *byte == at) {
        Some(place) => (&input[..place], &input[place + 1..]),
        None => (input, &[]),
    }
}
