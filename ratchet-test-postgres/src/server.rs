//! The server's process.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex};

use tempfile::TempDir;

/// What every server of the tests is started with.
const SETTINGS: &str = "
listen_addresses = ''
max_connections = 200
shared_buffers = 64MB
max_wal_size = 256MB
fsync = on
synchronous_commit = on
";

/// A server that runs until it is dropped, or until its program ends.
#[derive(Debug)]
pub struct Server {
    folder: TempDir,
    /// PostgreSQL refuses to run as root.
    user: Option<(u32, u32)>,
    /// Waits for this program to be gone and then ends the server, also where nothing here could.
    watch: Child,
    /// Databases that no test uses any more.
    pub(crate) spare: Mutex<Vec<String>>,
}

/// The server that the tests of one program share; each of them takes a database of its own.
#[must_use]
pub fn shared() -> &'static Server {
    static SHARED: LazyLock<Server> = LazyLock::new(Server::start);
    &SHARED
}

impl Server {
    /// Makes and starts a server of its own.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with("")
    }

    /// The same with further lines of its `postgresql.conf`, which come after those of every server.
    #[must_use]
    pub fn start_with(further: &str) -> Self {
        let server = Self::in_new_folder();
        server.run(
            "initdb",
            &["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"],
        );
        server.configure(further);
        server.resume();
        server
    }

    fn in_new_folder() -> Self {
        let folder = tempfile::Builder::new().prefix("ratchet-pg-").tempdir_in("/tmp").expect("a folder");
        let user = user_instead_of_root(folder.path());
        if let Some((user, group)) = user {
            chown(folder.path(), Some(user), Some(group)).expect("a folder of the server's user");
        }
        let watch = watch(folder.path(), user);
        Self { folder, user, watch, spare: Mutex::default() }
    }

    /// Adds to what it is started with; later lines replace earlier ones.
    fn configure(&self, further: &str) {
        let settings =
            format!("{SETTINGS}unix_socket_directories = '{}'\n{further}\n", self.folder.path().display());
        let file = fs::File::options().append(true).open(self.data().join("postgresql.auto.conf"));
        let written = file.and_then(|mut file| file.write_all(settings.as_bytes()));
        written.expect("the server's settings");
    }

    /// Makes and starts a server that follows this one and can only be read. Afterwards a commit here waits until it is on
    /// the disk there too.
    #[must_use]
    pub fn start_standby(&self) -> Self {
        let standby = Self::in_new_folder();
        let from = self.folder.path().display().to_string();
        standby.run(
            "pg_basebackup",
            &["--write-recovery-conf", "--checkpoint=fast", "--username=postgres", "--host", &from],
        );
        standby.configure("");
        standby.resume();
        self.await_standbys(true);
        standby
    }

    /// Whether a commit waits until it is on the disk of a standby too.
    pub fn await_standbys(&self, awaits: bool) {
        let names = if awaits { "*" } else { "" };
        self.configure(&format!("synchronous_standby_names = '{names}'"));
        self.run("pg_ctl", &["reload", "--silent"]);
    }

    /// Makes a server that follows another one go its own way.
    pub fn promote(&self) {
        self.run("pg_ctl", &["promote", "--wait", "--silent"]);
    }

    /// Stops the server as a power cut would: whatever was not synced is gone.
    pub fn kill(&self) {
        self.run("pg_ctl", &["stop", "--mode=immediate", "--silent"]);
    }

    /// Starts it again.
    pub fn resume(&self) {
        let log = format!("--log={}", self.folder.path().join("log").display());
        self.run("pg_ctl", &["start", "--wait", "--silent", &log]);
    }

    /// The address of a database by name, which need not exist.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        self.url_as("postgres", database)
    }

    /// The same for another role.
    #[must_use]
    pub fn url_as(&self, role: &str, database: &str) -> String {
        format!("postgres://{role}@localhost/{database}?host={}", self.folder.path().display())
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join(".s.PGSQL.5432")
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn run(&self, name: &str, arguments: &[&str]) {
        let mut command = Command::new(program(name));
        command.args(arguments).arg("--pgdata").arg(self.data()).current_dir(self.folder.path());
        become_user(&mut command, self.user);
        // Files, since a pipe would stay open for as long as the server runs.
        let said = self.folder.path().join(format!("{name}.out"));
        let file = fs::File::create(&said).expect("a file for the program's output");
        let also = file.try_clone().expect("a file for the program's output");
        let status = command.stdin(Stdio::null()).stdout(file).stderr(also).status();
        let said = || fs::read_to_string(&said).unwrap_or_default();
        match status {
            Ok(status) => assert!(status.success(), "`{name}` failed: {}", said()),
            Err(error) => {
                panic!("`{name}` cannot be started: {error}; `cargo xtask test` installs PostgreSQL")
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.watch.stdin.take());
        let _ = self.watch.wait();
    }
}

/// Ends the server and takes its folder away when this program closes the pipe or is gone.
fn watch(folder: &Path, user: Option<(u32, u32)>) -> Child {
    const SCRIPT: &str = "cat; \"$1\" stop --mode=immediate --silent --pgdata \"$2/data\"; rm -rf \"$2\"";
    let mut command = Command::new("sh");
    command.args(["-c", SCRIPT, "watch"]).arg(program("pg_ctl")).arg(folder).current_dir("/");
    // In a group of its own: the terminal's interrupt must not end it before the server.
    become_user(&mut command, user).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("a shell")
}

fn become_user(command: &mut Command, user: Option<(u32, u32)>) -> &mut Command {
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    command
}

/// `None` unless this is root.
fn user_instead_of_root(ours: &Path) -> Option<(u32, u32)> {
    if fs::metadata(ours).expect("a folder of ours").uid() != 0 {
        return None;
    }
    let id = |which| {
        let output = Command::new("id").args([which, "postgres"]).output().expect("the program `id`");
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        text.parse().expect("a user `postgres`, since PostgreSQL refuses to run as root")
    };
    Some((id("-u"), id("-g")))
}

/// Where a program of PostgreSQL is: in the search path, or the newest of those that Debian keeps beside it.
fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    in_path.or_else(|| newest_of_debian(name)).unwrap_or_else(|| PathBuf::from(name))
}

fn newest_of_debian(name: &str) -> Option<PathBuf> {
    let releases = fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut releases: Vec<PathBuf> = releases.filter_map(|entry| Some(entry.ok()?.path())).collect();
    releases.sort_by_key(|release| release.file_name()?.to_str()?.parse::<u32>().ok());
    releases.into_iter().rev().map(|release| release.join("bin").join(name)).find(|file| file.is_file())
}
