//! `ratchet lint fields`.

use crate::support::ratchet;

const INPUTS: &str = "and inputs are stored with the record and shown to operators";

#[test]
fn json_has_one_object_for_each_field() {
    let ended = ratchet(
        &["lint", "fields", "--format", "json"],
        "customer.email\tvarchar(255)\norder.id\tbigint\nshop.public.users.password\n\nemail\n",
    );
    let pii = "mark it `#[pii]`, and it is shown as `[redacted]`; or pass the id of the record that holds it";
    let email = |line: u8, input: &str, path: &str| {
        format!(
            r#"{{"line":{line},"input":"{input}","findings":[{{"code":"R013","placeholder":null,"word":"email","category":"direct_pii","message":"`email` in the field `{path}` is personal data, {INPUTS}","help":"{pii}"}}]}}"#
        )
    };
    let expected = [
        email(1, r"customer.email\tvarchar(255)", "customer.email"),
        r#"{"line":2,"input":"order.id\tbigint","findings":[]}"#.to_owned(),
        format!(
            r#"{{"line":3,"input":"shop.public.users.password","findings":[{{"code":"R005","placeholder":null,"word":"password","category":"credential","message":"`password` in the field `shop.public.users.password` is a credential, {INPUTS}","help":"store it elsewhere and pass its id, or take it from the worker as `ratchet::State`"}}]}}"#
        ),
        r#"{"line":4,"input":"","findings":[]}"#.to_owned(),
        email(5, "email", "email"),
    ];
    assert_eq!(ended.out.lines().collect::<Vec<_>>(), expected);
    assert_eq!((ended.code, ended.err.as_str()), (Some(1), ""));
}

#[test]
fn the_last_dot_separates() {
    // The name of a customer is personal, that of a product is not, whatever stands before.
    let ended = ratchet(&["lint", "fields"], "crm.customer.name\nproduct.name\n");
    assert!(
        ended.out.starts_with("<stdin>:1:14: R013: `name` in the field `crm.customer.name`"),
        "{}",
        ended.out
    );
    assert!(ended.out.contains("\n    crm.customer.name\n                 ^^^^\nhelp: "), "{}", ended.out);
    assert_eq!(ended.err, "<stdin>: 2 checked, 1 with findings\n");
}

#[test]
fn a_field_without_a_name_is_no_finding() {
    let ended = ratchet(&["lint", "fields"], "customer.\n.\n\tString\n...\n.id\t\t\n");
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""));
}
