//! A server of its own for each test, and programs that talk to it.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ratchet::http::reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::Value;
use tempfile::TempDir;

/// A store of one test.
pub(crate) enum Store {
    File(TempDir),
    Database(ratchet_test_postgres::Database<'static>),
}

impl Store {
    pub(crate) fn file() -> Self {
        Self::File(tempfile::tempdir().unwrap())
    }

    pub(crate) async fn database() -> Self {
        Self::Database(ratchet_test_postgres::shared().database().await)
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::File(folder) => format!("sqlite:{}", folder.path().join("ratchet.db").display()),
            Self::Database(database) => database.url(),
        }
    }
}

/// `ratchet serve` on a free port.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    pub(crate) store: Store,
    pub(crate) http: Client,
}

impl Server {
    /// A claim is answered at once unless a test says otherwise.
    pub(crate) fn start(store: Store) -> Self {
        Self::start_with(store, &[])
    }

    pub(crate) fn start_with(store: Store, arguments: &[&str]) -> Self {
        let mut child = program()
            .args(["serve", "--store", &store.url(), "--listen", "127.0.0.1:0", "--log", "error"])
            .args(arguments)
            .args(if arguments.contains(&"--claim-wait") { [].as_slice() } else { &["--claim-wait", "0"] })
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut first = String::new();
        let stdout = child.stdout.take().expect("standard output is a pipe");
        BufReader::new(stdout).read_line(&mut first).expect("the program says where it listens");
        let url = first.trim().strip_prefix("listening on ").expect("the first line names the address");
        Self { child, url: url.to_owned(), store, http: Client::new() }
    }

    /// A key that the program makes.
    pub(crate) fn key(&self, arguments: &[&str]) -> String {
        let made = program()
            .args(["keys", "create", "--store", &self.store.url()])
            .args(arguments)
            .output()
            .expect("the program starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let key = String::from_utf8(made.stdout).unwrap();
        key.strip_suffix('\n').expect("the key stands alone on its line").to_owned()
    }

    pub(crate) fn producer(&self) -> String {
        self.key(&["--scope", "producer"])
    }

    pub(crate) fn worker(&self) -> String {
        self.key(&["--scope", "worker"])
    }

    pub(crate) fn operator(&self) -> String {
        self.key(&["--scope", "operator"])
    }

    pub(crate) fn request(&self, method: Method, key: &str, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}/api/v1{path}", self.url)).bearer_auth(key)
    }

    pub(crate) async fn post(&self, key: &str, path: &str, body: &Value) -> (u16, Value) {
        let request = self.request(Method::POST, key, path);
        answer(request.header("content-type", "application/json").body(body.to_string())).await
    }

    pub(crate) async fn get(&self, key: &str, path: &str) -> (u16, Value) {
        answer(self.request(Method::GET, key, path)).await
    }

    /// A run of this producer.
    pub(crate) async fn run(&self, key: &str) -> String {
        let (status, started) = self.post(key, "/runs", &serde_json::json!({"name": "test"})).await;
        assert_eq!(status, 201, "{started}");
        started["run"]["id"].as_str().unwrap().to_owned()
    }

    /// Asks the program to stop, as a process manager does, and gives its exit code.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        self.tell_to_stop();
        self.stopped()
    }

    /// Its exit code, when it has ended.
    pub(crate) fn stopped(&mut self) -> Option<i32> {
        self.child.wait().expect("the program ends").code()
    }

    pub(crate) fn tell_to_stop(&self) {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(told.expect("kill starts").success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) async fn answer(request: RequestBuilder) -> (u16, Value) {
    let response: Response = request.send().await.expect("the server answers");
    let status = response.status().as_u16();
    let text = response.text().await.expect("the answer is text");
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_ratchet"))
}

/// The interpreter that `cargo xtask python` makes, or the one that `RATCHET_TEST_PYTHON` names.
pub(crate) fn interpreter() -> PathBuf {
    if let Some(named) = std::env::var_os("RATCHET_TEST_PYTHON") {
        return PathBuf::from(named);
    }
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/python/bin/python");
    assert!(
        made.is_file(),
        "this test needs a Python with getratchet: `cargo xtask python` makes one in target/tools/python, or name yours \
         in RATCHET_TEST_PYTHON"
    );
    made
}

/// A program with the published client, which gets the server's address and these arguments.
pub(crate) fn python(server: &Server, script: &str, arguments: &[&str]) -> Command {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire/python");
    let mut command = Command::new(interpreter());
    command.args(["-c", script, &server.url]).args(arguments).env("PYTHONPATH", shared);
    command
}

/// What it printed at its end, as JSON.
pub(crate) async fn printed(mut command: Command) -> Value {
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().expect("Python starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{err}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}
