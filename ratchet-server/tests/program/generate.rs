//! `ratchet generate`.

use std::fs;

use expect_test::expect_file;

use crate::support::ratchet;

const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../spec/manifest.json");

/// The clients' own tests compile and run what is written there.
#[test]
fn what_the_tests_of_the_clients_use_is_what_is_generated() {
    let typescript = ratchet(&["generate", "typescript", MANIFEST], "");
    assert_eq!((typescript.code, typescript.err.as_str()), (Some(0), ""));
    expect_file!["../../../clients/typescript/test/ratchet_operations.ts"].assert_eq(&typescript.out);
    let python = ratchet(&["generate", "python", MANIFEST], "");
    assert_eq!((python.code, python.err.as_str()), (Some(0), ""));
    expect_file!["../../../clients/python/tests/ratchet_operations.py"].assert_eq(&python.out);
}

#[test]
fn a_file_is_written_where_it_is_named_and_a_manifest_read_from_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("operations.ts");
    let manifest = fs::read(MANIFEST).unwrap();
    let ended = ratchet(&["generate", "typescript", "-", "--out", file.to_str().unwrap()], manifest);
    assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (Some(0), "", ""));
    assert_eq!(fs::read_to_string(file).unwrap(), ratchet(&["generate", "typescript", MANIFEST], "").out);
}

fn operation(key: &str, placeholders: &str, input: &str) -> String {
    format!(
        r#"{{"ratchet_manifest":1,"operations":[{{"name":"a","version":"1","key":"{key}","placeholders":{placeholders},"input":{input},
        "timeout_ms":1,"retention_ms":1,"destination":{{"mechanism":"none","retention":"forever"}},"later":1}}]}}"#
    )
}

#[test]
fn what_would_make_other_keys_is_refused() {
    let text = r#"[{"path":["id"],"form":"text"}]"#;
    let other = r#"[{"path":["other"],"form":"text"}]"#;
    let inner = r#"[{"path":["id","inner"],"form":"text"}]"#;
    let id = r#"{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}"#;
    let may_lack = r#"{"type":"object","properties":{"id":{"type":"string"}}}"#;
    for (manifest, why) in [
        ("{".to_owned(), "it is no JSON"),
        (r#"{"ratchet_manifest":2,"operations":[]}"#.to_owned(), "it has another `ratchet_manifest` than 1"),
        (operation("A:<id>", text, id), "the operation `a` version 1: "),
        (operation("a:<id>", "[]", id), "it does not say of each placeholder of its key where the value is"),
        (operation("a:<id>", other, id), "its key needs `other`, and its input has no such member"),
        (operation("a:<id.inner>", inner, id), "its key needs `id.inner`"),
        (operation("a:<id>", text, may_lack), "no such member that is always written"),
        (
            operation("a:<id>", r#"[{"path":["id"],"form":"invented"}]"#, id),
            "it is no manifest: unknown variant",
        ),
    ] {
        let ended = ratchet(&["generate", "python", "-"], manifest);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{why}");
        assert!(ended.err.contains(why), "{why}: {}", ended.err);
    }
    assert_eq!(ratchet(&["generate", "python", "-"], operation("a:<id>", text, id)).code, Some(0));
}

#[test]
fn no_text_of_a_manifest_leads_out_of_a_comment_or_a_string() {
    let described = r#"{"type":"object","description":"*/ evil()\n\u2028\u000cevil()","required":["id"],
        "properties":{"id":{"type":"string"},"\"]; evil(":{"const":"\"\\\nevil("}}}"#;
    let manifest = operation("a:<id>", r#"[{"path":["id"],"form":"text"}]"#, described);
    let typescript = ratchet(&["generate", "typescript", "-"], manifest.clone()).out;
    assert!(typescript.contains("\n/**\n * *\\/ evil()\n *   evil()\n */\n"), "{typescript}");
    assert!(typescript.contains("\n  \"\\\"]; evil(\"?: \"\\\"\\\\\\nevil(\";\n"), "{typescript}");
    let python = ratchet(&["generate", "python", "-"], manifest).out;
    assert!(python.contains("\n# */ evil()\n#   evil()\nAInput = TypedDict(\n"), "{python}");
    assert!(python.contains("\n        \"\\\"]; evil(\": \"NotRequired[Literal["), "{python}");
}
