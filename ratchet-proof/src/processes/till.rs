//! A destination made of files: what it did is still there when its clients are dead.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::marks::Marks;
use crate::planted::Mutation;

/// Refuses the key for ever.
const CLOSED: &str = "closed\n";

/// One file for each key. It holds a line for each effect; an empty one was made by somebody who died then, and is an
/// effect too.
#[derive(Debug, Clone)]
pub(super) struct Till {
    folder: PathBuf,
    pub(super) marks: Arc<Marks>,
    pub(super) broken: Option<Mutation>,
}

/// What a client is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Receipt {
    Acted,
    Refused,
}

impl Till {
    pub(super) const fn new(folder: PathBuf, marks: Arc<Marks>, broken: Option<Mutation>) -> Self {
        Self { folder, marks, broken }
    }

    /// Acts. Where keys are recognised, a second request changes nothing.
    pub(super) fn act(&self, key: &str, recognises_keys: bool) -> std::io::Result<Receipt> {
        self.marks.pass("before the effect");
        let file = self.folder.join(key);
        let recognises_keys = recognises_keys && self.broken != Some(Mutation::NoDeduplication);
        let receipt = match OpenOptions::new().create_new(true).write(true).open(&file) {
            Ok(mut file) => file.write_all(b"acted\n").map(|()| Receipt::Acted),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if fs::read_to_string(&file)? == CLOSED {
                    Ok(Receipt::Refused)
                } else {
                    if !recognises_keys {
                        OpenOptions::new().append(true).open(&file)?.write_all(b"acted\n")?;
                    }
                    Ok(Receipt::Acted)
                }
            }
            Err(error) => Err(error),
        };
        self.marks.pass("after the effect");
        receipt
    }

    /// Says whether it acted; if not, it never will.
    pub(super) fn ask_and_close(&self, key: &str) -> std::io::Result<bool> {
        self.marks.pass("before the question");
        let file = self.folder.join(key);
        if self.broken == Some(Mutation::AskWithoutClosing) {
            return Ok(file.exists());
        }
        let acted = match OpenOptions::new().create_new(true).write(true).open(&file) {
            Ok(mut file) => file.write_all(CLOSED.as_bytes()).map(|()| false),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Ok(fs::read_to_string(&file)? != CLOSED)
            }
            Err(error) => Err(error),
        };
        self.marks.pass("after the question");
        acted
    }
}

/// How often it acted for each identity, whatever an attempt has put behind it.
pub(super) fn effects(folder: &Path) -> std::io::Result<BTreeMap<String, u64>> {
    let mut effects = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let text = fs::read_to_string(entry.path())?;
        if text == CLOSED {
            continue;
        }
        let key = entry.file_name().to_string_lossy().into_owned();
        // The operation and its number; an attempt would be a third part.
        let identity: Vec<&str> = key.splitn(3, ':').take(2).collect();
        *effects.entry(identity.join(":")).or_default() += text.lines().count().max(1) as u64;
    }
    Ok(effects)
}
