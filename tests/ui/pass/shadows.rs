//! Names of the user's that mean something to most code, and operations with names that generated code has too.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals, dead_code, unused_macros)]

pub struct Failure;
pub struct String;
pub struct Vec;
pub struct Box;
pub struct Option;
pub struct Result;
pub struct Infallible;
pub struct Context;
pub struct u8;
pub struct bool;
pub struct str;
pub fn Ok() {}
pub fn Err() {}
pub fn Some() {}
pub trait Sized {}
pub trait Future {}
pub trait Serialize {}
pub mod core {}
pub mod std {}
pub mod ratchet {}
macro_rules! panic {
    () => {};
}
macro_rules! concat {
    () => {};
}
macro_rules! format {
    () => {};
}

pub const id: ::core::primitive::u64 = 7;
pub const NAME: ::core::primitive::u64 = 7;
pub mod __r {}

mod input {
    /// An input.
    #[derive(serde::Serialize, serde::Deserialize, ratchet::Input)]
    pub struct Order {
        #[key]
        pub id: u64,
    }
}
use input::Order;

#[::ratchet::operation(name = "one", version = "1", key = "one:<id>", timeout = "5s", priority = 1)]
async fn one(order: Order) -> ::core::result::Result<u64_, ::ratchet::Failure> {
    ::core::result::Result::Ok(order.id)
}

type u64_ = ::core::primitive::u64;

#[::ratchet::operation(name = "two", version = "1", key = "two:<a>:<b>")]
async fn two(
    a: u64_,
    state: ::ratchet::State<u64_>,
    b: u64_,
) -> ::core::result::Result<u64_, ::ratchet::Failure> {
    ::core::result::Result::Ok(a + b + *state)
}

// Operations with the names of what generated code binds.
macro_rules! named {
    ($($name:ident $text:literal)*) => {$(
        #[::ratchet::operation(name = $text, version = "1", key = "named:<input>:<call>", crate = ::ratchet)]
        async fn $name(input: u64_, call: u64_) -> ::core::result::Result<u64_, ::ratchet::Failure> {
            ::core::result::Result::Ok(input + call)
        }
    )*};
}
named!(client "client" call "call" it "it" key "key" request "request");

fn main() {
    let key = one::key(&Order { id: 1 });
    ::core::assert!(::core::matches!(key, ::core::result::Result::Ok(key) if key.as_str() == "one:1"));
    let key = two::key(&1, &2);
    ::core::assert!(::core::matches!(key, ::core::result::Result::Ok(key) if key.as_str() == "two:1:2"));
    ::core::assert_eq!(::ratchet::registry![one, two, it].served().count(), 3);
}
