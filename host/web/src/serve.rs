//! The listener: accepts connections and speaks HTTP/1.1 on them.
//! Bounds: connections at once, 100 headers in 128 KiB, 15 s for a request head and as long between two requests,
//! 60 s for a peer that reads nothing, 10 s for running requests to end at shutdown. Upgraded connections (WebSocket)
//! leave this module with their own rules, but keep the one on silent readers.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tower::Service;

use crate::client::Peer;
use crate::silence::TimedIo;

const MAX_CONNECTIONS: usize = 8192;
/// Bounds a request head too: one that does not fit in two of these is refused.
const READ_BUFFER: usize = 64 * 1024;
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
const READER_SILENCE: Duration = Duration::from_mins(1);
const DRAIN: Duration = Duration::from_secs(10);
/// After a failed accept (no file descriptor left), before the next.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `shutdown` resolves, then lets running requests end.
pub async fn serve(listener: TcpListener, router: Router, shutdown: impl Future<Output = ()>) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let (closing, closed) = watch::channel(false);
    tokio::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = accept(&listener, &slots) => accepted,
        };
        match accepted {
            Ok((stream, peer, slot)) => {
                let connection = Connection {
                    router: router.clone(),
                    peer,
                    closed: closed.clone(),
                    slot,
                };
                tokio::spawn(connection.run(stream));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    drop(closed);
    // Ignored: no receiver means that no connection is left.
    let _ = closing.send(true);
    if tokio::time::timeout(DRAIN, closing.closed()).await.is_err() {
        tracing::warn!("requests still running at shutdown were cut off");
    }
}

async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots)
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, peer, slot))
}

struct Connection {
    router: Router,
    peer: SocketAddr,
    closed: watch::Receiver<bool>,
    slot: OwnedSemaphorePermit,
}

impl Connection {
    async fn run(self, stream: TcpStream) {
        let Self {
            router,
            peer,
            mut closed,
            slot,
        } = self;
        let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            let answer = router.clone().call(request.map(Body::new));
            async move { Ok::<_, Infallible>(answer.await.unwrap_or_else(|never| match never {})) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(READ_BUFFER)
            .serve_connection(TokioIo::new(TimedIo::new(stream, READER_SILENCE)), service)
            .with_upgrades();
        tokio::pin!(connection);
        // That the sender is gone is the same news as its word.
        let closing = async { closed.wait_for(|closed| *closed).await.map_or((), drop) };
        let ended = tokio::select! {
            ended = &mut connection => Some(ended),
            () = closing => None,
        };
        let ended = match ended {
            Some(ended) => ended,
            None => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, %peer, "a connection ended badly");
        }
        drop(slot);
    }
}
