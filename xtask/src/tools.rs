//! Provides the programs that the checks need, and says what it installs.

use crate::command::{Failed, run, works};

/// Components of the toolchain: `cargo NAME` must work.
pub(crate) fn need_component(name: &str, component: &str) -> Result<(), Failed> {
    if works(&format!("cargo {name} --version")) {
        return Ok(());
    }
    println!("installing the toolchain's component {component}");
    run(&format!("rustup component add {component}"))
}

/// Seen from the root of the repository, where every command runs.
const FOLDER: &str = "target/tools";

/// The program `cargo-deny`, which is called with `deny` as its first argument.
pub(crate) fn cargo_deny() -> String {
    if works("cargo-deny --version") { "cargo-deny".to_owned() } else { format!("{FOLDER}/bin/cargo-deny") }
}

/// cargo-deny from crates.io, in the folder of build products, if the machine has none.
pub(crate) fn need_cargo_deny() -> Result<(), Failed> {
    if works(&format!("{} --version", cargo_deny())) {
        return Ok(());
    }
    println!("installing cargo-deny into {FOLDER}");
    run(&format!("cargo install --locked --debug --root {FOLDER} cargo-deny@0.20.2"))
}
