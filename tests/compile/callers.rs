//! A broken operation is its own errors and no more: whoever calls it, lists it or tests it compiles.

use std::fmt::Write as _;

use crate::project::{Diagnostic, Project};

/// One broken operation, which is called `op`, and what is said of it.
struct Case {
    name: &'static str,
    /// Attribute and signature.
    declared: String,
    /// The inputs, as a caller hands them over.
    inputs: Vec<&'static str>,
    /// How the messages begin, from the first place to the last.
    errors: Vec<&'static str>,
}

impl Case {
    /// Reads the cases of a file, which a blank line separates.
    fn all(text: &'static str) -> Vec<Self> {
        text.split("\n\n").map(Self::read).collect()
    }

    fn read(text: &'static str) -> Self {
        let after = |start| text.lines().filter_map(move |line| line.strip_prefix(start));
        let other =
            |line: &&str| !["# ", "called with: ", "error: "].iter().any(|start| line.starts_with(start));
        Self {
            name: after("# ").next().expect("a name"),
            declared: text.lines().filter(other).collect::<Vec<_>>().join("\n"),
            inputs: after("called with: ")
                .flat_map(|inputs| inputs.split("; "))
                .filter(|input| !input.is_empty())
                .collect(),
            errors: after("error: ").collect(),
        }
    }
}

const ROOT: &str = "
#![allow(unused)]
pub use ratchet::{
    Client, Context, Contract, EnqueueError, Enqueued, Failure, Input, Key, KeyError, KeyPart, Registry, Request, State, operation,
};
pub use serde::{Deserialize, Serialize};

pub type Done = Result<u64, Failure>;

#[derive(Serialize, Deserialize, Input)]
pub struct Order {
    pub id: u64,
    pub paid: bool,
    pub owner: Owner,
}

#[derive(Serialize, Deserialize)]
pub struct Owner {
    pub id: u64,
}

#[operation(name = \"sound\", version = \"1\", key = \"sound:<id>\")]
pub async fn sound(input: Order) -> Done {
    Ok(input.id)
}

#[operation(name = \"broken\")]
pub async fn broken(input: Order) -> Done {
    Ok(input.id)
}

pub fn order() -> Order {
    Order { id: 1, paid: true, owner: Owner { id: 2 } }
}
";

fn declaration(case: &Case) -> String {
    // All cases of a stage are in one crate, where an operation has a name of its own.
    let declared = case.declared.replace("name = \"a\"", &format!("name = \"{}\"", case.name));
    format!("use crate::*;\n{declared} {{\n    todo!()\n}}\n")
}

/// The operation of a case, and below it everything that one can do with it.
fn module(case: &Case) -> String {
    let declared = declaration(case);
    let given = case.inputs.join(", ");
    let lent: Vec<String> = case.inputs.iter().map(|input| format!("&{input}")).collect();
    let lent = lent.join(", ");
    format!(
        "{declared}
        async fn caller(client: &Client) {{
            let _: Result<Enqueued<_>, EnqueueError> = op::enqueue(client, {given}).priority(1).await;
            let _: Request<op> = op::request({given});
            let _: Result<Key, KeyError> = op::key({lent});
            let _: Context = op::test_context({lent});
            let _: [&str; 3] = [op::NAME, op::VERSION, op::KEY_TEMPLATE];
            let _: Registry = ratchet::registry![sound, op, broken];
        }}
        "
    )
}

/// The compiler stops after a stage that found something, so each stage has a package of its own.
struct Stage {
    name: &'static str,
    cases: &'static str,
    /// A mistake of a caller, and what is said of it: callers are looked at in this stage.
    control: (&'static str, &'static str),
}

const STAGES: [Stage; 5] = [
    // What the macro refuses.
    Stage {
        name: "refused",
        cases: include_str!("broken/refused.txt"),
        control: ("fn f() -> u8 { true }", "mismatched types"),
    },
    // Paths that lead nowhere; they are followed before all other names.
    Stage {
        name: "imported",
        cases: include_str!("broken/imported.txt"),
        control: ("use no::no;", "unresolved import `no`"),
    },
    Stage {
        name: "absent",
        cases: include_str!("broken/absent.txt"),
        control: ("fn f() { no }", "cannot find value `no`"),
    },
    // A return type that only the trait refuses is left out: the compiler says it again to each caller that awaits.
    Stage {
        name: "misfits",
        cases: include_str!("broken/misfits.txt"),
        control: ("fn f() -> u8 { true }", "mismatched types"),
    },
    // Constants, after all else.
    Stage {
        name: "evaluated",
        cases: include_str!("broken/evaluated.txt"),
        control: ("const _: () = panic!(\"seen\");", "evaluation panicked: seen"),
    },
];

#[test]
fn callers_of_a_broken_operation_see_no_error_of_their_own() {
    let mut project = Project::new("callers");
    for Stage { name, cases, control } in STAGES {
        let cases = Case::all(cases);
        let modules: Vec<String> = cases.iter().map(module).collect();
        let mut root = format!("{ROOT}mod control;\n");
        for case in &cases {
            let _ = writeln!(root, "mod {};", case.name);
        }
        let mut files = vec![("lib", root.as_str()), ("control", control.0)];
        files.extend(cases.iter().zip(&modules).map(|(case, text)| (case.name, text.as_str())));
        project.package(name, "2024", &files);
    }
    let found = project.run(&["check"]);

    let mut wrong = String::new();
    for Stage { name, cases, control } in STAGES {
        let said = |module: &str| -> Vec<&Diagnostic> {
            found.iter().filter(|found| found.package == name && found.module == module).collect()
        };
        if !said("control").iter().any(|said| said.message.starts_with(control.1)) {
            let _ = writeln!(wrong, "callers in `{name}` are not looked at");
        }
        for case in Case::all(cases) {
            report(&case, &said(case.name), &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Writes down what was said, unless it is what was expected.
fn report(case: &Case, said: &[&Diagnostic], wrong: &mut String) {
    let callers = declaration(case).lines().count() + 1;
    let expected = said.len() == case.errors.len()
        && said.iter().zip(&case.errors).all(|(said, text)| said.message.starts_with(text))
        && said.iter().all(|said| said.level == "error" && said.line < callers);
    if expected {
        return;
    }
    let _ = writeln!(wrong, "{}, with callers from line {callers}:", case.name);
    for Diagnostic { line, level, code, message, .. } in said {
        let _ = writeln!(wrong, "    {line}: {level} {code}: {message}");
    }
}
