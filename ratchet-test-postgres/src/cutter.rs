//! Cuts a connection at a text that a client sends.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{self, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::Server;

/// Where a connection is cut, once a client sends a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The server never gets the text, and notices that the client is gone.
    Before,
    /// The server has answered, and the client does not get the answer.
    After,
    /// The client is cut off, and the server waits for more until [`Cutter::release`], as behind a broken network.
    Held,
}

/// What stands between clients and a server.
#[derive(Debug)]
pub struct Cutter {
    port: u16,
    plan: Arc<Plan>,
    /// Ends with this value.
    _serving: JoinSet<io::Result<()>>,
}

#[derive(Debug, Default)]
struct Plan {
    next: Mutex<Option<(&'static str, Cut)>>,
    released: Notify,
}

impl Server {
    /// A way to the server on which connections can be cut.
    pub async fn cutter(&self) -> Cutter {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (plan, socket) = (Arc::new(Plan::default()), self.socket());
        let mut serving = JoinSet::new();
        serving.spawn({
            let plan = Arc::clone(&plan);
            async move {
                let mut connections = JoinSet::new();
                loop {
                    let (client, _) = listener.accept().await?;
                    let (server, plan) = (UnixStream::connect(&socket).await?, Arc::clone(&plan));
                    connections.spawn(async move { plan.pass(client, server).await });
                }
            }
        });
        Cutter { port, plan, _serving: serving }
    }
}

impl Cutter {
    /// The address of a database of the server, by this way.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    /// Cuts the connection on which a client next sends a text.
    pub fn cut(&self, text: &'static str, cut: Cut) {
        *self.plan.next.lock().unwrap_or_else(PoisonError::into_inner) = Some((text, cut));
    }

    /// Whether the cut has been made.
    #[must_use]
    pub fn has_cut(&self) -> bool {
        self.plan.next.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Hands what was held to the server, and closes that connection.
    pub fn release(&self) {
        self.plan.released.notify_one();
    }
}

impl Plan {
    async fn pass(&self, mut client: TcpStream, mut server: UnixStream) -> io::Result<()> {
        let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
        loop {
            tokio::select! {
                read = client.read(&mut asked) => {
                    let sent = &asked[..read?];
                    if sent.is_empty() {
                        return Ok(());
                    }
                    if let Some(cut) = self.cut_at(sent) {
                        return self.end(cut, sent, client, server).await;
                    }
                    server.write_all(sent).await?;
                }
                read = server.read(&mut answered) => {
                    let sent = &answered[..read?];
                    if sent.is_empty() {
                        return Ok(());
                    }
                    client.write_all(sent).await?;
                }
            }
        }
    }

    fn cut_at(&self, sent: &[u8]) -> Option<Cut> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let (text, cut) = (*next)?;
        let is_here = sent.windows(text.len()).any(|part| part == text.as_bytes());
        is_here.then(|| {
            *next = None;
            cut
        })
    }

    async fn end(&self, cut: Cut, sent: &[u8], client: TcpStream, mut server: UnixStream) -> io::Result<()> {
        if cut == Cut::Before {
            return Ok(());
        }
        if cut == Cut::Held {
            drop(client);
            self.released.notified().await;
        }
        server.write_all(sent).await?;
        let mut answer = [0; 1 << 10];
        server.read(&mut answer).await.map(drop)
    }
}
