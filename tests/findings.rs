//! docs/findings.md: every section has the same shape, its right example compiles, its wrong one fails with its code.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Findings whose examples are not compiled, since the macros do not report them yet.
const NOT_YET: &[&str] = &[];

/// The error that ends every wrong example: after a finding that is a warning it makes the compiler show it.
const THE_END: &str = "the end";

const PAGE: &str = include_str!("../docs/findings.md");

struct Section {
    code: &'static str,
    text: &'static str,
}

fn sections() -> Vec<Section> {
    let sections = PAGE.split("\n## ").skip(1);
    sections.map(|text| Section { code: text.split(':').next().unwrap_or_default(), text }).collect()
}

fn compiled() -> Vec<Section> {
    sections().into_iter().filter(|section| !NOT_YET.contains(&section.code)).collect()
}

impl Section {
    /// The code block under a label such as `Wrong`.
    fn example(&self, label: &str) -> &'static str {
        let found = self.text.split_once(&format!("\n**{label}:**")).and_then(|(_, below)| {
            let (_, block) = below.split_once("\n```rust")?;
            Some(block.split_once('\n')?.1.split_once("```")?.0)
        });
        found.unwrap_or_else(|| panic!("{} has no example under `{label}`", self.code))
    }
}

/// An empty folder for generated files.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the old files can be removed");
    }
    fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

#[test]
fn sections_are_numbered_and_have_one_shape() {
    let sections = sections();
    let codes: Vec<&str> = sections.iter().map(|section| section.code).collect();
    let expected: Vec<String> = (1..=15).map(|number| format!("R{number:03}")).collect();
    assert_eq!(codes, expected);
    for Section { code, text } in &sections {
        let labels: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("**")?.split_once(":**"))
            .map(|(label, _)| label)
            .collect();
        let [what, why, wrong, right, allow] = labels[..] else { panic!("{code} has the labels {labels:?}") };
        assert_eq!((what, wrong, right, allow), ("What", "Wrong", "Right", "Allow"), "{code}");
        assert!(["Why it defeats deduplication", "What it risks"].contains(&why), "{code}: {why}");
    }
}

/// All in one program, so that they are also seen to live together.
#[test]
fn right_examples_compile() {
    let modules: Vec<String> = compiled()
        .into_iter()
        .map(|section| {
            // As rustfmt writes it: at the margin, two operations of one name would be one too many.
            let example = section.example("Right").replace('\n', "\n    ");
            format!("mod {} {{\n    {example}\n}}\n", section.code.to_lowercase())
        })
        .collect();
    let program = folder("right").join("right.rs");
    let text = format!("#![allow(unused)]\n{}fn main() {{}}\n", modules.join(""));
    fs::write(&program, text).expect("the program can be written");
    trybuild::TestCases::new().pass(program);
}

#[test]
fn wrong_examples_fail_with_their_code() {
    let folder = folder("wrong");
    for section in compiled() {
        let text = format!(
            "#![allow(unused)]\n{}fn main() {{}}\ncompile_error!(\"{THE_END}\");\n",
            section.example("Wrong")
        );
        fs::write(folder.join(format!("{}.rs", section.code)), text).expect("the program can be written");
    }
    // trybuild writes down what the compiler said only for a process with this variable.
    let recorded = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["--exact", "record_messages", "--ignored"])
        .env("TRYBUILD", "overwrite")
        .output()
        .expect("this program can be started again");
    for Section { code, .. } in compiled() {
        let said = fs::read_to_string(folder.join(format!("{code}.stderr"))).unwrap_or_else(|_| {
            panic!("nothing is recorded for {code}:\n{}", String::from_utf8_lossy(&recorded.stdout))
        });
        let own = format!("{code}: ");
        let mut errors = said.lines().filter(|line| line.starts_with("error") && !line.ends_with(THE_END));
        assert!(
            said.contains(&own) && errors.all(|line| line.contains(&own)),
            "the wrong example of {code} gives:\n{said}"
        );
    }
}

#[test]
#[ignore = "started by `wrong_examples_fail_with_their_code`"]
fn record_messages() {
    if std::env::var_os("TRYBUILD").is_some_and(|mode| mode == "overwrite") {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("wrong");
        trybuild::TestCases::new().compile_fail(folder.join("*.rs"));
    }
}
