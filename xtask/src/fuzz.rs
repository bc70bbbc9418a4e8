//! `cargo xtask fuzz`: makes inputs up for the properties of `ratchet-hostile`.

use std::fs;

use crate::command::{Failed, root, run_with};
use crate::tools::{cargo_fuzz, need_cargo_fuzz};

/// Gives each target its share of the time. New inputs are kept beside the build products; an input for which a property
/// does not hold is named at the end, and becomes part of `fuzz/corpus` with the repair.
pub(crate) fn run(minutes: u64, target: Option<&str>) -> Result<(), Failed> {
    need_cargo_fuzz()?;
    let targets = targets()?;
    let chosen: Vec<&String> = targets.iter().filter(|name| target.is_none_or(|one| one == *name)).collect();
    if chosen.is_empty() {
        return Err(Failed::Wrong(format!("there is no such target; there are {}", targets.join(", "))));
    }
    let seconds = minutes * 60 / chosen.len() as u64;
    chosen.into_iter().try_for_each(|name| run_target(name, seconds))
}

fn run_target(name: &str, seconds: u64) -> Result<(), Failed> {
    let found = format!("target/fuzz/{name}");
    fs::create_dir_all(root().join(&found)).map_err(|error| Failed::Wrong(format!("{found}: {error}")))?;
    // No code of ours is unsafe, so nothing is to be had from a sanitizer.
    let limits = format!("-max_total_time={seconds} -timeout=10 -max_len=4096 -print_final_stats=1");
    let features = if name == "wire_body" { "--features wire " } else { "" };
    let command = format!(
        "{} run --fuzz-dir fuzz --sanitizer none {features}{name} {found} fuzz/corpus/{name} -- {limits}",
        cargo_fuzz()
    );
    run_with(&command, &[("RUSTUP_TOOLCHAIN", "nightly")])
}

fn targets() -> Result<Vec<String>, Failed> {
    let folder = root().join("fuzz/fuzz_targets");
    let unreadable = |error| Failed::Wrong(format!("{}: {error}", folder.display()));
    let mut names = Vec::new();
    for file in fs::read_dir(&folder).map_err(unreadable)? {
        let file = file.map_err(unreadable)?.path();
        names.extend(file.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}
