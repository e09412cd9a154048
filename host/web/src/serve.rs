//! Listener: accepts connections and speaks HTTP/1.1 on them. Bounds: connections at once, in total and per
//! address; 100 headers in 128 KiB, 15 s for a request head and between two requests, 60 s for a peer that
//! reads nothing, 10 s for running requests at shutdown. Upgraded connections (WebSocket) follow their own
//! rules, but keep the limit on silent readers and their place in the count.
//!
//! One address (IPv6: a /64) may hold a quarter of all connections, a /48 half of them. Behind a trusted
//! proxy all connections come from its address, so a neighbour's (loopback, private, link-local) is then not
//! limited: the proxy sees its clients' addresses and can limit them; `X-Forwarded-For` limits their requests
//! and sockets here.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use qm_kernel::AddressBlock;
use qm_lanes::IgnorePoison;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tower::Service;

use crate::client::Peer;
use crate::silence::TimedIo;

/// Also limits a request head: one that does not fit in two of these is refused.
const READ_BUFFER: usize = 64 * 1024;
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
const READER_SILENCE: Duration = Duration::from_mins(1);
const DRAIN: Duration = Duration::from_secs(10);
/// Pause after a failed accept (no file descriptor left).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Limits of the number of connections.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Connections at once; the next one waits to be accepted.
    pub all: usize,
    /// True behind a trusted proxy.
    pub proxied: bool,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            all: 8192,
            proxied: true,
        }
    }
}

/// Serves until `shutdown` resolves, then lets running requests end.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    shutdown: impl Future<Output = ()>,
) {
    let slots = Arc::new(Semaphore::new(limits.all));
    let crowd = Arc::new(Crowd::new(limits));
    let (closing, closed) = watch::channel(false);
    tokio::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = accept(&listener, &slots) => accepted,
        };
        match accepted {
            Ok((stream, peer, permit)) => {
                let Some(place) = Crowd::enter(&crowd, peer.ip()) else {
                    tracing::debug!(%peer, "a connection is closed: its address holds its share of them");
                    continue;
                };
                let connection = Connection {
                    router: router.clone(),
                    peer,
                    closed: closed.clone(),
                    slot: (permit, place),
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
    // Without a receiver no connection is left.
    let _ = closing.send(true);
    if tokio::time::timeout(DRAIN, closing.closed()).await.is_err() {
        tracing::warn!("requests still running at shutdown were cut off");
    }
}

async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let permit = Arc::clone(slots)
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, peer, permit))
}

/// Number of connections by holder.
struct Crowd {
    limits: ConnectionLimits,
    counts: Mutex<HashMap<Holder, usize>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Holder {
    Caller(AddressBlock),
    /// The /48 of an IPv6 caller, which usually belongs to one customer.
    Site(AddressBlock),
}

impl Crowd {
    fn new(limits: ConnectionLimits) -> Self {
        Self {
            limits,
            counts: Mutex::default(),
        }
    }

    /// Takes a place; `None` when the address has its share.
    fn enter(crowd: &Arc<Self>, peer: IpAddr) -> Option<Place> {
        let holders = crowd.holders(peer.to_canonical());
        let mut counts = crowd.counts.lock().ignore_poison();
        let full = holders.iter().flatten().any(|holder| {
            let share = match holder {
                Holder::Caller(_) => crowd.limits.all / 4,
                Holder::Site(_) => crowd.limits.all / 2,
            };
            counts.get(holder).is_some_and(|count| *count >= share.max(1))
        });
        if full {
            return None;
        }
        for holder in holders.iter().flatten() {
            *counts.entry(*holder).or_default() += 1;
        }
        drop(counts);
        Some(Place {
            crowd: Arc::clone(crowd),
            holders,
        })
    }

    fn holders(&self, peer: IpAddr) -> [Option<Holder>; 2] {
        if self.limits.proxied && is_neighbour(peer) {
            return [None, None];
        }
        [
            Some(Holder::Caller(AddressBlock::containing(peer))),
            AddressBlock::site(peer).map(Holder::Site),
        ]
    }
}

/// True for an address that our own reverse proxy may have: loopback, private, link-local.
fn is_neighbour(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_loopback() || address.is_private() || address.is_link_local(),
        IpAddr::V6(address) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
    }
}

/// Place of a connection in the count; released when dropped.
struct Place {
    crowd: Arc<Crowd>,
    holders: [Option<Holder>; 2],
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.crowd.counts.lock().ignore_poison();
        for holder in self.holders.iter().flatten() {
            if let Some(count) = counts.get_mut(holder) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(holder);
                }
            }
        }
    }
}

struct Connection {
    router: Router,
    peer: SocketAddr,
    closed: watch::Receiver<bool>,
    /// Held by the connection itself, so it counts until its end, upgraded or not.
    slot: (OwnedSemaphorePermit, Place),
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
            .serve_connection(TokioIo::new(TimedIo::new(stream, READER_SILENCE, slot)), service)
            .with_upgrades();
        tokio::pin!(connection);
        // A dropped sender means the same as its message.
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crowd(all: usize, proxied: bool) -> Arc<Crowd> {
        Arc::new(Crowd::new(ConnectionLimits { all, proxied }))
    }

    #[test]
    fn an_address_may_hold_a_quarter_and_a_site_half() {
        let crowd = crowd(8, true);
        let enter = |text: &str| Crowd::enter(&crowd, text.parse().unwrap());
        for (own, other) in [
            ("198.51.100.7", "198.51.100.8"),
            ("2001:db8:1:1::1", "2001:db8:1:2::1"),
        ] {
            let first = enter(own);
            let second = enter(own);
            assert!(
                first.is_some() && second.is_some() && enter(own).is_none(),
                "{own}"
            );
            drop(second);
            let second = enter(own);
            assert!(second.is_some() && enter(own).is_none(), "a place is free again");
            assert!(enter(other).is_some(), "{other} is another caller");
        }
        let same = [enter("2001:db8:1:1::1"), enter("2001:db8:1:1:ffff::2")];
        assert!(same.iter().all(Option::is_some) && enter("2001:db8:1:1::3").is_none());
        let site = [enter("2001:db8:1:2::1"), enter("2001:db8:1:3::1")];
        assert!(site.iter().all(Option::is_some) && enter("2001:db8:1:4::1").is_none());
        assert!(enter("2001:db8:2:4::1").is_some(), "another site");
        drop((same, site));
        assert!(crowd.counts.lock().unwrap().is_empty(), "nothing is left behind");
    }

    #[test]
    fn a_trusted_proxy_may_hold_them_all() {
        for (proxied, peer, all) in [
            (true, "127.0.0.1", true),
            (true, "::1", true),
            (true, "172.18.0.3", true),
            (true, "::ffff:10.0.0.2", true),
            (true, "fd00::2", true),
            (true, "198.51.100.7", false),
            (false, "127.0.0.1", false),
            (false, "10.0.0.2", false),
        ] {
            let crowd = crowd(4, proxied);
            let places: Vec<_> = (0..4)
                .map(|_| Crowd::enter(&crowd, peer.parse().unwrap()))
                .collect();
            assert_eq!(places.iter().all(Option::is_some), all, "{peer} {proxied}");
        }
    }
}
