//! `#[derive(KeyPart)]` on what has no single text form.
#![allow(unused)]

use ratchet::KeyPart;

#[derive(KeyPart)]
struct Two(u64, u64);

#[derive(KeyPart)]
struct Unit;

#[derive(KeyPart)]
enum WithData {
    Plain,
    Other(u64),
}

#[derive(KeyPart)]
enum Alike {
    PushMessage,
    #[allow(non_camel_case_types)]
    Push_Message,
}

#[derive(KeyPart)]
enum Empty {}

#[derive(KeyPart)]
struct Weight(f64);

#[derive(KeyPart)]
struct Generic<T>(T);

#[derive(KeyPart)]
union Either {
    a: u64,
    b: i64,
}

fn main() {}
