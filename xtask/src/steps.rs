//! The steps of `cargo xtask test`, quick ones first.

use crate::command::{Failed, run, run_with};
use crate::{readme, tools};

/// One check.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) run: fn() -> Result<(), Failed>,
}

pub(crate) const STEPS: [Step; 8] = [
    Step { name: "format", what: "rustfmt changes nothing", run: format },
    Step { name: "clippy", what: "no warning in any crate, target or feature", run: clippy },
    Step { name: "features", what: "the face builds without its features", run: features },
    Step { name: "docs", what: "the documentation builds without a warning", run: docs },
    Step { name: "tests", what: "unit, property, conformance, compiler-message and crash tests", run: tests },
    Step {
        name: "clients",
        what: "the clients of other languages: types, vectors, and the real server",
        run: clients,
    },
    Step { name: "readme", what: "the README's commands do what it says", run: readme::run_commands },
    Step { name: "deny", what: "licences, sources and bans of every dependency", run: deny },
];

fn format() -> Result<(), Failed> {
    tools::need_component("fmt", "rustfmt")?;
    run("cargo fmt --all --check")
}

fn clippy() -> Result<(), Failed> {
    tools::need_component("clippy", "clippy")?;
    run("cargo clippy --locked --workspace --all-targets --all-features -- -D warnings")?;
    run("cargo clippy --locked --manifest-path benches/compile/Cargo.toml -- -D warnings")
}

fn features() -> Result<(), Failed> {
    run("cargo check --locked --package ratchet --lib --no-default-features")?;
    run("cargo check --locked --package ratchet --lib --no-default-features --features sqlite")?;
    run("cargo check --locked --package ratchet --lib --no-default-features --features mail")?;
    run("cargo check --locked --package ratchet --lib --no-default-features --features postgres")?;
    run("cargo check --locked --package ratchet --lib --no-default-features --features schema")?;
    run("cargo check --locked --package ratchet --lib --no-default-features --features inbound")?;
    run("cargo check --locked --package ratchet --lib --no-default-features --features restate")
}

fn docs() -> Result<(), Failed> {
    run_with("cargo doc --locked --workspace --no-deps --all-features", &[("RUSTDOCFLAGS", "-D warnings")])
}

fn tests() -> Result<(), Failed> {
    tools::need_postgres()?;
    tools::need_faults()?;
    tools::need_python()?;
    tools::need_restate()?;
    tools::need_http_clients()?;
    tools::need_browser()?;
    run("cargo test --locked --workspace --all-features")?;
    // A server starts for each case on an engine, so these are a third of them; all would take minutes.
    run(
        "cargo test --locked --workspace --all-features --test conformance -- submit:: claim:: lease:: late:: work::",
    )
}

/// Both make the same keys and fingerprints as Rust, and share records through the server of this build.
fn clients() -> Result<(), Failed> {
    tools::need_node_packages()?;
    tools::need_python()?;
    // As the tests before have built it.
    run("cargo build --locked --workspace --all-features --bin ratchet")?;
    run("npm --prefix clients/typescript test")?;
    let python = format!("{}/bin/python", tools::PYTHON);
    let tests = "-m unittest discover --start-directory clients/python/tests";
    run_with(&format!("{python} {tests}"), &[("PYTHONPATH", "clients/python")])?;
    run_with(
        &format!("{python} -m mypy --strict --cache-dir target/mypy clients/python"),
        &[("MYPYPATH", "clients/python")],
    )
}

fn deny() -> Result<(), Failed> {
    tools::need_cargo_deny()?;
    run(&format!("{} deny --all-features check bans licenses sources", tools::cargo_deny()))
}
