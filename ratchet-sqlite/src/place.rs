//! Whether the database file is still where it was opened.

use std::path::{Path, PathBuf};

use crate::error::Fault;

/// Where the file was, and which one.
///
/// SQLite goes on with a file that has no name any more: what it commits then is lost with the last handle, and other
/// programs make a new file in its place.
#[derive(Debug)]
pub(crate) struct Place {
    file: PathBuf,
    opened: Option<Identity>,
}

impl Place {
    /// The file of a connection that was just opened, and has written if it may.
    pub(crate) fn of_opened(file: &Path) -> Self {
        // The program may change its directory later.
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        Self { opened: identity(&file).ok(), file }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Nothing is written where the file is certainly another one, or gone. What cannot be told is left to SQLite.
    pub(crate) fn require(&self) -> Result<(), Fault> {
        let Some(opened) = self.opened else { return Ok(()) };
        match identity(&self.file) {
            Ok(found) if found != opened => Err(Fault::Moved),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Fault::Moved),
            _ => Ok(()),
        }
    }
}

/// Device and inode.
#[cfg(unix)]
type Identity = (u64, u64);

#[cfg(unix)]
fn identity(file: &Path) -> std::io::Result<Identity> {
    use std::os::unix::fs::MetadataExt as _;

    let found = std::fs::metadata(file)?;
    Ok((found.dev(), found.ino()))
}

/// Elsewhere an open file can neither be deleted nor moved.
#[cfg(not(unix))]
type Identity = ();

#[cfg(not(unix))]
fn identity(_file: &Path) -> std::io::Result<Identity> {
    Ok(())
}
