//! A relay that does what a test scripted, stage by stage, and keeps what it took.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::TcpSocket;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

/// Where in a dialogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    Greeting,
    Hello,
    SignIn,
    Sender,
    Recipient,
    Data,
    /// Within the message.
    Middle,
    /// After its final dot; the relay has taken it, unless it says something.
    Verdict,
}

/// What happens there instead of an answer that says yes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Does {
    Stall,
    /// Says yes when it is told to go on.
    Hold,
    Cut,
    Say(&'static str),
}

pub(crate) type Scene = Option<(At, Does)>;

pub(crate) struct Scripted {
    pub(crate) port: u16,
    /// For a relay that holds.
    pub(crate) go_on: Arc<Notify>,
    heard: Arc<Mutex<Vec<String>>>,
    taken: mpsc::UnboundedReceiver<String>,
    task: JoinHandle<()>,
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Scripted {
    /// One scene for each connection, and no obstacles after the last.
    #[allow(clippy::unused_async, reason = "it needs a runtime")]
    pub(crate) async fn playing(scenes: &[Scene]) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        // What is not read is not sent either.
        socket.set_recv_buffer_size(4096).unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(16).unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let (take, taken) = mpsc::unbounded_channel();
        let go_on = Arc::<Notify>::default();
        let holds = go_on.clone();
        let (mut scenes, notes) = (scenes.iter().copied().collect::<VecDeque<_>>(), heard.clone());
        let task = tokio::spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                let scene = scenes.pop_front().flatten();
                let (notes, take, go_on) = (notes.clone(), take.clone(), holds.clone());
                tokio::spawn(async move {
                    Stage { socket: BufReader::new(socket), scene, notes, take, go_on }.play().await;
                });
            }
        });
        Self { port, go_on, heard, taken, task }
    }

    /// The next message that was taken.
    pub(crate) async fn taken(&mut self) -> String {
        let next = tokio::time::timeout(std::time::Duration::from_secs(30), self.taken.recv());
        next.await.expect("no message arrived for 30 seconds").unwrap()
    }

    /// Messages that were taken and not asked for yet.
    pub(crate) fn rest(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.taken.try_recv().ok()).collect()
    }

    /// Every command, of all connections.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

struct Stage<S> {
    socket: BufReader<S>,
    scene: Scene,
    notes: Arc<Mutex<Vec<String>>>,
    take: mpsc::UnboundedSender<String>,
    go_on: Arc<Notify>,
}

/// The dialogue is over.
struct Over;

impl<S: AsyncRead + AsyncWrite + Unpin> Stage<S>
where
    BufReader<S>: AsyncBufRead,
{
    async fn play(mut self) {
        let _ = self.dialogue().await;
    }

    async fn dialogue(&mut self) -> Result<(), Over> {
        self.answer(At::Greeting, "220 relay.example").await?;
        loop {
            let command = self.line().await?;
            let command = command.trim_end();
            self.notes.lock().unwrap().push(command.to_owned());
            match command.split([' ', ':']).next().unwrap_or_default() {
                "EHLO" => {
                    self.answer(At::Hello, "250-relay.example\r\n250-8BITMIME\r\n250 AUTH PLAIN").await?;
                }
                "AUTH" => self.answer(At::SignIn, "235 2.7.0 welcome").await?,
                "MAIL" => self.answer(At::Sender, "250 2.1.0 ok").await?,
                "RCPT" => self.answer(At::Recipient, "250 2.1.5 ok").await?,
                "DATA" => self.message().await?,
                _ => self.say("221 2.0.0 bye").await?,
            }
        }
    }

    async fn message(&mut self) -> Result<(), Over> {
        self.answer(At::Data, "354 go ahead").await?;
        let first = self.line().await?;
        self.answer(At::Middle, "").await?;
        let mut text = first;
        while !text.ends_with("\r\n.\r\n") {
            text.push_str(&self.line().await?);
        }
        text.truncate(text.len() - ".\r\n".len());
        if !matches!(self.scene, Some((At::Verdict, Does::Say(_)))) {
            let _ = self.take.send(text);
        }
        self.answer(At::Verdict, "250 2.0.0 queued").await
    }

    async fn answer(&mut self, at: At, yes: &str) -> Result<(), Over> {
        match self.scene {
            Some((scripted, Does::Stall)) if scripted == at => std::future::pending().await,
            Some((scripted, Does::Hold)) if scripted == at => {
                self.go_on.notified().await;
                self.say(yes).await
            }
            Some((scripted, Does::Cut)) if scripted == at => Err(Over),
            Some((scripted, Does::Say(text))) if scripted == at => self.say(text).await,
            _ if at == At::Middle => Ok(()),
            _ => self.say(yes).await,
        }
    }

    async fn say(&mut self, text: &str) -> Result<(), Over> {
        self.socket.write_all(format!("{text}\r\n").as_bytes()).await.map_err(|_| Over)
    }

    async fn line(&mut self) -> Result<String, Over> {
        let mut line = String::new();
        match self.socket.read_line(&mut line).await {
            Ok(read) if read > 0 => Ok(line),
            _ => Err(Over),
        }
    }
}
