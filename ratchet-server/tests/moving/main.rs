//! `ratchet move`: the program carries a store to another one while workers and producers use both.

mod back;
mod killed;
mod live;
mod process;
mod shop;
mod stores;
mod till;
mod working;
