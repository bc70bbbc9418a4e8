//! Finds the migrations of the peers that ship theirs as files for the user to copy.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=Cargo.lock");
    let metadata = Command::new(std::env::var("CARGO").expect("cargo sets CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked"])
        .output()
        .expect("cargo metadata runs");
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    for (package, folder, variable) in [
        ("fang", "postgres_migrations/migrations", "FANG_MIGRATIONS"),
        ("sqlxmq", "migrations", "SQLXMQ_MIGRATIONS"),
    ] {
        let manifest = metadata["packages"]
            .as_array()
            .and_then(|packages| packages.iter().find(|found| found["name"] == package))
            .and_then(|found| found["manifest_path"].as_str())
            .expect("the package is a dependency");
        let folder = Path::new(manifest).with_file_name(folder);
        println!("cargo::rustc-env={variable}={}", folder.display());
    }
}
