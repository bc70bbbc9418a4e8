//! What the HTTP client makes of everything that a destination can do, against a real socket.
#![cfg(all(feature = "http", feature = "testing"))]

mod answers;
mod identity;
mod scripted;
