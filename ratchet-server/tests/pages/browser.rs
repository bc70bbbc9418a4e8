//! A headless Chromium, by the protocol that `chromedriver` speaks (W3C `WebDriver`).

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ratchet::http::reqwest::{Client, Method};
use serde_json::{Value, json};

/// How long a page may take to become as a test waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// The name under which the protocol hands out elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

pub(crate) const TAB: char = '\u{E004}';
pub(crate) const SHIFT: char = '\u{E008}';
pub(crate) const ENTER: char = '\u{E007}';

/// A browser with one window, which ends with the test.
pub(crate) struct Browser {
    driver: Child,
    client: Client,
    session: String,
}

pub(crate) struct Element(String);

impl Browser {
    pub(crate) async fn start() -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts: `cargo xtask test` installs Debian's packages chromium and chromium-driver");
        let mut lines = BufReader::new(driver.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
        let port: u16 = lines
            .find_map(|line| {
                line.split_once("started successfully on port ")?.1.trim_end_matches('.').parse().ok()
            })
            .expect("chromedriver says where it listens");
        let mut browser =
            Self { driver, client: Client::new(), session: format!("http://127.0.0.1:{port}/session") };
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--window-size=1280,900",
        ];
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let made = browser.call(Method::POST, "", capabilities).await;
        browser.session = format!("{}/{}", browser.session, made["sessionId"].as_str().expect("a session"));
        browser
    }

    async fn try_call(&self, method: Method, path: &str, body: Value) -> Result<Value, String> {
        let mut request = self.client.request(method.clone(), format!("{}{path}", self.session));
        if method == Method::POST {
            request = request.json(&body);
        }
        let response = request.send().await.expect("chromedriver answers");
        let is_good = response.status().is_success();
        let answer: Value = response.json().await.expect("JSON");
        if is_good { Ok(answer["value"].clone()) } else { Err(answer["value"]["message"].to_string()) }
    }

    async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        self.try_call(method, path, body).await.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        self.call(Method::POST, path, body).await
    }

    /// A command of the browser's own protocol, for what `WebDriver` has no words for.
    pub(crate) async fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.post("/goog/cdp/execute", json!({"cmd": command, "params": parameters})).await
    }

    pub(crate) async fn open(&self, url: &str) {
        self.post("/url", json!({"url": url})).await;
    }

    pub(crate) async fn url(&self) -> String {
        self.call(Method::GET, "/url", Value::Null).await.as_str().expect("a URL").to_owned()
    }

    pub(crate) async fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", json!({"script": script, "args": []})).await
    }

    /// All text of the page that can be seen.
    pub(crate) async fn text(&self) -> String {
        self.run("return document.body.innerText").await.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the page shows a text.
    pub(crate) async fn sees(&self, text: &str) {
        let begun = Instant::now();
        let mut seen = String::new();
        while begun.elapsed() < PATIENCE {
            seen = self.text().await;
            if seen.contains(text) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{text:?} is not on {}:\n{seen}", self.url().await);
    }

    /// The element of a selector of CSS.
    pub(crate) async fn find(&self, css: &str) -> Element {
        self.locate("css selector", css).await
    }

    /// The link or button with this text.
    pub(crate) async fn named(&self, text: &str) -> Element {
        let path = format!("//*[self::a or self::button][normalize-space()='{text}']");
        self.locate("xpath", &path).await
    }

    async fn locate(&self, using: &str, value: &str) -> Element {
        let found = self.post("/element", json!({"using": using, "value": value})).await;
        Element(found[ELEMENT].as_str().expect("an element").to_owned())
    }

    pub(crate) async fn click(&self, element: &Element) {
        self.post(&format!("/element/{}/click", element.0), json!({})).await;
    }

    /// Clicks the link or button with this text.
    pub(crate) async fn press(&self, text: &str) {
        self.click(&self.named(text).await).await;
    }

    pub(crate) async fn type_into(&self, css: &str, text: &str) {
        let element = self.find(css).await;
        self.post(&format!("/element/{}/value", element.0), json!({"text": text})).await;
    }

    /// Presses keys one after the other, wherever the focus is; Shift is held for the one behind it.
    pub(crate) async fn keys(&self, keys: &str) {
        let mut strokes = Vec::new();
        let mut held = false;
        for key in keys.chars() {
            strokes.push(json!({"type": "keyDown", "value": key.to_string()}));
            if key == SHIFT {
                held = true;
                continue;
            }
            strokes.push(json!({"type": "keyUp", "value": key.to_string()}));
            if std::mem::take(&mut held) {
                strokes.push(json!({"type": "keyUp", "value": SHIFT.to_string()}));
            }
        }
        self.post("/actions", json!({"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]}))
            .await;
    }

    /// Moves the focus forward until it is on what has this text or label, as somebody without a mouse does.
    pub(crate) async fn tab_to(&self, name: &str) {
        const FOCUSED: &str = "const e = document.activeElement; \
            return [e.getAttribute('aria-label'), e.innerText, e.labels?.[0]?.innerText, e.id].filter(Boolean)";
        for _ in 0..80 {
            self.keys(&TAB.to_string()).await;
            let focused = self.run(FOCUSED).await;
            let names = focused.as_array().cloned().unwrap_or_default();
            if names
                .iter()
                .any(|one| one.as_str().is_some_and(|one| one.trim() == name || one.starts_with(name)))
            {
                return;
            }
        }
        panic!("the focus never comes to {name:?} on {}", self.url().await);
    }

    /// What the console holds that is no mere note; asking empties it.
    pub(crate) async fn complaints(&self) -> Vec<String> {
        let lines = self.post("/se/log", json!({"type": "browser"})).await;
        let lines = lines.as_array().cloned().unwrap_or_default();
        let bad = lines.iter().filter(|line| line["level"] != "INFO" && line["level"] != "DEBUG");
        bad.map(|line| line["message"].to_string()).collect()
    }

    /// A picture of the whole page, as PNG in base64.
    pub(crate) async fn picture(&self) -> String {
        let taken = self.devtools("Page.captureScreenshot", json!({"captureBeyondViewport": true})).await;
        taken["data"].as_str().expect("a picture").to_owned()
    }

    pub(crate) async fn prefer(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.devtools("Emulation.setEmulatedMedia", json!({"features": features})).await;
    }

    /// The width of the window in pixels; a narrow one is that of a phone.
    pub(crate) async fn width(&self, width: u32) {
        let phone = width < 600;
        let height = if phone { 844 } else { 900 };
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone});
        self.devtools("Emulation.setDeviceMetricsOverride", size).await;
    }
}

impl Browser {
    fn end_session(&self) -> std::io::Result<()> {
        let address = self.session.trim_start_matches("http://");
        let (host, path) = address.split_once('/').unwrap_or((address, ""));
        let mut stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        write!(stream, "DELETE /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
        stream.read_to_end(&mut Vec::new()).map(drop)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The end of the driver alone would leave the browser behind. Nothing can be awaited here.
        let _ = self.end_session();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
