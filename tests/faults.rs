//! docs/faults.md: each row names tests, and each of them exists.

use std::fs;
use std::path::Path;

const PAGE: &str = include_str!("../docs/faults.md");

/// What the text names as `path::function`.
fn tests_in(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).filter(|quoted| quoted.contains("::")).collect()
}

fn exists(test: &str) -> bool {
    let Some((path, function)) = test.split_once("::") else { return false };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(file).is_ok_and(|text| text.contains(&format!("fn {function}(")))
}

#[test]
fn each_test_on_the_page_exists() {
    let missing: Vec<&str> = tests_in(PAGE).into_iter().filter(|test| !exists(test)).collect();
    assert!(missing.is_empty(), "docs/faults.md names tests that do not exist: {missing:#?}");
}

#[test]
fn each_row_names_a_test() {
    let rows = PAGE.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| what went wrong"));
    let without: Vec<&str> = rows.filter(|row| tests_in(row).is_empty()).collect();
    assert!(without.is_empty(), "{without:#?}");
}

#[test]
fn a_test_that_does_not_exist_is_noticed() {
    assert!(exists("tests/faults.rs::each_row_names_a_test"));
    for absent in ["tests/faults.rs::each_row_names", "tests/no_such_file.rs::exists", "tests/faults.rs"] {
        assert!(!exists(absent), "{absent}");
    }
}
