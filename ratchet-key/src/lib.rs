//! The key language of Ratchet: grammar, rendering, naming lexicons and findings.
//!
//! A key is the identity of one intended action, the same for every attempt. It is declared as a template
//! such as `invoice:<invoice_id>:collect:v1` and rendered to a text such as `invoice:inv_2048:collect:v1`.
//!
//! - [`Template::parse`] reads a template and reports everything that is wrong with it, by position.
//! - [`inspect`] judges the names in it: a key that holds an attempt counter, a clock, a random value,
//!   personal data or a credential does not do its work. [`judge_name`] and [`judge_type`] judge one name.
//!   [`inspect_foreign`] judges keys as other languages write them.
//! - [`KeyWriter`] renders: two different lists of values never give the same key.
//!
//! The crate has no dependencies and does no I/O, so that the macros can use it while they expand. The
//! language-neutral description with test vectors is in `spec/`.
//!
//! ```
//! use ratchet_key::{KeyWriter, Template, inspect};
//!
//! let template = Template::parse("invoice:<invoice_id>:collect:v1").expect("a sound template");
//! assert!(inspect(&template).is_empty());
//!
//! let mut key = KeyWriter::new();
//! key.literal("invoice:");
//! key.part().text("inv_2048")?;
//! key.literal(":collect:v1");
//! assert_eq!(key.finish()?.as_str(), "invoice:inv_2048:collect:v1");
//! # Ok::<(), ratchet_key::KeyError>(())
//! ```
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod encode;
mod error;
mod finding;
mod foreign;
mod inspect;
mod key;
mod lexicon;
mod limits;
mod template;
mod writer;

pub use error::{KeyError, PartError};
pub use finding::{Code, Finding};
pub use foreign::{MAX_FOREIGN_BYTES, inspect_foreign};
pub use inspect::inspect;
pub use key::Key;
pub use lexicon::{Category, NameFinding, judge_field, judge_name, judge_type};
pub use limits::{MAX_KEY_BYTES, MAX_PLACEHOLDERS, MAX_STEP_BYTES, MAX_TEMPLATE_BYTES};
pub use template::{Segment, Span, Template};
pub use writer::{KeyWriter, PartWriter};
