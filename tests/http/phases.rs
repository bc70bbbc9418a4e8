//! A connection that breaks or falls silent, at every point of an exchange.

use std::time::Duration;

use ratchet::http::Client;
use ratchet::{CauseKind, OutcomeKind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::answers::context;

/// What a destination does before it closes the connection or falls silent.
#[derive(Debug, Clone, Copy)]
struct Script {
    reads: Reads,
    writes: &'static str,
}

#[derive(Debug, Clone, Copy)]
enum Reads {
    Nothing,
    Head,
    All,
}

/// Larger than what the sockets hold, so that a destination that stops reading stops the client while it sends.
const LARGE: usize = 8 * 1024 * 1024;

/// Small enough to be read at once.
const SMALL: usize = 1024;

const PHASES: [Script; 7] = [
    Script { reads: Reads::Nothing, writes: "" },
    Script { reads: Reads::Head, writes: "" },
    Script { reads: Reads::All, writes: "" },
    Script { reads: Reads::All, writes: "HTTP/1.1 20" },
    Script { reads: Reads::All, writes: "HTTP/1.1 200 OK\r\ncontent-le" },
    Script { reads: Reads::All, writes: "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n" },
    Script { reads: Reads::All, writes: "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"id\"" },
];

async fn play(script: Script, stalls: bool) -> (OutcomeKind, CauseKind) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let destination = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        read(&mut socket, script.reads).await;
        let _ = socket.write_all(script.writes.as_bytes()).await;
        if stalls {
            std::future::pending::<()>().await;
        }
    });
    let limit = if stalls { Duration::from_millis(700) } else { Duration::from_secs(30) };
    let http = Client::configured(|builder| builder.timeout(limit)).unwrap();
    let length = if matches!(script.reads, Reads::All) { SMALL } else { LARGE };
    let delivered = http.post(&url).body(vec![b'x'; length]).idempotent(&context()).deliver().await;
    destination.abort();
    let outcome = delivered.unwrap_err().into_outcome();
    (outcome.kind(), outcome.cause().unwrap().kind())
}

async fn read(socket: &mut TcpStream, reads: Reads) {
    let mut buffer = vec![0; 65536];
    let mut left = match reads {
        Reads::Nothing => 0,
        Reads::Head => 1,
        Reads::All => SMALL,
    };
    while left > 0 {
        let count = socket.read(&mut buffer).await.unwrap();
        assert!(count > 0);
        left = left.saturating_sub(count);
    }
}

#[tokio::test]
async fn a_connection_that_breaks_at_any_point_after_it_was_made_says_nothing() {
    for script in PHASES {
        let (kind, cause) = play(script, false).await;
        assert_eq!(kind, OutcomeKind::Unknown, "{script:?}");
        assert!(matches!(cause, CauseKind::Transport | CauseKind::UnreadableAnswer), "{script:?}: {cause}");
    }
}

#[tokio::test]
async fn a_destination_that_falls_silent_at_any_point_says_nothing() {
    for script in PHASES {
        let (kind, _) = play(script, true).await;
        assert_eq!(kind, OutcomeKind::Unknown, "{script:?}");
    }
}

#[tokio::test]
async fn a_connection_that_was_kept_and_breaks_is_not_used_for_a_second_send() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let destination = tokio::spawn(async move {
        let mut requests = 0;
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 4096];
        for reply in ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", ""] {
            assert!(socket.read(&mut buffer).await.unwrap() > 0);
            requests += 1;
            socket.write_all(reply.as_bytes()).await.unwrap();
        }
        drop(socket);
        // A second send would come over a new connection.
        if tokio::time::timeout(Duration::from_millis(300), listener.accept()).await.is_ok() {
            requests += 1;
        }
        requests
    });
    let (http, ctx) = (Client::new().unwrap(), context());
    let send = || http.post(&url).idempotent(&ctx).deliver();
    send().await.unwrap();
    assert_eq!(send().await.unwrap_err().outcome().kind(), OutcomeKind::Unknown);
    assert_eq!(destination.await.unwrap(), 2);
}
