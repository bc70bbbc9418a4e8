//! A network that fails on purpose.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};

use crate::bytes::{Bytes, Direction, End};
use crate::{Database, Server};

/// What happens to one exchange: a request of the program and the server's answer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The connection ends before the server sees the request.
    CutBeforeRequest,
    /// The server does what it was asked, and the connection ends before anybody learns of it.
    CutBeforeAnswer,
    /// The connection ends in the middle of the answer.
    CutWithinAnswer,
    /// Nothing passes any more, and both sides believe in the connection.
    FreezeBeforeRequest,
    /// The same after the server did what it was asked.
    FreezeBeforeAnswer,
    /// The connection ends for the program at once, and the server gets the request when all passes again, as by a network
    /// that broke behind it.
    CutAndDeliverLater,
}

impl Fault {
    /// Every one that is over with the exchange.
    pub const ALL: [Self; 5] = [
        Self::CutBeforeRequest,
        Self::CutBeforeAnswer,
        Self::CutWithinAnswer,
        Self::FreezeBeforeRequest,
        Self::FreezeBeforeAnswer,
    ];
}

/// Stands between a program and its server until it is dropped, which cuts all connections.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    plan: Arc<Plan>,
    accepting: JoinHandle<()>,
}

/// What is to go wrong next.
#[derive(Debug)]
struct Plan {
    next: Mutex<Next>,
    bytes: Bytes,
    healed: Notify,
    /// Where connections lead.
    socket: Mutex<PathBuf>,
}

#[derive(Debug, Default, Clone, Copy)]
enum Next {
    #[default]
    Nothing,
    Once {
        after: usize,
        fault: Fault,
    },
    At {
        text: &'static str,
        fault: Fault,
    },
    Always(Fault),
}

impl Server {
    /// Opens a way to this server through a free port of this machine, inside the Tokio runtime of the caller.
    pub async fn proxy(&self) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let (next, healed) = (Mutex::default(), Notify::new());
        let bytes = Bytes::default();
        let plan = Arc::new(Plan { next, bytes, healed, socket: Mutex::new(self.socket()) });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&plan)));
        Proxy { port, plan, accepting }
    }
}

impl Proxy {
    /// The address of a database by this way, as the server's superuser.
    #[must_use]
    pub fn url(&self, database: &Database<'_>) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{}?sslmode=disable", self.port, database.name())
    }

    /// The same for several servers, by all these ways.
    #[must_use]
    pub fn url_of(ways: &[Self], database: &Database<'_>) -> String {
        let hosts: Vec<String> = ways.iter().map(|way| format!("127.0.0.1:{}", way.port)).collect();
        format!("postgres://postgres@{}/{}?sslmode=disable", hosts.join(","), database.name())
    }

    /// Lets so many exchanges pass, of whatever connection, and then has one fail.
    pub fn fail_once(&self, after: usize, fault: Fault) {
        *self.plan.next() = Next::Once { after, fault };
    }

    /// Has the exchange fail in which a program next sends this text.
    pub fn fail_at(&self, text: &'static str, fault: Fault) {
        *self.plan.next() = Next::At { text, fault };
    }

    /// Has every exchange fail from now on, also those of new connections.
    pub fn fail_always(&self, fault: Fault) {
        *self.plan.next() = Next::Always(fault);
    }

    /// Ends a connection after so many more bytes in one direction, counted over all connections.
    pub fn end_after(&self, bytes: usize, direction: Direction, end: End) {
        self.plan.bytes.end_after(bytes, direction, end);
    }

    /// How many bytes have passed in one direction so far.
    #[must_use]
    pub fn passed(&self, direction: Direction) -> usize {
        self.plan.bytes.passed(direction)
    }

    /// Whether the end after so many bytes is still to come, which then comes no more.
    #[must_use]
    pub fn calls_off_end(&self) -> bool {
        self.plan.bytes.calls_off_end()
    }

    /// Whether the failure that was asked for is still to come.
    #[must_use]
    pub fn is_to_fail(&self) -> bool {
        !matches!(*self.plan.next(), Next::Nothing)
    }

    /// Leads new connections to another server, as an address does after a failover.
    pub fn lead_to(&self, server: &Server) {
        *self.plan.socket.lock().unwrap_or_else(PoisonError::into_inner) = server.socket();
    }

    /// Lets everything pass again. Connections that were frozen are cut.
    pub fn heal(&self) {
        *self.plan.next() = Next::Nothing;
        self.plan.healed.notify_waiters();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Plan {
    fn next(&self) -> MutexGuard<'_, Next> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn socket(&self) -> PathBuf {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What happens to the exchange that begins with what was sent.
    fn fault(&self, sent: &[u8]) -> Option<Fault> {
        let mut next = self.next();
        match *next {
            Next::Nothing => None,
            Next::Always(fault) => Some(fault),
            Next::At { text, fault } => {
                let is_here = sent.windows(text.len()).any(|part| part == text.as_bytes());
                is_here.then(|| {
                    *next = Next::Nothing;
                    fault
                })
            }
            Next::Once { after: 0, fault } => {
                *next = Next::Nothing;
                Some(fault)
            }
            Next::Once { after, fault } => {
                *next = Next::Once { after: after - 1, fault };
                None
            }
        }
    }
}

async fn accept(listener: TcpListener, plan: Arc<Plan>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let _ = client.set_nodelay(true);
        let plan = Arc::clone(&plan);
        connections.spawn(async move {
            // A server that is down refuses, and so does this by hanging up.
            if let Ok(server) = UnixStream::connect(plan.socket()).await {
                let _ = carry(client, server, &plan).await;
            }
        });
    }
}

/// Carries exchanges until one is to fail or a side hangs up. What the server says without being asked is one too.
async fn carry(mut client: TcpStream, mut server: UnixStream, plan: &Plan) -> io::Result<()> {
    let (mut request, mut answer) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let (mut asked, mut fault) = (false, None);
    loop {
        tokio::select! {
            length = client.read(&mut request) => {
                let length = length?;
                if !std::mem::replace(&mut asked, true) {
                    fault = plan.fault(&request[..length]);
                }
                match fault {
                    _ if length == 0 => return Ok(()),
                    Some(Fault::CutBeforeRequest) => return Ok(()),
                    Some(Fault::FreezeBeforeRequest) => return freeze(plan).await,
                    Some(Fault::CutAndDeliverLater) => {
                        let healed = plan.healed.notified();
                        drop(client);
                        healed.await;
                        server.write_all(&request[..length]).await?;
                        return server.read(&mut answer).await.map(drop);
                    }
                    _ => {
                        let (passes, end) = plan.bytes.pass(length, Direction::ToServer);
                        server.write_all(&request[..passes]).await?;
                        match end {
                            Some(End::Cut) => return Ok(()),
                            Some(End::Freeze) => return freeze(plan).await,
                            None => {}
                        }
                    }
                }
            }
            length = server.read(&mut answer) => {
                let length = length?;
                if !std::mem::replace(&mut asked, false) {
                    fault = plan.fault(b"");
                }
                match fault.take() {
                    _ if length == 0 => return Ok(()),
                    Some(Fault::CutBeforeAnswer) => return Ok(()),
                    Some(Fault::CutWithinAnswer) => return client.write_all(&answer[..length / 2]).await,
                    Some(Fault::FreezeBeforeAnswer) => return freeze(plan).await,
                    _ => {
                        let (passes, end) = plan.bytes.pass(length, Direction::ToProgram);
                        client.write_all(&answer[..passes]).await?;
                        match end {
                            Some(End::Cut) => return Ok(()),
                            Some(End::Freeze) => return freeze(plan).await,
                            None => {}
                        }
                    }
                }
            }
        }
    }
}

/// The caller holds both sides open meanwhile.
async fn freeze(plan: &Plan) -> io::Result<()> {
    plan.healed.notified().await;
    Ok(())
}
