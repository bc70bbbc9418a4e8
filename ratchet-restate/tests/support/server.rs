//! Restate servers of the tests' own: on free ports of 127.0.0.1, in temporary folders.

use std::hash::{BuildHasher as _, RandomState};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Where `cargo xtask restate` puts the program, seen from the root of the repository.
const PROGRAM: &str =
    "target/tools/restate/node_modules/@restatedev/restate-server-linux-x64/bin/restate-server";

/// How often other ports are tried, where somebody else took those that were free.
const TRIES: usize = 8;

/// One node that is a whole engine, and is killed when this is dropped.
pub(crate) struct Server {
    node: Node,
    _folder: TempDir,
}

#[allow(dead_code, reason = "each test file uses its own part")]
impl Server {
    pub(crate) fn start() -> Self {
        for _ in 0..TRIES {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let mut node = Node::spawn("one", folder.path(), Ports::free(), "default-num-partitions = 2\n");
            if node.becomes_ready() {
                return Self { node, _folder: folder };
            }
        }
        panic!("the Restate server ended {TRIES} times at its start");
    }

    /// The address that a ledger is opened at.
    pub(crate) fn url(&self) -> String {
        url_of(std::slice::from_ref(&self.node))
    }

    /// Kills the node without warning, and starts it again on what it has on its disk.
    pub(crate) fn kill_and_restart(&mut self) {
        self.node.kill();
        self.node.restart();
    }
}

/// Three nodes, each record on two of them.
#[allow(dead_code, reason = "each test file uses its own part")]
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Node>,
    _folder: TempDir,
}

#[allow(dead_code, reason = "each test file uses its own part")]
impl Cluster {
    pub(crate) fn start() -> Self {
        for _ in 0..TRIES {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let names = ["one", "two", "three"];
            let ports = names.map(|_| Ports::free());
            let addresses = ports.map(|ports| format!("\"http://127.0.0.1:{}\"", ports.fabric)).join(", ");
            let of = |(name, ports): (&str, Ports)| {
                let settings = format!(
                    "default-num-partitions = 6\ndefault-replication = 2\nauto-provision = {}\n\
                     \n[metadata-client]\naddresses = [{addresses}]\n",
                    name == "one"
                );
                Node::spawn(name, &folder.path().join(name), ports, &settings)
            };
            let mut nodes: Vec<Node> = names.into_iter().zip(ports).map(of).collect();
            if nodes.iter_mut().all(Node::becomes_ready) {
                return Self { nodes, _folder: folder };
            }
        }
        panic!("the Restate servers ended {TRIES} times at their start");
    }

    /// The address of all nodes.
    pub(crate) fn url(&self) -> String {
        url_of(&self.nodes)
    }
}

fn url_of(nodes: &[Node]) -> String {
    let all = |port: fn(&Ports) -> u16| {
        let hosts = nodes.iter().map(|node| format!("127.0.0.1:{}", port(&node.ports)));
        hosts.collect::<Vec<_>>().join(",")
    };
    format!("restate://{}?admin={}", all(|ports| ports.ingress), all(|ports| ports.admin))
}

#[derive(Clone, Copy)]
struct Ports {
    ingress: u16,
    admin: u16,
    fabric: u16,
}

impl Ports {
    /// Below those that the system gives out by itself, so that a connection of another program does not take them while the
    /// node is down.
    fn free() -> Self {
        let port = || loop {
            let number = RandomState::new().hash_one(());
            let port = 20_000 + u16::try_from(number % 12_000).expect("a small number");
            if TcpListener::bind(("127.0.0.1", port)).is_ok() {
                return port;
            }
        };
        Self { ingress: port(), admin: port(), fabric: port() }
    }
}

/// One process.
pub(crate) struct Node {
    process: Child,
    folder: PathBuf,
    ports: Ports,
}

#[allow(dead_code, reason = "each test file uses its own part")]
impl Node {
    fn spawn(name: &str, folder: &Path, ports: Ports, settings: &str) -> Self {
        std::fs::create_dir_all(folder).expect("a folder");
        std::fs::write(folder.join("node.toml"), settings_of(name, folder, ports, settings))
            .expect("the settings");
        Self { process: run(folder), folder: folder.to_owned(), ports }
    }

    /// Without warning.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// On the same ports, and what it has on its disk.
    pub(crate) fn restart(&mut self) {
        for _ in 0..TRIES {
            self.process = run(&self.folder);
            if self.becomes_ready() {
                return;
            }
        }
        panic!("the node ended {TRIES} times when it was started again");
    }

    /// Ready when its partitions answer questions, which takes a moment longer than its health. `false` if it ended, as it does
    /// where a port of its own was taken meanwhile.
    fn becomes_ready(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_mins(2);
        let question = r#"{"query":"select service_key from state limit 1"}"#;
        let request = format!(
            "POST /query HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\naccept: application/json\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{question}",
            question.len()
        );
        loop {
            let answers = answers_well(self.ports.admin, &request);
            if self.process.try_wait().expect("its state").is_some() {
                return false;
            }
            if answers {
                return true;
            }
            let log = std::fs::read_to_string(self.folder.join("log"));
            assert!(Instant::now() < deadline, "the server is not ready: {}", log.unwrap_or_default());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
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

fn run(folder: &Path) -> Child {
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

fn settings_of(name: &str, folder: &Path, Ports { ingress, admin, fabric }: Ports, more: &str) -> String {
    format!(
        r#"cluster-name = "tests"
node-name = "{name}"
base-dir = "{}"
listen-mode = "tcp"
bind-ip = "127.0.0.1"
bind-address = "127.0.0.1:{fabric}"
advertised-address = "http://127.0.0.1:{fabric}"
disable-telemetry = true
rocksdb-total-memory-size = "128.0 MiB"
{more}
[admin]
bind-address = "127.0.0.1:{admin}"
disable-web-ui = true

[ingress]
bind-address = "127.0.0.1:{ingress}"
"#,
        folder.join("data").display()
    )
}
