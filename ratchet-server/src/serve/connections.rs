//! Accepts connections, bounds them, and ends them in order.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tower_service::Service as _;

use super::App;
use super::patient::Patient;

/// Room for the head of a request: no header of the protocol is long.
const HEAD_BYTES: usize = 16 * 1024;

/// Serves until `shutdown` is ready; then nothing more is accepted, and requests that were begun are answered, for as long
/// as it says.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    app: &App,
    shutdown: impl Future<Output = Duration>,
) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(app.limits().connections));
    let peers = Arc::new(Peers::new(app.limits().connections_of_peer));
    let mut shutdown = pin!(shutdown);
    let last_answers = loop {
        let place = tokio::select! {
            biased;
            last_answers = &mut shutdown => break last_answers,
            place = Arc::clone(&places).acquire_owned() => place,
        };
        let (stream, peer) = tokio::select! {
            biased;
            last_answers = &mut shutdown => break last_answers,
            accepted = accepted(&listener) => accepted,
        };
        // Closed at once: it would take the place of others while it waits.
        let Some(of_peer) = peers.enter(peer) else { continue };
        let connection = connection(stream, router.clone(), app.limits().patience, graceful.watcher());
        tokio::spawn(async move {
            connection.await;
            drop((place, of_peer));
        });
    };
    drop(listener);
    app.stopping().cancel();
    if timeout(last_answers, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests were still under way when the grace was over");
    }
}

/// How many connections each peer has. A proxy is one peer.
struct Peers {
    at_most: usize,
    open: Mutex<HashMap<IpAddr, usize>>,
}

/// One connection of a peer.
struct OfPeer {
    peers: Arc<Peers>,
    peer: IpAddr,
}

impl Peers {
    fn new(at_most: usize) -> Self {
        Self { at_most, open: Mutex::default() }
    }

    /// One more connection of this peer, unless it has as many as it may.
    fn enter(self: &Arc<Self>, peer: IpAddr) -> Option<OfPeer> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let its = open.entry(peer).or_default();
        if *its >= self.at_most {
            return None;
        }
        *its += 1;
        Some(OfPeer { peers: Arc::clone(self), peer })
    }
}

impl Drop for OfPeer {
    fn drop(&mut self) {
        let mut open = self.peers.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(its) = open.get_mut(&self.peer) {
            *its -= 1;
            if *its == 0 {
                open.remove(&self.peer);
            }
        }
    }
}

/// The next connection. What is wrong with one, or a lack of file descriptors, is waited out.
async fn accepted(listener: &TcpListener) -> (TcpStream, IpAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer.ip()),
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "connections cannot be accepted");
                sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn connection(stream: TcpStream, router: Router, patience: Duration, watcher: Watcher) {
    // Answers are small and their readers wait for them.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| answer(router.clone(), request));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(HEAD_BYTES);
    let served =
        watcher.watch(http.serve_connection(TokioIo::new(Patient::new(stream, patience)), service)).await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended");
    }
}

async fn answer(mut router: Router, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    router.call(request).await
}
