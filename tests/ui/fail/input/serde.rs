//! `#[derive(Input)]` without serde.
#![allow(unused)]

use ratchet::Input;

#[derive(Input)]
struct Order {
    id: u64,
}

#[derive(serde::Serialize, Input)]
struct OneWay {
    id: u64,
}

fn main() {}
