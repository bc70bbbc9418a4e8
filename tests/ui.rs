//! What the compiler says: one clear error for each mistake, and nothing for sound code.
//!
//! The texts are those of Rust 1.95; another compiler words and numbers them differently, so there only the sound code is
//! compiled. `TRYBUILD=overwrite cargo test --test ui` writes the texts anew; read what changed.

#[path = "ui/style.rs"]
mod style;

use std::process::Command;

/// The compiler that wrote the recorded texts.
const RECORDED_WITH: &str = "rustc 1.95.";

#[test]
fn messages() {
    // With it, the compiler would show places that no user of a stable toolchain sees.
    assert!(std::env::var_os("RUSTC_BOOTSTRAP").is_none(), "unset RUSTC_BOOTSTRAP");
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    let compiler = compiler();
    if compiler.starts_with(RECORDED_WITH) {
        cases.compile_fail("tests/ui/fail/*/*.rs");
    } else {
        println!(
            "the messages were recorded with {RECORDED_WITH}x and are not compared with those of {compiler}"
        );
    }
}

fn compiler() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().expect("rustc tells its version");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
