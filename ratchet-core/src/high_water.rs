//! A high-water mark outside of the store that it is about.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::spawn_blocking;

use crate::ledger::{HighWaterMark, Ledger, LedgerError, MarkChange, StoreMark};

/// The highest mark that workers have seen of one store, in a small file.
///
/// The file must survive what may befall the store: one that a backup takes along, or that a new machine does not have, says
/// nothing. Workers of one machine may share it.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # let folder = std::env::temp_dir();
/// use ratchet_core::HighWaterFile;
///
/// let file = HighWaterFile::new(folder.join("nothing-was-kept-here.mark"));
/// assert_eq!(file.load()?, None);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HighWaterFile {
    path: PathBuf,
}

/// How a store stands to what was seen of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It has gone on from there.
    GoesOn,
    /// It is behind, as a restored backup is, and nobody has acknowledged that so far: nothing may be executed.
    HeldBack,
}

/// Why a store could not be compared with what was seen of it.
#[derive(Debug, thiserror::Error)]
pub enum NotCompared {
    /// The store did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The file cannot be used.
    #[error("the high-water mark cannot be kept: {0}")]
    File(#[from] io::Error),
}

impl HighWaterFile {
    /// The file at `path`, which need not exist yet.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is kept; `None` if nothing is so far.
    ///
    /// # Errors
    /// If the file cannot be read, or holds something else.
    pub fn load(&self) -> io::Result<Option<HighWaterMark>> {
        match fs::read(&self.path) {
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|_| {
                io::Error::new(ErrorKind::InvalidData, "it holds no high-water mark: name another file")
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps a mark in the place of the one before. When it returns, the mark is on the disk.
    ///
    /// # Errors
    /// If it cannot be written; what was there before is still there then.
    pub fn keep(&self, mark: HighWaterMark) -> io::Result<()> {
        let new = self.new_name();
        let kept = write_through(&new, mark)
            .and_then(|()| fs::rename(&new, &self.path))
            .and_then(|()| sync_folder(&self.path));
        if kept.is_err() {
            let _ = fs::remove_file(&new);
        }
        kept
    }

    /// Compares a store with what is kept here, has everybody hold back if it is behind, and keeps its mark otherwise.
    /// Where something `worked` since the last time, the mark is raised.
    ///
    /// For drives: to be called before the first claim, and every second while something is executed.
    ///
    /// # Errors
    /// If the store or the file cannot be used; then nothing is known, and nothing may be executed.
    pub async fn compare(&self, ledger: &dyn Ledger, worked: bool) -> Result<Standing, NotCompared> {
        // Read before the store, whose mark other workers raise meanwhile.
        let file = self.clone();
        let known = spawn_blocking(move || file.load()).await.map_err(io::Error::from)??;
        let found = ledger.mark().await?;
        if found.held_since.is_some() {
            return Ok(Standing::HeldBack);
        }
        if known.is_some_and(|known| found.mark < known) {
            ledger.change_mark(MarkChange::Hold).await?;
            return Ok(Standing::HeldBack);
        }
        let now = if worked { ledger.change_mark(MarkChange::Raise).await? } else { found };
        let StoreMark { mark, held_since: None } = now else {
            return Ok(Standing::HeldBack);
        };
        if known != Some(mark) {
            let file = self.clone();
            spawn_blocking(move || file.keep(mark)).await.map_err(io::Error::from)??;
        }
        Ok(Standing::GoesOn)
    }

    /// A name that no other worker writes to at the same time.
    fn new_name(&self) -> PathBuf {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let mut name = OsString::from(&self.path);
        name.push(format!(".{}-{}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)));
        name.into()
    }
}

fn write_through(path: &Path, mark: HighWaterMark) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(&serde_json::to_vec(&mark)?)?;
    file.sync_all()
}

/// A new name is on the disk when its folder is.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}
