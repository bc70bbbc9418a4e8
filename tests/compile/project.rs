//! Packages that are checked together, with their dependencies built once for all tests.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A workspace of generated packages.
pub(crate) struct Project {
    folder: PathBuf,
    packages: Vec<&'static str>,
}

/// What the compiler said.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Diagnostic {
    pub(crate) package: String,
    /// The file's name without folder and extension.
    pub(crate) module: String,
    /// Where the primary place begins, from 1; 0 if it has none.
    pub(crate) line: usize,
    /// `error` or `warning`.
    pub(crate) level: String,
    /// Such as `E0277` or `clippy::pedantic`.
    pub(crate) code: String,
    pub(crate) message: String,
}

impl Project {
    pub(crate) fn new(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        // What an earlier version of the test wrote is no part of it.
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).expect("a folder for the project");
        let root = env!("CARGO_MANIFEST_DIR");
        fs::copy(format!("{root}/Cargo.lock"), folder.join("Cargo.lock")).expect("the versions");
        Self { folder, packages: Vec::new() }
    }

    /// A library of some modules; the first one is its root.
    pub(crate) fn package(&mut self, name: &'static str, edition: &str, modules: &[(&str, &str)]) {
        let source = self.folder.join(name).join("src");
        fs::create_dir_all(&source).expect("a folder for the package");
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"{edition}\"\n\n[dependencies]\n\
             ratchet = {{ path = {:?}, default-features = false }}\n\
             serde = {{ version = \"1\", features = [\"derive\"] }}\n",
            env!("CARGO_MANIFEST_DIR")
        );
        fs::write(self.folder.join(name).join("Cargo.toml"), manifest).expect("a manifest");
        for (module, text) in modules {
            fs::write(source.join(format!("{module}.rs")), text).expect("a module");
        }
        self.packages.push(name);
        let members = self.packages.iter().fold(String::new(), |mut list, name| {
            let _ = write!(list, "\"{name}\", ");
            list
        });
        let workspace = format!("[workspace]\nresolver = \"3\"\nmembers = [{members}]\n");
        fs::write(self.folder.join("Cargo.toml"), workspace).expect("a manifest");
    }

    /// What `cargo check`, `clippy` or `doc` says, ordered by place.
    pub(crate) fn run(&self, subcommand: &[&str]) -> Vec<Diagnostic> {
        let output = Command::new(env!("CARGO"))
            .args(subcommand)
            .args(["--workspace", "--offline", "--keep-going", "--message-format=json"])
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("target"))
            .env("CARGO_INCREMENTAL", "0")
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .output()
            .expect("cargo runs");
        let text = String::from_utf8_lossy(&output.stdout);
        let said: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let mut found: Vec<Diagnostic> = said.iter().filter_map(Diagnostic::read).collect();
        found.sort();
        let ended = said.iter().find(|line| line["reason"] == "build-finished");
        let explained = found.iter().any(|found| found.level == "error");
        let expected = ended.is_some_and(|ended| ended["success"] == !explained);
        assert!(expected, "{}", String::from_utf8_lossy(&output.stderr));
        found
    }
}

impl Diagnostic {
    fn read(line: &Value) -> Option<Self> {
        let message = line.get("message").filter(|_| line["reason"] == "compiler-message")?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let primary = message["spans"].as_array()?.iter().find(|span| span["is_primary"] == true);
        // The sum of what was said has no place.
        let mut primary = primary?;
        // A macro of the standard library has its place there, and a call here.
        while primary["file_name"].as_str().is_some_and(|file| Path::new(file).is_absolute()) {
            primary = primary["expansion"].get("span")?;
        }
        let file = text(&primary["file_name"]);
        Some(Self {
            package: text(&line["target"]["name"]),
            module: file.rsplit('/').next()?.trim_end_matches(".rs").to_owned(),
            line: primary["line_start"].as_u64().and_then(|line| line.try_into().ok())?,
            level: text(&message["level"]),
            code: text(&message["code"]["code"]),
            message: text(&message["message"]),
        })
    }
}
