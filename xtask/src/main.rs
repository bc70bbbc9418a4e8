//! `cargo xtask`: set-up, tests and checks of this repository.
fn main() {}
