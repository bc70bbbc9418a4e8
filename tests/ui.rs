//! What the compiler says: one clear error for each mistake, and nothing for sound code.
//!
//! The texts are those of the toolchain that the repository names. `TRYBUILD=overwrite cargo test --test ui` writes
//! them anew; read what changed.

#[test]
fn messages() {
    // With it, the compiler would show places that no user of a stable toolchain sees.
    assert!(std::env::var_os("RUSTC_BOOTSTRAP").is_none(), "unset RUSTC_BOOTSTRAP");
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*/*.rs");
}
