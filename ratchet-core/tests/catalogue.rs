//! `docs/catalogue.md` is printed from the contracts. `UPDATE_EXPECT=1 cargo test --test catalogue` writes it again.

use std::fmt::Write as _;

use expect_test::expect_file;
use ratchet_core::contract::{
    Characters, Contract, KeyFormat, Marker, Meaning, Mechanism, OtherInput, Remembered, Repeats, Retention,
    ScopePart, Shape, Signal,
};
use ratchet_core::contracts;

const HEAD: &str = "# Catalogue of contracts

What `ratchet::contracts` knows, printed from the code by a test. Each line was read on the day that stands with its
source; providers change their promises. What a page does not say is left out here, and everything can be said
differently in a constant of your own.
";

#[test]
fn the_page_shows_what_the_code_says() {
    let mut page = HEAD.to_owned();
    for contract in contracts::ALL {
        describe(contract, &mut page);
    }
    expect_file!["../../docs/catalogue.md"].assert_eq(&page);
}

#[test]
fn every_contract_has_a_name_of_its_own_and_sources_with_dates() {
    let mut names: Vec<&str> = contracts::ALL.iter().map(Contract::name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), contracts::ALL.len());
    for contract in contracts::ALL {
        let (module, constant) = contract.name().split_once("::").expect("module and constant");
        assert!(
            !module.is_empty()
                && constant.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit())
        );
        assert!(!contract.all_sources().is_empty(), "{}", contract.name());
        for source in contract.all_sources() {
            assert!(source.url.starts_with("https://") && source.read_on.len() == 10, "{source:?}");
        }
        // What stands in every record.
        let kept = serde_json::to_string(&contract.terms()).unwrap();
        assert!(kept.len() < 110, "{kept}");
    }
}

#[test]
fn every_module_of_the_catalogue_is_listed() {
    let listed = |module: &str| contracts::ALL.iter().any(|contract| contract.name().starts_with(module));
    let modules =
        include_str!("../src/contracts/mod.rs").lines().filter_map(|line| line.strip_prefix("pub mod "));
    let modules: Vec<&str> = modules.map(|line| line.trim_end_matches(';')).collect();
    assert!(modules.len() > 15);
    for module in modules {
        assert!(listed(&format!("{module}::")), "{module}");
    }
}

fn describe(contract: &Contract, page: &mut String) {
    writeln!(page, "\n## {}\n", contract.name()).unwrap();
    let mut line = |label: &str, text: String| {
        if !text.is_empty() {
            writeln!(page, "- {label}: {text}").unwrap();
        }
    };
    line("travels in", travels_in(contract));
    if contract.mechanism().carries_key() {
        line("key", key(contract.key_format()));
        line("remembered for", retention(contract.retention()));
        line("kept apart by", apart_by(contract.scope()));
        line("another request under the key", other_input(contract.on_other_input()).to_owned());
        line("a repeated request gets", repeats(contract.on_repeat()).to_owned());
        line("remembered answers", remembered(contract.remembered()).to_owned());
    }
    for signal in contract.all_signals() {
        line("signal", describe_signal(signal));
    }
    if let Some((name, value)) = contract.replay_marker() {
        line("a repeated answer has", format!("`{name}: {value}`"));
    }
    line("how to ask", contract.how_to_ask().to_owned());
    for source in contract.all_sources() {
        line("source", format!("<{}> ({}): {}", source.url, source.read_on, source.says));
    }
}

fn travels_in(contract: &Contract) -> String {
    let place = match contract.mechanism() {
        Mechanism::Header(name) => format!("the header `{name}`"),
        Mechanism::BodyField(path) => format!("the body field `{path}`"),
        Mechanism::QueryParameter(name) => format!("the query parameter `{name}`"),
        _ => "nothing: every request is a new action".to_owned(),
    };
    match contract.first_sent_header() {
        Some(name) => format!("{place}, with the time of the first request in `{name}`"),
        None => place,
    }
}

fn key(format: &KeyFormat) -> String {
    let (min, max) = format.lengths();
    let characters = match format.characters() {
        Characters::Visible => "visible characters".to_owned(),
        Characters::AlphanumericAnd(others) => format!("letters, digits and `{others}`"),
    };
    match format.shape() {
        Shape::Uuid => "a UUID".to_owned(),
        Shape::UuidV4 => "a UUID of version 4".to_owned(),
        Shape::Unguessable => format!("{min} to {max} {characters} that nobody can guess"),
        Shape::Free => format!("{min} to {max} {characters}"),
    }
}

fn retention(retention: Retention) -> String {
    match retention {
        Retention::Forever => "as long as the destination exists".to_owned(),
        Retention::Unstated => "a time that is not documented".to_owned(),
        Retention::For(span) => match span.as_secs() / 60 {
            minutes if minutes % 1440 == 0 => format!("{} d", minutes / 1440),
            minutes if minutes % 60 == 0 => format!("{} h", minutes / 60),
            minutes => format!("{minutes} min"),
        },
    }
}

fn apart_by(parts: &[ScopePart]) -> String {
    let name = |part: &ScopePart| match part {
        ScopePart::Account => "account",
        ScopePart::Credential => "credential",
        ScopePart::Region => "region",
        _ => "method and path",
    };
    parts.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn other_input(other: OtherInput) -> &'static str {
    match other {
        OtherInput::Refused => "is refused",
        OtherInput::NotNoticed => "is not noticed",
        OtherInput::NewAction => "is a new action",
        _ => "",
    }
}

fn repeats(repeats: Repeats) -> &'static str {
    match repeats {
        Repeats::FirstAnswer => "the first answer",
        Repeats::CurrentState => "what is the case now",
        Repeats::Conflict => "an answer that looks like an error",
        Repeats::SilentDrop => "an answer as if it were accepted, and nothing happens",
        _ => "",
    }
}

fn remembered(remembered: Remembered) -> &'static str {
    match remembered {
        Remembered::Successes => "successes",
        Remembered::SuccessesAndRefusals => "2xx and 4xx",
        Remembered::Everything => "everything after the execution began",
        _ => "",
    }
}

fn describe_signal(signal: &Signal) -> String {
    let (first, last) = signal.statuses();
    let statuses = if first == last { first.to_string() } else { format!("{first} to {last}") };
    let marker = match signal.marker() {
        Marker::None => String::new(),
        Marker::Header(name, value) => format!(" with `{name}: {value}`"),
        Marker::Field(path, value) => format!(" with `{value}` in `{path}`"),
    };
    let meaning = match signal.meaning() {
        Meaning::InFlight => "a request with the key is under way".to_owned(),
        Meaning::Done { resource: None } => "done".to_owned(),
        Meaning::Done { resource: Some(path) } => format!("done; `{path}` names what was made"),
        Meaning::Mismatch => "the key is known with another request".to_owned(),
        Meaning::RefusedAfterLookup => "refused, and no request with the key had an effect".to_owned(),
        _ => "this request had no effect".to_owned(),
    };
    format!("{statuses}{marker} means: {meaning}")
}
