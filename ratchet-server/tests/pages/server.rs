//! The program, serving a store on a free port.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use ratchet::http::reqwest::{self, Client, RequestBuilder, Response, StatusCode, redirect};

/// A server that ends with the test.
pub(crate) struct Server {
    child: Child,
    pub(crate) base: String,
    log: tempfile::NamedTempFile,
}

impl Server {
    pub(crate) fn start(store: &str) -> Self {
        let log = tempfile::NamedTempFile::new().expect("a file");
        let mut child = Command::new(env!("CARGO_BIN_EXE_ratchet"))
            .args(["serve", "--store", store, "--listen", "127.0.0.1:0", "--log", "debug"])
            .stdout(Stdio::piped())
            .stderr(log.reopen().expect("the file"))
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("its first line");
        let base = line.trim().strip_prefix("listening on ").expect("where it listens").to_owned();
        Self { child, base, log }
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.log.path()).expect("the log")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A new key, made as an operator of the server makes it.
pub(crate) fn key(store: &str, arguments: &[&str]) -> String {
    printed(&[&["keys", "create", "--store", store], arguments].concat())
}

/// What the program prints.
pub(crate) fn printed(arguments: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_ratchet")).args(arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// Somebody without a browser.
pub(crate) struct Visitor {
    client: Client,
    base: String,
    cookie: String,
}

impl Visitor {
    /// Somebody who is not signed in.
    pub(crate) fn stranger(server: &Server) -> Self {
        let client = Client::builder().redirect(redirect::Policy::none()).build().unwrap();
        Self { client, base: server.base.clone(), cookie: String::new() }
    }

    pub(crate) async fn sign_in(server: &Server, key: &str) -> Self {
        let stranger = Self::stranger(server);
        let response = stranger.sign_in_with(key).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        let cookie = set_cookie(&response).split(';').next().unwrap().to_owned();
        Self { cookie, ..stranger }
    }

    pub(crate) async fn sign_in_with(&self, key: &str) -> Response {
        self.post("/sign-in", &[("name", "ada"), ("key", key), ("next", "/uncertain")]).await
    }

    pub(crate) fn request(&self, method: reqwest::Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base)).header("cookie", &self.cookie)
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.request(reqwest::Method::GET, path).send().await.unwrap()
    }

    pub(crate) async fn page(&self, path: &str) -> String {
        let response = self.get(path).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        response.text().await.unwrap()
    }

    /// A form that is sent from one of the pages.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        self.form(path, fields).header("origin", &self.base).send().await.unwrap()
    }

    /// The same, and where it comes from is not said yet.
    pub(crate) fn form(&self, path: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        let body = reqwest::Url::parse_with_params("http://form", fields).unwrap();
        self.request(reqwest::Method::POST, path)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body.query().unwrap_or_default().to_owned())
    }
}

pub(crate) fn set_cookie(response: &Response) -> &str {
    response.headers().get("set-cookie").expect("a cookie").to_str().unwrap()
}

/// The value of a hidden field.
pub(crate) fn hidden_field(page: &str, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let rest = page.split_once(&start).unwrap_or_else(|| panic!("{name} is not in {page}")).1;
    rest.split_once('"').unwrap().0.to_owned()
}
