//! Provides the programs that the checks need, and says what it installs.

use crate::command::{Failed, run, run_with, works};

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

/// What the tests use of Python's: a client of `PostgreSQL`, a mail server, the SDK of a payment provider, a client of
/// `ratchet serve`, a program that tries what a description of an API allows, and one that checks types.
const PYTHON_PACKAGES: &str = "psycopg[binary]==3.3.9 aiosmtpd==1.4.6 stripe==16.1.0 getratchet==0.2.3 \
     schemathesis==4.32.5 mypy==2.4.1";

/// Where it is, seen from the root of the repository.
pub(crate) const PYTHON: &str = "target/tools/python";

/// A Python with the packages of the tests, in the folder of build products.
pub(crate) fn need_python() -> Result<(), Failed> {
    let python = format!("{PYTHON}/bin/python");
    if !works(&format!("{python} -m pip --version")) {
        if !works("python3 -m ensurepip --version") {
            install("python3-venv")?;
        }
        run(&format!("python3 -m venv --clear {PYTHON}"))?;
    }
    println!("installing {PYTHON_PACKAGES} into {PYTHON}, where they are missing");
    // Binary packages, so that no compiler and no header is needed; those that are there are left alone.
    run(&format!("{python} -m pip install --quiet --disable-pip-version-check {PYTHON_PACKAGES}"))
}

/// The Restate server of the tests, and where it is, seen from the root of the repository.
const RESTATE_PACKAGE: &str = "@restatedev/restate-server@1.7.12";
const RESTATE: &str = "target/tools/restate";

/// A Restate server from npm, in the folder of build products. The tests start nodes of their own.
pub(crate) fn need_restate() -> Result<(), Failed> {
    if !works("npm --version") {
        install("npm")?;
    }
    println!("installing {RESTATE_PACKAGE} into {RESTATE}, if it is missing");
    run(&format!(
        "npm install --prefix {RESTATE} --ignore-scripts --no-audit --no-fund --no-save {RESTATE_PACKAGE}"
    ))
}

/// The server of `PostgreSQL` from Debian's packages, if the machine has none. The tests start servers of their own.
pub(crate) fn need_postgres() -> Result<(), Failed> {
    if has_postgres() {
        return Ok(());
    }
    install("postgresql")
}

/// What elects the leader of several servers, from Debian's packages.
pub(crate) fn need_patroni() -> Result<(), Failed> {
    need_all(&[("patroni --version", "patroni"), ("etcd --version", "etcd-server")])
}

/// What the proof makes file systems with, and clocks that jump. Its suites say so where they are missing.
pub(crate) fn need_faults() -> Result<(), Failed> {
    need_all(&[
        ("mkfs.xfs -V", "xfsprogs"),
        ("mkfs.ext4 -V", "e2fsprogs"),
        ("faketime --version", "faketime"),
    ])
}

/// A package for each line that does not work.
fn need_all(programs: &[(&str, &str)]) -> Result<(), Failed> {
    for (line, package) in programs {
        if !works(line) {
            install(package)?;
        }
    }
    Ok(())
}

/// cargo-fuzz from crates.io, in the folder of build products, if the machine has none.
pub(crate) fn need_cargo_fuzz() -> Result<(), Failed> {
    if works(&format!("{} --version", cargo_fuzz())) {
        return Ok(());
    }
    println!("installing cargo-fuzz into {FOLDER}");
    run(&format!("cargo install --locked --debug --root {FOLDER} cargo-fuzz@0.13.2"))
}

/// The program `cargo-fuzz`.
pub(crate) fn cargo_fuzz() -> String {
    if works("cargo-fuzz --version") { "cargo-fuzz".to_owned() } else { format!("{FOLDER}/bin/cargo-fuzz") }
}

/// Programs that send requests to the tests' servers.
pub(crate) fn need_http_clients() -> Result<(), Failed> {
    need_all(&[("curl --version", "curl"), ("node --version", "nodejs")])
}

/// Chromium and the program that drives it, from Debian's packages, for the tests of the operators' pages.
pub(crate) fn need_browser() -> Result<(), Failed> {
    need_all(&[("chromium --version", "chromium"), ("chromedriver --version", "chromium-driver")])
}

/// What the TypeScript client is compiled with, in its own folder.
pub(crate) fn need_node_packages() -> Result<(), Failed> {
    if !works("npm --version") {
        install("npm")?;
    }
    println!("installing the packages of clients/typescript from npm: the compiler, and types of Node's");
    run("npm --prefix clients/typescript ci --ignore-scripts --no-audit --no-fund")
}

/// A package of Debian's.
fn install(package: &str) -> Result<(), Failed> {
    println!("installing Debian's package `{package}`");
    let sudo = if works("sudo --non-interactive true") { "sudo " } else { "" };
    run(&format!("{sudo}apt-get update"))?;
    // Nothing is asked: there may be nobody to answer.
    run_with(
        &format!("{sudo}apt-get install --yes --no-install-recommends {package}"),
        &[("DEBIAN_FRONTEND", "noninteractive")],
    )
}

/// In the search path, or where Debian keeps its releases.
fn has_postgres() -> bool {
    let releases = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    works("initdb --version")
        || releases.into_iter().any(|release| release.path().join("bin/initdb").is_file())
}
