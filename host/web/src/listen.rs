//! Listening socket of the server.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// Connections waiting to be accepted: after a restart all clients come back at once, and one without a place
/// gets no answer and retries only after seconds. The kernel's `net.core.somaxconn` may limit it further.
const BACKLOG: u32 = 1024;

/// Listens on `address`; port 0 takes any free one.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // Connections of the previous process still occupy the port.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpStream};
    use std::time::Duration;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_thousand_clients_may_come_at_once() {
        let bound = std::fs::read_to_string("/proc/sys/net/core/somaxconn").expect("Linux");
        let bound: u32 = bound.trim().parse().expect("a number");
        assert!(
            bound >= BACKLOG,
            "this machine cannot show it: somaxconn is {bound}"
        );
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port");
        let address = listener.local_addr().expect("bound");
        let connecting = tokio::task::spawn_blocking(move || {
            // No accept runs, and a closed connection keeps its place.
            (0..BACKLOG).find_map(|count| {
                let failed = TcpStream::connect_timeout(&address, Duration::from_secs(10)).err()?;
                Some((count, failed))
            })
        });
        let failed = connecting.await.expect("no panic");
        assert!(failed.is_none(), "{failed:?}");
    }
}
