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

/// Two versions of an operation whose name is a word of both languages.
fn two_versions(one: &str, other: &str) -> String {
    let version = |nth: u8, input: &str| {
        format!(
            r##"{{"name":"import","version":"{nth}","key":"a:<id>","placeholders":[{{"path":["id"],"form":"text"}}],"input":
            {{"type":"object","required":["id","to"],"properties":{{"id":{{"type":"string"}},"to":{{"$ref":"#/$defs/Place"}}}},
            "$defs":{{"Place":{input}}}}},
            "timeout_ms":1,"retention_ms":1,"destination":{{"mechanism":"none","retention":"forever"}}}}"##
        )
    };
    format!(r#"{{"ratchet_manifest":1,"operations":[{},{}]}}"#, version(1, one), version(2, other))
}

#[test]
fn versions_have_names_of_their_own_and_share_what_says_the_same() {
    let town = r#"{"type":"array","items":{"enum":["a",1,true,null]}}"#;
    let map =
        r#"{"type":"object","additionalProperties":{"type":"array","prefixItems":[{"type":"number"},true]}}"#;
    let generated = |language, manifest: String| ratchet(&["generate", language, "-"], manifest).out;

    let same = generated("typescript", two_versions(town, town));
    assert_eq!(same.matches("export type Place = (\"a\" | 1 | true | null)[];\n").count(), 1, "{same}");
    assert_eq!(same.matches("  to: Place;\n").count(), 2, "{same}");
    assert!(same.contains("export const importV1 = new Operation<ImportV1Input, unknown>({"), "{same}");
    assert!(same.contains("export const importV2 = new Operation<ImportV2Input, unknown>({"), "{same}");

    let different = generated("typescript", two_versions(town, map));
    assert!(
        different.contains("export type ImportV2Place = Record<string, [number, unknown]>;\n"),
        "{different}"
    );
    let python = generated("python", two_versions(town, map));
    assert!(
        python.contains(
            "\nPlace: TypeAlias = \"list[Literal[\\\"a\\\"] | Literal[1] | Literal[True] | None]\"\n"
        ),
        "{python}"
    );
    assert!(python.contains("\nImportV2Place: TypeAlias = \"dict[str, list[float | Any]]\"\n"), "{python}");
    assert!(python.contains("\nimport_v1: Operation[ImportV1Input, Any] = Operation(\n"), "{python}");
}

#[test]
fn an_operation_that_is_called_like_a_word_of_the_language_gets_another_name() {
    let manifest = |name: &str| {
        operation("a:<id>", r#"[{"path":["id"],"form":"text"}]"#, "null")
            .replace(r#""name":"a""#, &format!(r#""name":"{name}""#))
    };
    for (language, name, declared) in [
        ("typescript", "delete", "export const delete_ = new Operation<Record<string, unknown>, unknown>({"),
        ("typescript", "operation", "export const operation = "),
        ("typescript", "2nd.try", "export const t2ndTry = "),
        ("python", "import", "\nimport_: Operation[dict[str, Any], Any] = "),
        ("python", "list", "\nlist_: "),
    ] {
        let text = ratchet(&["generate", language, "-"], manifest(name)).out;
        assert!(text.contains(declared), "{text}");
    }
}
