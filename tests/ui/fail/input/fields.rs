//! `#[derive(Input)]`: credentials, types of keys, what is no struct.
#![allow(unused)]

use ratchet::Input;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Input)]
struct Login {
    user_id: u64,
    password: String,
    api_key: String,
    #[ratchet(allow(R005 = "it is the name of a paper form"))]
    id_token: String,
    #[ratchet(allow(R005 = "there is nothing here"))]
    amount: u64,
    #[ratchet(rename = "x")]
    other: u64,
}

#[derive(Serialize, Deserialize, Input)]
struct Weighed {
    #[key]
    weight: f64,
    #[key]
    tenant: Option<u64>,
    #[key]
    id: u64,
}

#[derive(Serialize, Deserialize, Input)]
enum Choice {
    A,
}

#[derive(Serialize, Deserialize, Input)]
struct Tuple(u64);

#[derive(Serialize, Deserialize, Input)]
struct Generic<T> {
    value: T,
}

fn main() {}
