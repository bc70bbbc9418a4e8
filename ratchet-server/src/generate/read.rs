//! Reads a manifest, and refuses what would make other keys than the program that printed it.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use ratchet::manifest::{DescribedOperation, Manifest, Placeholder, ValueForm};
use ratchet_key::{Segment, Template};
use serde_json::Value;

use super::types::{follow, member};
use crate::error::Error;

pub(super) fn manifest(file: &Path) -> Result<Manifest, Error> {
    let text = text(file)?;
    let bad = |why: String| Error::BadManifest { source_name: file.display().to_string(), why };
    let document: Value =
        serde_json::from_str(&text).map_err(|error| bad(format!("it is no JSON: {error}")))?;
    let format = document.get("ratchet_manifest").and_then(Value::as_u64);
    if format != Some(Manifest::FORMAT.into()) {
        return Err(bad(
            "it has another `ratchet_manifest` than 1: print it with the program's own version of \
             `Registry::manifest`, and use the `ratchet` of that version"
                .to_owned(),
        ));
    }
    let manifest: Manifest =
        serde_json::from_value(document).map_err(|error| bad(format!("it is no manifest: {error}")))?;
    manifest.operations.iter().try_for_each(check).map_err(bad)?;
    Ok(manifest)
}

fn text(file: &Path) -> Result<String, Error> {
    let read = if file == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(file)
    };
    read.map_err(|reason| Error::Unreadable { source_name: file.display().to_string(), reason })
}

/// Whether only Rust makes its keys.
pub(super) fn is_opaque(operation: &DescribedOperation) -> bool {
    operation.placeholders.iter().any(|placeholder| placeholder.form == ValueForm::Opaque)
}

fn check(operation: &DescribedOperation) -> Result<(), String> {
    let of =
        |what: String| format!("the operation `{}` version {}: {what}", operation.name, operation.version);
    let template = Template::parse(&operation.key).map_err(|findings| {
        of(findings
            .first()
            .map_or_else(|| "its key is no template".to_owned(), |first| first.message.clone()))
    })?;
    let placeholders =
        template.segments().iter().filter(|segment| matches!(segment, Segment::Placeholder { .. })).count();
    if placeholders != operation.placeholders.len() {
        return Err(of("it does not say of each placeholder of its key where the value is".to_owned()));
    }
    if is_opaque(operation) {
        return Ok(());
    }
    let Some(schema) = &operation.input else { return Ok(()) };
    match operation.placeholders.iter().find(|Placeholder { path, .. }| !is_always_written(schema, path)) {
        None => Ok(()),
        Some(Placeholder { path, .. }) => Err(of(format!(
            "its key needs `{}`, and its input has no such member that is always written; does serde give it another \
             name inside of another struct, or skip it? Take `rename` and `skip_serializing_if` from this field",
            path.join(".")
        ))),
    }
}

fn is_always_written(root: &Value, path: &[String]) -> bool {
    let mut place = root;
    for name in path {
        let object = follow(root, place);
        let required = object.get("required").and_then(Value::as_array);
        if !required.is_some_and(|names| names.iter().any(|other| other == name)) {
            return false;
        }
        let Some(next) = member(object, name) else { return false };
        place = next;
    }
    true
}
