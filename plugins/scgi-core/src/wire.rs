//! One request, one reply: SCGI framing, the header before the XML, HTTP status.
//!
//! A reply is read in the pieces the network gives; nothing here holds more than one piece and a header.

use crate::error::Error;

/// Address at which rTorrent listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `network.scgi.open_port`
    Tcp { host: String, port: u16 },
    /// `network.scgi.open_local`
    Unix { path: String },
    /// A web server that passes SCGI on, e.g. `http://nas/RPC2`.
    Http { url: String },
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Endpoint::Tcp { host, port } => write!(f, "{host}:{port}"),
            Endpoint::Unix { path } => f.write_str(path),
            // Without user and password, which a URL may carry.
            Endpoint::Http { url } => match url.split_once("://") {
                Some((scheme, rest)) => {
                    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
                    let host = authority.rsplit('@').next().unwrap_or(authority);
                    write!(f, "{scheme}://{host}")
                }
                None => f.write_str("the configured URL"),
            },
        }
    }
}

/// Network errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetError {
    /// The host did not grant it; the text names the request.
    Denied(String),
    Timeout,
    Refused,
    Closed,
    TooLarge,
    Other(String),
}

impl NetError {
    /// Words the error, which happened while talking to `endpoint`.
    pub fn met_at(self, endpoint: &Endpoint) -> Error {
        match self {
            NetError::Denied(what) => {
                Error::InvalidConfig(format!("{what} is not what this engine is configured to reach"))
            }
            NetError::Timeout => Error::Timeout(format!("{endpoint} fell silent")),
            NetError::Refused => Error::Unreachable(format!("{endpoint} refused the connection")),
            NetError::Closed => {
                Error::Unreachable(format!("{endpoint} closed the connection before it had answered"))
            }
            NetError::TooLarge => Error::Protocol(format!("the answer of {endpoint} is larger than 64 MiB")),
            NetError::Other(why) => Error::Unreachable(format!("{endpoint}: {why}")),
        }
    }
}

/// The way to the client.
pub trait Transport {
    type Reply: Reply;
    /// Dials a TCP or unix endpoint and writes `request`. `idle_ms` bounds every silence.
    fn dial(&self, endpoint: &Endpoint, idle_ms: u32, request: &[u8]) -> Result<Self::Reply, NetError>;
    /// Sends `body` as `text/xml` by HTTP POST: the status, and the body of the answer.
    fn post(&self, url: &str, idle_ms: u32, body: Vec<u8>) -> Result<(u16, Self::Reply), NetError>;
}

/// Reply, read piece by piece. Dropping it closes the connection.
pub trait Reply {
    /// The next piece, of any size the network likes; empty at the end.
    fn read(&mut self) -> Result<Vec<u8>, NetError>;
}

/// Time, which a component has only by asking for it.
pub trait Clock {
    /// Milliseconds from an arbitrary start; never goes back.
    fn monotonic_ms(&self) -> u64;
    fn sleep_ms(&self, ms: u32);
}

/// More than this is not an answer.
pub const MAX_REPLY_BYTES: u64 = 64 << 20;
/// A CGI header longer than this is none.
const MAX_HEAD_BYTES: usize = 16 << 10;

/// An SCGI request: a netstring of headers, then the body.
pub fn scgi_frame(body: &[u8]) -> Vec<u8> {
    let headers = format!(
        "CONTENT_LENGTH\0{}\0SCGI\x001\0REQUEST_METHOD\0POST\0CONTENT_TYPE\0text/xml\0",
        body.len()
    );
    let mut frame = Vec::with_capacity(headers.len() + body.len() + 8);
    frame.extend_from_slice(headers.len().to_string().as_bytes());
    frame.push(b':');
    frame.extend_from_slice(headers.as_bytes());
    frame.push(b',');
    frame.extend_from_slice(body);
    frame
}

/// Position of the body: behind the first blank line.
fn body_start(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\n', bytes).find_map(|line_end| match bytes.get(line_end + 1..)? {
        [b'\n', ..] => Some(line_end + 2),
        [b'\r', b'\n', ..] => Some(line_end + 3),
        _ => None,
    })
}

/// The XML of one reply, piece by piece.
pub struct Exchange<R> {
    reply: R,
    /// Present until the header is behind us.
    head: Option<Vec<u8>>,
    received: u64,
    endpoint: Endpoint,
}

impl<R: Reply> Exchange<R> {
    /// Sends `xml` and returns once there is something to read.
    pub fn start<T: Transport<Reply = R>>(
        transport: &T,
        endpoint: &Endpoint,
        idle_ms: u32,
        xml: Vec<u8>,
    ) -> Result<Self, Error> {
        let (reply, head) = match endpoint {
            Endpoint::Http { url } => {
                let (status, reply) = transport
                    .post(url, idle_ms, xml)
                    .map_err(|error| error.met_at(endpoint))?;
                accept_status(endpoint, status)?;
                (reply, None)
            }
            Endpoint::Tcp { .. } | Endpoint::Unix { .. } => {
                let request = scgi_frame(&xml);
                let reply = transport
                    .dial(endpoint, idle_ms, &request)
                    .map_err(|error| error.met_at(endpoint))?;
                (reply, Some(Vec::new()))
            }
        };
        Ok(Self {
            reply,
            head,
            received: 0,
            endpoint: endpoint.clone(),
        })
    }

    /// The next piece of XML, never empty; `None` at the end.
    pub fn piece(&mut self) -> Result<Option<Vec<u8>>, Error> {
        loop {
            let piece = self.reply.read().map_err(|error| error.met_at(&self.endpoint))?;
            if piece.is_empty() {
                return if self.received == 0 {
                    Err(NetError::Closed.met_at(&self.endpoint))
                } else {
                    Ok(None)
                };
            }
            self.received += piece.len() as u64;
            if self.received > MAX_REPLY_BYTES {
                return Err(NetError::TooLarge.met_at(&self.endpoint));
            }
            let Some(mut head) = self.head.take() else {
                return Ok(Some(piece));
            };
            head.extend_from_slice(&piece);
            match body_start(&head) {
                Some(start) if start < head.len() => return Ok(Some(head.split_off(start))),
                // The header ends exactly here: what comes next is the body.
                Some(_) => {}
                None if head.len() > MAX_HEAD_BYTES => {
                    return Err(Error::Protocol(format!("{} does not speak SCGI", self.endpoint)));
                }
                None => self.head = Some(head),
            }
        }
    }
}

/// Error for an HTTP status other than 2xx, from the web server in front of rTorrent.
fn accept_status(endpoint: &Endpoint, status: u16) -> Result<(), Error> {
    match status {
        200..=299 => Ok(()),
        401 | 403 => Err(Error::Auth(format!("{endpoint} answered HTTP {status}"))),
        502..=504 => Err(Error::Unreachable(format!(
            "{endpoint} answered HTTP {status}: its web server cannot reach rTorrent"
        ))),
        _ => Err(Error::Protocol(format!("{endpoint} answered HTTP {status}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_a_netstring_and_the_body() {
        let frame = scgi_frame(b"<x/>");
        let expected =
            b"66:CONTENT_LENGTH\x004\0SCGI\x001\0REQUEST_METHOD\0POST\0CONTENT_TYPE\0text/xml\0,<x/>";
        assert_eq!(frame, expected);
    }

    #[test]
    fn the_body_begins_behind_the_first_blank_line() {
        let cases: [(&[u8], Option<usize>); 6] = [
            (b"Status: 200 OK\r\n\r\n<x/>", Some(18)),
            (b"A: b\n\n<x/>", Some(6)),
            (b"A: b\r\n\r\n", Some(8)),
            (b"A: b\r\n", None),
            (b"A: b\r\n\r", None),
            (b"", None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(
                body_start(bytes),
                expected,
                "{:?}",
                String::from_utf8_lossy(bytes)
            );
        }
    }

    #[test]
    fn an_endpoint_is_shown_without_its_password() {
        let http = |url: &str| Endpoint::Http { url: url.to_owned() }.to_string();
        assert_eq!(http("http://me:secret@nas:80/RPC2"), "http://nas:80");
        assert_eq!(http("https://nas/RPC2?x=@y"), "https://nas");
        assert_eq!(http("nonsense"), "the configured URL");
    }
}
