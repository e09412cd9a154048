//! The same code over this machine's own sockets and clock: for tests, and to measure what a component costs.
//!
//! HTTP is the little that a local web server needs: one request a connection, no TLS.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::wire::{Clock, Endpoint, NetError, Reply, Transport};

const PIECE_BYTES: usize = 256 << 10;

#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

/// A connection with a request sent.
pub struct Stream {
    inner: Box<dyn Read>,
    /// Bytes of the answer that came with an HTTP header.
    early: Vec<u8>,
}

impl Reply for Stream {
    fn read(&mut self) -> Result<Vec<u8>, NetError> {
        if !self.early.is_empty() {
            return Ok(std::mem::take(&mut self.early));
        }
        let mut piece = vec![0; PIECE_BYTES];
        let count = self.inner.read(&mut piece).map_err(net_error)?;
        piece.truncate(count);
        Ok(piece)
    }
}

fn net_error(error: std::io::Error) -> NetError {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::NotFound => NetError::Refused,
        ErrorKind::TimedOut | ErrorKind::WouldBlock => NetError::Timeout,
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof => NetError::Closed,
        _ => NetError::Other(error.to_string()),
    }
}

fn dial_tcp(host: &str, port: u16, idle: Duration) -> Result<TcpStream, NetError> {
    let mut addresses = (host, port).to_socket_addrs().map_err(net_error)?;
    let address = addresses
        .next()
        .ok_or_else(|| NetError::Other("the name has no address".to_owned()))?;
    let stream = TcpStream::connect_timeout(&address, idle).map_err(net_error)?;
    stream.set_read_timeout(Some(idle)).map_err(net_error)?;
    stream.set_write_timeout(Some(idle)).map_err(net_error)?;
    Ok(stream)
}

impl Transport for Native {
    type Reply = Stream;

    fn dial(&self, endpoint: &Endpoint, idle_ms: u32, request: &[u8]) -> Result<Stream, NetError> {
        let idle = Duration::from_millis(u64::from(idle_ms));
        let inner: Box<dyn Read> = match endpoint {
            Endpoint::Tcp { host, port } => {
                let mut stream = dial_tcp(host, *port, idle)?;
                stream.write_all(request).map_err(net_error)?;
                Box::new(stream)
            }
            Endpoint::Unix { path } => {
                let mut stream = UnixStream::connect(path).map_err(net_error)?;
                stream.set_read_timeout(Some(idle)).map_err(net_error)?;
                stream.write_all(request).map_err(net_error)?;
                Box::new(stream)
            }
            Endpoint::Http { .. } => return Err(NetError::Other("HTTP is posted, not dialled".to_owned())),
        };
        Ok(Stream {
            inner,
            early: Vec::new(),
        })
    }

    fn post(&self, url: &str, idle_ms: u32, body: Vec<u8>) -> Result<(u16, Stream), NetError> {
        let rest = url
            .strip_prefix("http://")
            .ok_or_else(|| NetError::Other("only http here".to_owned()))?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) => (
                host,
                port.parse()
                    .map_err(|_| NetError::Other("the port is none".to_owned()))?,
            ),
            None => (authority, 80),
        };
        let mut stream = dial_tcp(host, port, Duration::from_millis(u64::from(idle_ms)))?;
        let head = format!(
            "POST /{path} HTTP/1.0\r\nHost: {authority}\r\nContent-Type: text/xml\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(&body))
            .map_err(net_error)?;
        let mut answer = Vec::new();
        let head_end = loop {
            if let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            let mut piece = [0; 4096];
            match stream.read(&mut piece).map_err(net_error)? {
                0 => return Err(NetError::Closed),
                count => answer.extend_from_slice(&piece[..count]),
            }
        };
        let early = answer.split_off(head_end);
        let head = String::from_utf8_lossy(&answer);
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| NetError::Other("the answer is not HTTP".to_owned()))?;
        Ok((
            status,
            Stream {
                inner: Box::new(stream),
                early,
            },
        ))
    }
}

/// This machine's clock.
#[derive(Clone, Copy, Debug)]
pub struct NativeClock(Instant);

impl Default for NativeClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for NativeClock {
    fn monotonic_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn sleep_ms(&self, ms: u32) {
        std::thread::sleep(Duration::from_millis(u64::from(ms)));
    }
}
