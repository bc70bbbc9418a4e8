//! What the layer for `Idempotency-Key` does, in a real server and with real clients.

mod clients;
mod crash;
mod edges;
#[path = "../worker/faulty.rs"]
#[allow(dead_code, reason = "shared with the worker's tests")]
mod faulty;
mod logs;
mod ours;
mod requirements;
mod restored;
mod service;
mod stores;
