//! A broken operation is its own errors and no more: whoever calls it, lists it or tests it compiles.

use std::fmt::Write as _;

use crate::project::{Diagnostic, Project};

/// One broken operation, which is called `op`, and what is said of it.
struct Case {
    name: &'static str,
    /// Attribute and signature.
    declared: &'static str,
    /// The inputs, as a caller hands them over.
    inputs: &'static [&'static str],
    /// How the messages begin, from the first place to the last.
    errors: &'static [&'static str],
}

const fn case(
    name: &'static str,
    declared: &'static str,
    inputs: &'static [&'static str],
    errors: &'static [&'static str],
) -> Case {
    Case { name, declared, inputs, errors }
}

const ORDER: &[&str] = &["order()"];
const TWO: &[&str] = &["1", "2"];

/// What the macro refuses.
const REFUSED: &[Case] = &[
    case(
        "no_arguments",
        "#[operation]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["R015: an operation needs"],
    ),
    case(
        "missing_argument",
        "#[operation(name = \"a\", key = \"a:<id>\")]\nasync fn op(input: Order) -> Done",
        ORDER,
        &["R015: an operation needs `version`"],
    ),
    case(
        "unknown_argument",
        "#[operation(name = \"a\", versoin = \"1\", key = \"a:<id>\")]\nasync fn op(input: Order) -> Done",
        ORDER,
        &["R015: `versoin` is no argument"],
    ),
    case(
        "reserved_argument",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<a>\", queue = \"x\")]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["R015: `queue` is no argument"],
    ),
    case(
        "repeated_argument",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<a>\", name = \"x\")]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["R015: `name` is given twice"],
    ),
    case(
        "missing_comma",
        "#[operation(name = \"a\" version = \"1\", key = \"a:<a>\")]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["R015: expected a comma"],
    ),
    case(
        "no_argument_name",
        "#[operation(\"a\", name = \"a\", version = \"1\", key = \"a:<a>\")]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["R015: expected an argument"],
    ),
    case(
        "no_value",
        "#[operation(name =, version = \"1\", key = \"a:<a>\")]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["R015: `name` needs a value"],
    ),
    case(
        "name_alphabet",
        "#[operation(name = \"A b\", version = \"1\", key = \"a:<a>\")]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["R015: `name` has 1 to 128 characters"],
    ),
    case(
        "version_number",
        "#[operation(name = \"a\", version = 1, key = \"a:<a>\")]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["R015: `version` is a string literal"],
    ),
    case(
        "key_constant",
        "#[operation(name = \"a\", version = \"1\", key = KEY)]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["R015: `key` is a string literal"],
    ),
    case(
        "half_an_expression",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<a>\", timeout = 1 +)]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["R015"],
    ),
    case(
        "unknown_word",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<a>\", on_unknown = prak)]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["R015: `prak` is no value of `on_unknown`"],
    ),
    case(
        "timeout_text",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<a>\", timeout = \"soon\")]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["R015: `soon` is no duration"],
    ),
    case(
        "timeout_zero",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<a>\", timeout = \"0s\")]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["R015: `0s` is no duration"],
    ),
    case(
        "destination_word",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<a>\", destination = stripe)]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["R015: `stripe` is no value of `destination`"],
    ),
    case(
        "short_reason",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<a>\", new_identity = \"x\")]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["R015: `new_identity` needs a reason"],
    ),
    case(
        "allow_form",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<a>\", allow = \"R001\")]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["R015: `allow` names a finding and a reason"],
    ),
    case(
        "allow_without_reason",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<attempt>:<b>\", allow(R001))]\nasync fn op(attempt: u64, b: u64) -> Done",
        TWO,
        &["R015: a finding is allowed with a reason only"],
    ),
    case(
        "allow_unneeded",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<a>\", allow(R001 = \"it is a round\"))]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["R015: there is nothing to allow"],
    ),
    case(
        "r001",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>:<attempt>\")]\nasync fn op(input: Order) -> Done",
        ORDER,
        &["R001: `attempt`"],
    ),
    case(
        "r002",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>:<created_at>\")]\nasync fn op(input: Order) -> Done",
        ORDER,
        &["R002: `created_at`"],
    ),
    case(
        "r003",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>:<nonce>\")]\nasync fn op(input: Order) -> Done",
        ORDER,
        &["R003: `nonce`"],
    ),
    case(
        "r004",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>:<email>\")]\nasync fn op(input: Order) -> Done",
        ORDER,
        &["R004: `email`"],
    ),
    case(
        "r005",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>:<password>\")]\nasync fn op(input: Order) -> Done",
        ORDER,
        &["R005: `password`"],
    ),
    case(
        "r005_parameter",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<a>\")]\nasync fn op(a: u64, password: u64) -> Done",
        TWO,
        &["R005: `password`"],
    ),
    case(
        "r006_constant",
        "#[operation(name = \"a\", version = \"1\", key = \"a:b\")]\nasync fn op(input: Order) -> Done",
        ORDER,
        &["R006: the key has no placeholder"],
    ),
    case(
        "r007_braces",
        "#[operation(name = \"a\", version = \"1\", key = \"a:{id}\")]\nasync fn op(input: Order) -> Done",
        ORDER,
        &["R007: `{id}` is written in braces"],
    ),
    case(
        "r007_unclosed",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id\")]\nasync fn op(input: Order) -> Done",
        ORDER,
        &["R007: this placeholder is not closed"],
    ),
    case(
        "r007_parameter",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<c>\")]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["R007: the operation has no parameter `c`"],
    ),
    case(
        "r008_parameter",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<a>:<b>\")]\nasync fn op(a: u64, b: Vec<u8>) -> Done",
        &["1", "vec![1]"],
        &["R008: `Vec` cannot be the type"],
    ),
    case(
        "not_async",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nfn op(input: Order) -> Done",
        ORDER,
        &["an operation is an `async fn`"],
    ),
    case(
        "constant_fn",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nconst fn op(input: Order) -> Done",
        ORDER,
        &["an operation is an `async fn`, which cannot be `const`"],
    ),
    case(
        "not_safe",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync unsafe fn op(input: Order) -> Done",
        ORDER,
        &["an operation is called by a worker"],
    ),
    case(
        "foreign",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync extern \"C\" fn op(input: Order) -> Done",
        ORDER,
        &["an operation is called by a worker"],
    ),
    case(
        "generic",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op<T>(input: T) -> Done",
        ORDER,
        &["an operation cannot be generic"],
    ),
    case(
        "generic_result",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op<T>(input: Order) -> Result<T, Failure>",
        ORDER,
        &["an operation cannot be generic"],
    ),
    case(
        "lifetime",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op<'a>(input: &'a Order) -> Done",
        &["order()"],
        &["an operation cannot be generic"],
    ),
    case(
        "impl_trait",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op(input: impl Into<Order>) -> Done",
        ORDER,
        &["an operation cannot be generic"],
    ),
    case(
        "by_reference",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op(input: &Order) -> Done",
        ORDER,
        &["an operation takes its input by value"],
    ),
    case(
        "text_by_reference",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op(id: u64, text: &str) -> Done",
        &["1", "String::new()"],
        &["an operation takes its input by value"],
    ),
    case(
        "no_input",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op() -> Done",
        &[],
        &["an operation needs an input"],
    ),
    case(
        "injected_only",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op(ctx: Context, state: State<u64>) -> Done",
        &[],
        &["an operation needs an input"],
    ),
    case(
        "two_contexts",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op(one: Context, two: Context, input: Order) -> Done",
        ORDER,
        &["an operation takes one `Context`"],
    ),
    case(
        "no_return_type",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op(input: Order)",
        ORDER,
        &["an operation returns a `Result`"],
    ),
    case(
        "unnamed",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op(id: u64, _: u64) -> Done",
        TWO,
        &["this parameter has no name"],
    ),
    case(
        "plain_input",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op(id: u64) -> Done",
        &["1"],
        &["the one input of an operation is a struct"],
    ),
    case(
        "nine_parameters",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op(id: u64, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8, i: u8) -> Done",
        &["1", "2", "3", "4", "5", "6", "7", "8", "9"],
        &["an operation takes at most 8"],
    ),
    case(
        "conditional_parameter",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op(id: u64, #[cfg(all())] b: u64) -> Done",
        TWO,
        &["a parameter of an operation cannot depend"],
    ),
    case(
        "impl_output",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op(input: Order) -> impl Sized",
        ORDER,
        &["an operation returns a type with a name"],
    ),
    case(
        "other_output",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op(input: Order) -> u8",
        ORDER,
        &["an operation returns a `Result`"],
    ),
    case(
        "unit_output",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op(input: Order) -> ()",
        ORDER,
        &["an operation returns a `Result`"],
    ),
    case(
        "borrowing",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op(id: u64, text: std::borrow::Cow<'_, str>) -> Done",
        &["1", "String::new()"],
        &["an input borrows nothing"],
    ),
];

/// Names that the compiler does not find. It says so before it looks at any type.
const ABSENT: &[Case] = &[
    case(
        "destination_absent",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<a>\", destination = ABSENT)]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["cannot find value `ABSENT`"],
    ),
    case(
        "retry_absent",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<a>\", retry = ABSENT)]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["cannot find value `ABSENT`"],
    ),
    case(
        "absent_input",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op(input: Absent) -> Done",
        &["todo!()"],
        &["cannot find type `Absent`"],
    ),
    case(
        "absent_parameter",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op(id: u64, b: Absent) -> Done",
        &["1", "todo!()"],
        &["cannot find type `Absent`"],
    ),
];

/// A path that leads nowhere. It is looked for before all other names.
const IMPORTED: &[Case] = &[case(
    "crate_absent",
    "#[operation(name = \"a\", version = \"1\", key = \"a:<a>\", crate = absent)]\nasync fn op(a: u64, b: u64) -> Done",
    TWO,
    &["unresolved import `absent`"],
)];

/// Types that do not fit.
const MISFITS: &[Case] = &[
    case(
        "priority_type",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<a>\", priority = 1u64)]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["mismatched types"],
    ),
    case(
        "timeout_type",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<a>\", timeout = 1u64 + 1)]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["mismatched types"],
    ),
    case(
        "destination_type",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<a>\", destination = u64::MAX)]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["mismatched types"],
    ),
    case(
        "r008",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>:<owner>\")]\nasync fn op(input: Order) -> Done",
        ORDER,
        &["R008: `Owner` cannot be part of a key"],
    ),
    case(
        "unknown_field",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<invoice>\")]\nasync fn op(input: Order) -> Done",
        ORDER,
        &["no field `invoice` on type `&Order`"],
    ),
    case(
        "not_an_input",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<id>\")]\nasync fn op(input: Owner) -> Done",
        &["order().owner"],
        &["`Owner` is not the input of an operation"],
    ),
];

/// What is found by evaluating constants, after all else.
const EVALUATED: &[Case] = &[
    case(
        "timeout_constant",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<a>\", timeout = std::time::Duration::ZERO)]\nasync fn op(a: u64, b: u64) -> Done",
        TWO,
        &["evaluation panicked"],
    ),
    case(
        "r006_by_type",
        "#[operation(name = \"a\", version = \"1\", key = \"a:<paid>\")]\nasync fn op(input: Order) -> Done",
        ORDER,
        &["evaluation panicked: R006"],
    ),
];

const ROOT: &str = "
#![allow(unused)]
pub use ratchet::{
    Client, Context, Contract, EnqueueError, Enqueued, Failure, Input, Key, KeyError, Registry, Request, State, operation,
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
    format!("use crate::*;\n{} {{\n    todo!()\n}}\n", case.declared)
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
    cases: &'static [Case],
    /// A mistake of a caller, and what is said of it: callers are looked at in this stage.
    control: (&'static str, &'static str),
}

const STAGES: [Stage; 5] = [
    Stage { name: "refused", cases: REFUSED, control: ("fn f() -> u8 { true }", "mismatched types") },
    Stage { name: "imported", cases: IMPORTED, control: ("use no::no;", "unresolved import `no`") },
    Stage { name: "absent", cases: ABSENT, control: ("fn f() { no }", "cannot find value `no`") },
    Stage { name: "misfits", cases: MISFITS, control: ("fn f() -> u8 { true }", "mismatched types") },
    Stage {
        name: "evaluated",
        cases: EVALUATED,
        control: ("const _: () = panic!(\"seen\");", "evaluation panicked: seen"),
    },
];

#[test]
fn callers_of_a_broken_operation_see_no_error_of_their_own() {
    let mut project = Project::new("callers");
    for Stage { name, cases, control } in STAGES {
        let modules: Vec<String> = cases.iter().map(module).collect();
        let mut root = format!("{ROOT}mod control;\n");
        for case in cases {
            let _ = writeln!(root, "mod {};", case.name);
        }
        let mut files = vec![("lib", root.as_str()), ("control", control.0)];
        files.extend(cases.iter().zip(&modules).map(|(case, text)| (case.name, text.as_str())));
        project.package(name, "2024", &files);
    }
    let found = project.run("check");

    let mut wrong = String::new();
    for Stage { name, cases, control } in STAGES {
        let said = |module: &str| -> Vec<&Diagnostic> {
            found.iter().filter(|found| found.package == name && found.module == module).collect()
        };
        if !said("control").iter().any(|said| said.message.starts_with(control.1)) {
            let _ = writeln!(wrong, "callers in `{name}` are not looked at");
        }
        for case in cases {
            report(case, &said(case.name), &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Writes down what was said, unless it is what was expected.
fn report(case: &Case, said: &[&Diagnostic], wrong: &mut String) {
    let callers = declaration(case).lines().count() + 1;
    let expected = said.len() == case.errors.len()
        && said.iter().zip(case.errors).all(|(said, text)| said.message.starts_with(text))
        && said.iter().all(|said| said.level == "error" && said.line < callers);
    if expected {
        return;
    }
    let _ = writeln!(wrong, "{}, with callers from line {callers}:", case.name);
    for Diagnostic { line, level, code, message, .. } in said {
        let _ = writeln!(wrong, "    {line}: {level} {code}: {message}");
    }
}
