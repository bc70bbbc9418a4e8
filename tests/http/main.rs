//! What the HTTP client makes of everything that a destination can do, against a real socket.
#![cfg(all(feature = "http", feature = "testing"))]
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

mod admission;
mod answers;
mod contracts;
mod identity;
#[cfg(feature = "middleware")]
mod middleware;
mod phases;
mod scripted;
mod window;
