//! File systems of a suite's own, which lose power, run full, or can no longer be written.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::processes::Broken;

/// The smallest that XFS takes, and more than the copies need.
const OUTER: u64 = 320 << 20;

const INNER: u64 = 48 << 20;

/// Taken away with everything in it when it is dropped, or when this program is gone, however that ends.
#[derive(Debug)]
struct Place {
    folder: tempfile::TempDir,
    watch: Child,
}

impl Place {
    fn new() -> Result<Self, Broken> {
        const SCRIPT: &str =
            "cat; umount -l \"$1/disk\" 2>/dev/null; umount -l \"$1/outer\" 2>/dev/null; rm -rf \"$1\"";
        let folder = tempfile::Builder::new().prefix("ratchet-volume-").tempdir()?;
        fs::create_dir(folder.path().join("disk"))?;
        let mut watch = Command::new("sh");
        watch.args(["-c", SCRIPT, "watch"]).arg(folder.path()).current_dir("/");
        let watch = watch.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Self { folder, watch })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(self.watch.stdin.take());
        let _status = self.watch.wait();
    }
}

/// Does what only an administrator may.
fn administer(program: &str, arguments: &[&str], paths: &[&Path]) -> Result<(), Broken> {
    let output = Command::new(program).args(arguments).args(paths).stdin(Stdio::null()).output();
    let output = match output {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Broken::Tool(format!("there is no program `{program}`")));
        }
        output => output?,
    };
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Broken::Tool(format!("`{program}` failed: {said}")))
}

/// A disk that can lose its power.
///
/// An ext4 file system lies in a file, and that file on an XFS file system, which makes a copy of it in one moment. The copy
/// holds what had reached the disk by then, and nothing of what the operating system still had in memory.
#[derive(Debug)]
pub(crate) struct Disk {
    place: Place,
}

impl Disk {
    pub(crate) fn new() -> Result<Self, Broken> {
        let disk = Self { place: Place::new()? };
        let (file, outer) = (disk.place.at("outer.img"), disk.place.at("outer"));
        fs::create_dir(&outer)?;
        File::create(&file)?.set_len(OUTER)?;
        administer("mkfs.xfs", &["-q", "-m", "reflink=1"], &[&file])?;
        administer("mount", &["-o", "loop"], &[&file, &outer])?;
        File::create(disk.image())?.set_len(INNER)?;
        administer("mkfs.ext4", &["-q"], &[&disk.image()])?;
        disk.mount()?;
        Ok(disk)
    }

    /// Why there is none on this machine.
    pub(crate) fn obstacle() -> Option<String> {
        let error = Self::new().err()?;
        Some(format!("it needs root, loop mounts, and the packages xfsprogs and e2fsprogs: {error}"))
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.place.at("disk")
    }

    fn image(&self) -> PathBuf {
        self.place.at("outer").join("inner.img")
    }

    fn mount(&self) -> Result<(), Broken> {
        administer("mount", &["-o", "loop,errors=remount-ro"], &[&self.image(), &self.folder()])
    }

    /// The moment in which the power is lost; the disk is read again after [`restart`](Self::restart).
    pub(crate) fn cut(&self) -> Result<(), Broken> {
        administer("cp", &["--reflink=always"], &[&self.image(), &self.after()])
    }

    fn after(&self) -> PathBuf {
        self.place.at("outer").join("after.img")
    }

    /// Starts the machine again after a cut. Nothing may use the disk.
    pub(crate) fn restart(&self) -> Result<(), Broken> {
        administer("umount", &[], &[&self.folder()])?;
        fs::rename(self.after(), self.image())?;
        self.mount()
    }

    /// The operating system finds a fault and lets nobody write any more.
    pub(crate) fn turn_read_only(&self) -> Result<(), Broken> {
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        let folder = self.folder();
        let device = mounts.lines().find_map(|line| {
            let mut words = line.split(' ');
            let device = words.next()?.strip_prefix("/dev/")?;
            (words.next()? == folder.to_str()?).then_some(device)
        });
        let device = device.ok_or(Broken::Nothing("the disk is not mounted"))?;
        Ok(fs::write(format!("/sys/fs/ext4/{device}/trigger_fs_error"), "a test")?)
    }

    /// Repairs the disk as an administrator does. Nothing may use it.
    pub(crate) fn repair(&self) -> Result<(), Broken> {
        administer("umount", &[], &[&self.folder()])?;
        let checked = Command::new("e2fsck").arg("-fy").arg(self.image()).output()?;
        // One says that it repaired something.
        if checked.status.code().is_none_or(|code| code > 1) {
            return Err(Broken::Tool(String::from_utf8_lossy(&checked.stdout).trim().to_owned()));
        }
        self.mount()
    }
}

/// A file system of a few pages.
#[derive(Debug)]
pub(crate) struct SmallVolume {
    place: Place,
}

impl SmallVolume {
    pub(crate) fn of_kilobytes(size: u64) -> Result<Self, Broken> {
        let volume = Self { place: Place::new()? };
        let options = format!("size={size}k");
        administer("mount", &["-t", "tmpfs", "-o", &options, "tmpfs"], &[&volume.folder()])?;
        Ok(volume)
    }

    pub(crate) fn obstacle() -> Option<String> {
        let error = Self::of_kilobytes(64).err()?;
        Some(format!("it needs root, since it mounts file systems of a few pages: {error}"))
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.place.at("disk")
    }

    /// Gives it more room while it is used.
    pub(crate) fn grow_to_kilobytes(&self, size: u64) -> Result<(), Broken> {
        let options = format!("remount,size={size}k");
        administer("mount", &["-o", &options], &[&self.folder()])
    }
}
