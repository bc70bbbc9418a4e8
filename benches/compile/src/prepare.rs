//! Builds once what the compared crates depend on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Failed;
use crate::subject::inputs;

/// The crates that the compared ones name.
const DEPENDENCIES: [&str; 6] = ["async_trait", "inputs", "ratchet", "restate_sdk", "serde", "tracing"];

/// The compiler, and where the dependencies are.
#[derive(Debug)]
pub(crate) struct Ground {
    /// The folder of everything that is generated.
    pub(crate) folder: PathBuf,
    /// The compiler itself: the `rustc` in the path may be a program that looks for it.
    pub(crate) rustc: PathBuf,
    libraries: BTreeMap<String, PathBuf>,
    /// Name and version of what is compared.
    pub(crate) versions: Vec<String>,
}

impl Ground {
    /// Builds the dependencies, of `items` functions at most, as a developer's build does.
    pub(crate) fn prepare(items: usize) -> Result<Self, Failed> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        let folder = root.join("target/compile-cost");
        let package = folder.join("inputs");
        fs::create_dir_all(package.join("src"))?;
        fs::write(package.join("Cargo.toml"), manifest(&root))?;
        fs::write(package.join("src/lib.rs"), inputs(items))?;
        // The versions that the workspace uses, where it uses the crate.
        if !package.join("Cargo.lock").exists() {
            fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock"))?;
        }
        let messages = build(&package, &folder.join("target"))?;
        let (libraries, versions) = artifacts(&messages);
        if let Some(missing) = DEPENDENCIES.iter().find(|name| !libraries.contains_key(**name)) {
            return Err(Failed::NotBuilt((*missing).to_owned()));
        }
        Ok(Self { rustc: compiler()?, folder, libraries, versions })
    }

    /// A call of the compiler that finds the dependencies.
    pub(crate) fn compiler(&self) -> Command {
        let mut command = Command::new(&self.rustc);
        self.link(&mut command);
        command
    }

    /// Tells a command that ends in a call of the compiler where the dependencies are.
    pub(crate) fn link(&self, command: &mut Command) {
        command.arg("-L").arg(format!("dependency={}", self.folder.join("target/debug/deps").display()));
        for (name, path) in &self.libraries {
            command.arg("--extern").arg(format!("{name}={}", path.display()));
        }
    }
}

fn manifest(root: &Path) -> String {
    format!(
        "[package]
name = \"inputs\"
version = \"0.0.0\"
edition = \"2024\"
[workspace]
[dependencies]
async-trait = \"0.1\"
ratchet = {{ path = \"{}\", default-features = false }}
restate-sdk = \"0.13\"
serde = {{ version = \"1\", features = [\"derive\"] }}
tracing = \"0.1\"
",
        root.display()
    )
}

fn build(package: &Path, target: &Path) -> Result<String, Failed> {
    let output = Command::new("cargo")
        .args(["build", "--message-format=json"])
        .current_dir(package)
        .env("CARGO_TARGET_DIR", target)
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(Failed::Command("cargo build".to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The libraries that a build made, and the versions of the compared crates.
fn artifacts(messages: &str) -> (BTreeMap<String, PathBuf>, Vec<String>) {
    let mut libraries = BTreeMap::new();
    let mut versions = Vec::new();
    for message in messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let name = message["target"]["name"].as_str().unwrap_or_default();
        if message["reason"] != "compiler-artifact" || !DEPENDENCIES.contains(&name) {
            continue;
        }
        let files = message["filenames"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for file in files.map(Path::new) {
            let extension = file.extension().unwrap_or_default();
            if extension == "rlib" || extension == std::env::consts::DLL_EXTENSION {
                libraries.insert(name.to_owned(), file.to_owned());
            }
        }
        let version = message["package_id"].as_str().and_then(|id| id.rsplit(['@', '#']).next());
        let named = version.map(|version| format!("{name} {version}")).filter(|_| name != "inputs");
        // A crate is built twice if macros use it too.
        versions.extend(named.filter(|named| !versions.contains(named)));
    }
    (libraries, versions)
}

fn compiler() -> Result<PathBuf, Failed> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output()?;
    let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(Path::new(&sysroot).join("bin/rustc"))
}
