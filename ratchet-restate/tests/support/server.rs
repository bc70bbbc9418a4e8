//! A Restate server of their own for tests: on free ports of 127.0.0.1, in a temporary folder.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Where `cargo xtask restate` puts the program, seen from the root of the repository.
const PROGRAM: &str =
    "target/tools/restate/node_modules/@restatedev/restate-server-linux-x64/bin/restate-server";

/// One node, which is killed when this is dropped.
pub(crate) struct Server {
    node: Child,
    folder: TempDir,
    pub(crate) ingress: u16,
    pub(crate) admin: u16,
}

impl Server {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [ingress, admin, fabric] = free_ports();
        std::fs::write(folder.path().join("node.toml"), settings(folder.path(), ingress, admin, fabric))
            .expect("the settings");
        let node = spawn(folder.path());
        let server = Self { node, folder, ingress, admin };
        server.wait_until_ready();
        server
    }

    /// The address that a ledger is opened at.
    pub(crate) fn url(&self) -> String {
        format!("restate://127.0.0.1:{}?admin=127.0.0.1:{}", self.ingress, self.admin)
    }

    /// Kills the node without warning, and starts it again on what it has on its disk.
    #[allow(dead_code, reason = "each test file uses its own part")]
    pub(crate) fn kill_and_restart(&mut self) {
        let _ = self.node.kill();
        let _ = self.node.wait();
        self.node = spawn(self.folder.path());
        self.wait_until_ready();
    }

    /// Ready when its partitions answer questions, which takes a moment longer than its health.
    fn wait_until_ready(&self) {
        let deadline = Instant::now() + Duration::from_mins(1);
        let question = r#"{"query":"select service_key from state limit 1"}"#;
        let request = format!(
            "POST /query HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\naccept: application/json\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{question}",
            question.len()
        );
        while !answers_well(self.admin, &request) {
            assert!(
                Instant::now() < deadline,
                "the server is not ready: see {}",
                self.folder.path().display()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.node.kill();
        let _ = self.node.wait();
    }
}

fn answers_well(port: u16, request: &str) -> bool {
    use std::io::{Read as _, Write as _};
    let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else { return false };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let mut answer = String::new();
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut answer).is_ok()
        && answer.starts_with("HTTP/1.1 200")
}

fn spawn(folder: &Path) -> Child {
    let log = std::fs::File::create(folder.join("log")).expect("a log");
    Command::new(program())
        .args(["--no-logo", "--config-file"])
        .arg(folder.join("node.toml"))
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("the Restate server starts")
}

fn program() -> PathBuf {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let found = folders.find_map(|folder| Some(folder.join(PROGRAM)).filter(|program| program.is_file()));
    found.expect("`cargo xtask restate` installs the Restate server that this test needs")
}

fn free_ports() -> [u16; 3] {
    let listeners = [0; 3].map(|port| TcpListener::bind(("127.0.0.1", port)).expect("a free port"));
    listeners.map(|listener| listener.local_addr().expect("its address").port())
}

fn settings(folder: &Path, ingress: u16, admin: u16, fabric: u16) -> String {
    format!(
        r#"cluster-name = "tests"
node-name = "one"
base-dir = "{}"
listen-mode = "tcp"
bind-ip = "127.0.0.1"
bind-address = "127.0.0.1:{fabric}"
advertised-address = "http://127.0.0.1:{fabric}"
disable-telemetry = true
rocksdb-total-memory-size = "128.0 MiB"
default-num-partitions = 2

[admin]
bind-address = "127.0.0.1:{admin}"
disable-web-ui = true

[ingress]
bind-address = "127.0.0.1:{ingress}"
"#,
        folder.join("data").display()
    )
}
