//! `cargo xtask lexicon`: how the judgement of names and keys fares on labelled ones.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use ratchet_key::{Code, inspect_foreign, judge_field, judge_name};

use crate::command::Failed;

/// Files of labelled rows, separated by tabs, with the names of the columns in the first line.
#[derive(clap::Args)]
pub(crate) struct Files {
    /// Keys: the columns `id`, `template`, `label` and `reason`.
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Fields: the columns `id`, `entity.field`, `type` and `label`.
    #[arg(long, value_name = "FILE")]
    fields: Option<PathBuf>,
    /// Near misses: the columns `id`, `family` (`key` or `field`), `name` and `label`.
    #[arg(long, value_name = "FILE")]
    traps: Option<PathBuf>,
    /// Ids to leave out, the first word of each line: rows whose label cannot be seen in the row.
    #[arg(long, value_name = "FILE")]
    unseen: Option<PathBuf>,
    /// Lists the wrong rows.
    #[arg(long)]
    wrong: bool,
}

/// Measures on the files that are given.
pub(crate) fn measure(files: &Files) -> Result<(), Failed> {
    let unseen = files.unseen.as_deref().map(read).transpose()?.unwrap_or_default();
    let unseen: HashSet<&str> = unseen.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let kinds: [(&str, &Option<PathBuf>, Judge); 3] =
        [("keys", &files.keys, key), ("fields", &files.fields, field), ("traps", &files.traps, trap)];
    for (title, path, judge) in kinds {
        let Some(path) = path else { continue };
        let text = read(path)?;
        let rows: Vec<Row<'_>> = rows(&text).filter(|row| !unseen.contains(row.get("id"))).collect();
        let judged: Vec<Judged> = rows.iter().filter_map(judge).collect();
        println!("\n{title}: {} rows, {} ambiguous or unknown", rows.len(), rows.len() - judged.len());
        report(&judged, files.wrong);
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, Failed> {
    fs::read_to_string(path).map_err(|error| Failed::Wrong(format!("{}: {error}", path.display())))
}

/// One row, by the names of its columns.
struct Row<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Row<'a> {
    fn get(&self, column: &str) -> &'a str {
        self.0.get(column).copied().unwrap_or_default()
    }
}

fn rows(text: &str) -> impl Iterator<Item = Row<'_>> {
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    lines.map(move |line| Row(columns.iter().copied().zip(line.split('\t')).collect()))
}

/// What a row should be called, and what it is called.
struct Judged {
    row: String,
    group: &'static str,
    expected: &'static str,
    found: &'static str,
    /// Findings of further classes that the row does not speak of.
    surplus: usize,
}

type Judge = fn(&Row<'_>) -> Option<Judged>;

/// The class of a label or a code; `None` for what is not counted.
fn class(name: &str) -> Option<&'static str> {
    Some(match name {
        "ok" | "none" => "none",
        "attempt" | "R001" => "attempt",
        "time" | "time-stable" | "R002" => "time",
        "random" | "R003" => "random",
        "pii" | "R004" => "pii",
        "credential" | "R005" => "credential",
        "constant" | "R006" => "constant",
        "direct_pii" => "direct_pii",
        "indirect_pii" => "indirect_pii",
        "financial_account" => "financial_account",
        "health" => "health",
        "too long" | "R007" => "too long",
        _ => return None,
    })
}

fn key(row: &Row<'_>) -> Option<Judged> {
    let expected = class(row.get("label"))?;
    let codes: BTreeSet<Code> =
        inspect_foreign(row.get("template")).iter().map(|finding| finding.code).collect();
    let found: Vec<&'static str> = codes.iter().filter_map(|code| class(code.as_str())).collect();
    let noted = row.get("reason").split_once("also ").map_or("", |(_, also)| also);
    let surplus = found.iter().filter(|class| **class != expected && !noted.contains(**class)).count();
    let most_telling = ["credential", "pii", "attempt", "random", "time", "constant", "too long"];
    let most_telling = most_telling.into_iter().find(|class| found.contains(class)).unwrap_or("none");
    Some(Judged {
        row: format!("{} {} # {}", row.get("id"), row.get("template"), row.get("reason")),
        group: "keys",
        expected,
        found: if found.contains(&expected) { expected } else { most_telling },
        // On a sound row the surplus is the finding itself, which is wrong already.
        surplus: if expected == "none" { 0 } else { surplus },
    })
}

fn field(row: &Row<'_>) -> Option<Judged> {
    judged_field(row, row.get("entity.field"), Some(row.get("type")).filter(|name| !name.is_empty()))
}

fn judged_field(row: &Row<'_>, path: &str, type_name: Option<&str>) -> Option<Judged> {
    let (entity, name) = split(path);
    let found = judge_field(entity, name, type_name).and_then(|found| found.category);
    Some(Judged {
        row: format!("{} {path} # {}", row.get("id"), row.get("reason")),
        group: "fields",
        expected: class(row.get("label"))?,
        found: found.and_then(|category| class(category.as_str())).unwrap_or("none"),
        surplus: 0,
    })
}

fn trap(row: &Row<'_>) -> Option<Judged> {
    let path = row.get("name");
    if row.get("family") == "field" {
        return judged_field(row, path, None);
    }
    let (entity, name) = split(path);
    Some(Judged {
        row: format!("{} {path} # {}", row.get("id"), row.get("reason")),
        group: "keys",
        expected: class(row.get("label"))?,
        found: judge_name(entity, name).and_then(|found| class(found.code.as_str())).unwrap_or("none"),
        surplus: 0,
    })
}

fn split(path: &str) -> (Option<&str>, &str) {
    path.rsplit_once('.').map_or((None, path), |(entity, name)| (Some(entity), name))
}

fn report(judged: &[Judged], wrong: bool) {
    confusion(judged);
    let flagged = |class: &str| class != "none";
    rate("flagged or not", judged, |row| flagged(row.expected), |row| flagged(row.found));
    let classes: BTreeSet<&str> =
        judged.iter().flat_map(|row| [row.expected, row.found]).filter(|class| flagged(class)).collect();
    for class in classes {
        rate(class, judged, |row| row.expected == class, |row| row.found == class);
    }
    let groups: BTreeSet<&str> = judged.iter().map(|row| row.group).collect();
    for group in groups {
        let rows = judged.iter().filter(|row| row.group == group);
        let right = rows.clone().filter(|row| row.expected == row.found).count();
        println!("right answers, {group}: {}", share(right, rows.count()));
    }
    let surplus = judged.iter().filter(|row| row.surplus > 0).count();
    println!("rows with a finding of a further class that they do not speak of: {surplus}");
    for row in judged.iter().filter(|row| wrong && (row.expected != row.found || row.surplus > 0)) {
        let kind = if row.expected == row.found { "surplus" } else { "wrong" };
        println!("{kind}: {} -> {}: {}", row.expected, row.found, row.row);
    }
}

/// Rows are what a row should be called, columns what it is called.
fn confusion(judged: &[Judged]) {
    let classes: BTreeSet<&str> = judged.iter().flat_map(|row| [row.expected, row.found]).collect();
    print!("{:>18}", "");
    for found in &classes {
        print!("{found:>18}");
    }
    println!();
    for expected in &classes {
        print!("{expected:>18}");
        for found in &classes {
            let count = judged.iter().filter(|row| row.expected == *expected && row.found == *found).count();
            print!("{count:>18}");
        }
        println!();
    }
}

fn rate(title: &str, judged: &[Judged], is: impl Fn(&Judged) -> bool, is_called: impl Fn(&Judged) -> bool) {
    let is_both = judged.iter().filter(|row| is(row) && is_called(row)).count();
    let called = judged.iter().filter(|row| is_called(row)).count();
    let all = judged.iter().filter(|row| is(row)).count();
    println!("{title:>18}: precision {}, recall {}", share(is_both, called), share(is_both, all));
}

/// Three decimals, rounded down, so that nothing looks better than it is.
fn share(part: usize, whole: usize) -> String {
    match (part * 1000).checked_div(whole) {
        None => "-".to_owned(),
        Some(thousandths) => format!("{}.{:03} ({part}/{whole})", thousandths / 1000, thousandths % 1000),
    }
}
