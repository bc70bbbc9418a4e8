//! The operators' pages, as a browser and as other programs see them.

mod browser;
mod forms;
mod person;
mod pictures;
mod server;
mod shop;
