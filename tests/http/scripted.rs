//! A destination that answers what a test scripted, byte for byte, and keeps what it received.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub(crate) struct Destination {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Destination {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Destination {
    /// Answers each request with the next of these texts and closes the connection; with nothing once they are used up.
    pub(crate) async fn answering(answers: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let (kept, mut answers) =
            (received.clone(), answers.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        answers.reverse();
        let task = tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let request = read_request(&mut socket).await;
                kept.lock().unwrap().push(request);
                let _ = socket.write_all(answers.pop().unwrap_or_default().as_bytes()).await;
                let _ = socket.shutdown().await;
            }
        });
        Self { url, received, task }
    }

    pub(crate) fn received(&self) -> Vec<String> {
        self.received.lock().unwrap().clone()
    }
}

/// Head and body, by the length that the head tells.
async fn read_request(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok()
            });
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        let read = socket.read(&mut buffer).await.unwrap();
        if read == 0 {
            return text;
        }
        bytes.extend_from_slice(&buffer[..read]);
    }
}

/// An answer with a body.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
}
