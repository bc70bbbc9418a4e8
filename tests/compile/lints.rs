//! Generated code is silent: every lint there is says of operations what it says of the same functions without ratchet.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::project::{Diagnostic, Project};

const OPERATIONS: &str = include_str!("sound/operations.rs");
const TYPES: &str = include_str!("sound/types.rs");
const ROOT: &str = "//! A crate.\npub mod operations;\npub mod types;\n";

/// The same without the lines that name a macro of ratchet. The other lines keep their places.
fn plain(text: &str) -> String {
    let ours = ["#[ratchet::", "#[derive(ratchet::", "#[key]", "#[pii]", "#[volatile]"];
    let keep = |line: &&str| !ours.iter().any(|start| line.trim_start().starts_with(start));
    text.lines().map(|line| Some(line).filter(keep).unwrap_or_default().to_owned() + "\n").collect()
}

/// All lints of rustc and clippy; `None` without clippy.
fn all_lints() -> Option<BTreeSet<String>> {
    let rustc = Command::new("rustc").args(["--print", "sysroot"]).output().expect("rustc runs");
    let sysroot = String::from_utf8(rustc.stdout).expect("a path");
    let driver = Path::new(sysroot.trim()).join("bin/clippy-driver");
    let help = Command::new(driver).arg("-Whelp").output().ok()?;
    let help = String::from_utf8(help.stdout).expect("text");
    let lint = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, level) = (words.next()?, words.next()?);
        // `warnings` is all of them.
        (name != "warnings" && ["allow", "warn", "deny"].contains(&level)).then(|| name.replace('-', "_"))
    };
    Some(help.lines().filter_map(lint).collect())
}

/// Module, line, lint and message.
type Found<'a> = (&'a str, usize, &'a str, &'a str);

fn found_in<'a>(found: &'a [Diagnostic], package: &str) -> Vec<Found<'a>> {
    let inside = found.iter().filter(|found| found.package == package);
    inside
        .map(|found| (found.module.as_str(), found.line, found.code.as_str(), found.message.as_str()))
        .collect()
}

#[test]
fn no_lint_says_more_than_of_plain_functions_and_each_can_be_forbidden() {
    let Some(lints) = all_lints() else {
        println!("lints are not looked at: `rustup component add clippy`");
        return;
    };
    assert!(lints.len() > 900, "{}", lints.len());
    let named = |lints: &BTreeSet<String>| lints.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let root = format!("#![warn({})]\n{ROOT}", named(&lints));
    let mut project = Project::new("lints");
    project.package("ratchet_too", "2024", &[("lib", &root), ("operations", OPERATIONS), ("types", TYPES)]);
    let (operations, types) = (plain(OPERATIONS), plain(TYPES));
    project.package("plain", "2024", &[("lib", &root), ("operations", &operations), ("types", &types)]);
    let found = project.run(&["clippy"]);
    let plain = found_in(&found, "plain");
    assert!(plain.iter().any(|(_, _, lint, _)| lint.starts_with("clippy::")), "clippy looked: {plain:?}");
    let more: Vec<Found<'_>> =
        found_in(&found, "ratchet_too").into_iter().filter(|found| !plain.contains(found)).collect();
    assert!(more.is_empty(), "{more:#?}");

    // What is forbidden cannot be allowed again, not even by generated code that would not need it.
    let said: BTreeSet<&str> = plain.iter().map(|(_, _, lint, _)| *lint).collect();
    // Some lints are for whole crates, and others say so.
    let kept = |lint: &String| !said.contains(lint.as_str()) && lint != "unused_attributes";
    let silent: BTreeSet<String> = lints.into_iter().filter(kept).collect();
    assert!(silent.len() > 850, "{}", silent.len());
    let forbidding = format!("#![forbid({})]\n{OPERATIONS}", named(&silent));
    let mut project = Project::new("forbid");
    project.package("forbidding", "2024", &[("lib", ROOT), ("operations", &forbidding), ("types", TYPES)]);
    let errors: Vec<Diagnostic> =
        project.run(&["clippy"]).into_iter().filter(|found| found.level == "error").collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn operations_compile_in_every_edition_without_a_warning() {
    // In each edition, what the later ones would say is asked for as well.
    let root = format!(
        "#![warn(rust_2018_idioms, rust_2021_compatibility, rust_2024_compatibility, keyword_idents)]\n{ROOT}"
    );
    let mut project = Project::new("editions");
    for (name, edition) in [("in_2018", "2018"), ("in_2021", "2021"), ("in_2024", "2024")] {
        project.package(name, edition, &[("lib", &root), ("operations", OPERATIONS), ("types", TYPES)]);
    }
    let found = project.run(&["check"]);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_link_in_documentation_means_the_function() {
    // Of two items with one name, one has to be hidden, or a link is ambiguous.
    let linked = OPERATIONS
        .replace("/// One input, public.", "/// One input, public, unlike [`several`] and [`one`].");
    assert_ne!(linked, OPERATIONS);
    let root = format!("#![deny(rustdoc::broken_intra_doc_links)]\n{ROOT}");
    let mut project = Project::new("documented");
    project.package("documented", "2024", &[("lib", &root), ("operations", &linked), ("types", TYPES)]);
    let found = project.run(&["doc", "--no-deps", "--document-private-items"]);
    assert!(found.is_empty(), "{found:#?}");
}
