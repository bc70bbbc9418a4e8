//! No lint fires on generated code, and no name of the user's is taken for one of ours.
#![deny(warnings, missing_docs, unreachable_pub, unused_qualifications, rust_2018_idioms, dead_code)]
#![no_implicit_prelude]

extern crate ratchet as renamed;

/// An id.
#[derive(::serde::Serialize, ::serde::Deserialize, ::ratchet::KeyPart)]
pub struct Id(u64);

/// An order.
#[derive(::serde::Serialize, ::serde::Deserialize, ::ratchet::Input)]
#[ratchet(crate = renamed)]
pub struct Order {
    /// Its id.
    #[key]
    pub id: Id,
}

/// Operations.
pub mod operations {
    #![forbid(unsafe_code, nonstandard_style, unused)]

    use super::{Id, Order};

    mod core {}
    mod std {}

    /// Shadows.
    #[derive(::ratchet::KeyPart)]
    pub enum Option {
        /// Nothing.
        None,
    }
    /// Shadows.
    #[derive(::ratchet::KeyPart)]
    #[ratchet(crate = super::renamed)]
    pub struct Result {
        part: u8,
    }
    /// Shadows.
    pub trait Future {}
    /// Shadows.
    pub trait Send {}

    /// Public, renamed.
    #[::ratchet::operation(name = "public", version = "1", key = "a:<id>", timeout = "5s", crate = super::renamed)]
    pub async fn public(_ctx: ::ratchet::Context, input: Order) -> super::Answer<u64> {
        let Id(id) = input.id;
        ::core::result::Result::Ok(id)
    }

    /// Its parameters have names that generated code has too.
    #[::ratchet::operation(name = "names", version = "1", key = "b:<call>:<input>:<client>/<it>:<key>")]
    pub(crate) async fn names(
        call: u64,
        input: u64,
        client: u64,
        it: u64,
        key: u64,
        state: ::ratchet::State<u64>,
    ) -> super::Answer<u64> {
        ::core::result::Result::Ok(call + input + client + it + key + *state)
    }

    #[::ratchet::operation(name = "private", version = "1", key = "c:<id>")]
    async fn private(id: u64, not_in_the_key: u64) -> super::Answer<u64> {
        ::core::result::Result::Ok(id + not_in_the_key)
    }

    pub(crate) fn registry() -> ::ratchet::Registry {
        ::ratchet::registry![crate = super::renamed; public, names, private]
    }
}

type Answer<T> = ::core::result::Result<T, ::ratchet::Failure>;

fn main() {
    let key = operations::names::key(&1, &2, &3, &4, &5);
    ::core::assert!(::core::matches!(key, ::core::result::Result::Ok(key) if key.as_str() == "b:1:2:3/4:5"));
    ::core::assert_eq!(::core::iter::Iterator::count(operations::registry().served()), 3);
}
