//! The two ways out, in the shapes plugins use: a stream, and an HTTP request.

use crate::http_guarded::{self, GuardedError};
use crate::transport::{self, Connection, Endpoint, NetError, TcpAddress};
use crate::{PluginError, clock, http, plugin_error};

/// Dials `host`:`port` as the operator entered it. `idle_ms` bounds every silence.
pub fn connect_tcp(host: &str, port: u16, idle_ms: u32) -> Result<Connection, NetError> {
    transport::connect(
        &Endpoint::Tcp(TcpAddress {
            host: host.to_owned(),
            port,
        }),
        idle_ms,
    )
}

/// Dials a unix socket by its absolute path. `idle_ms` bounds every silence.
pub fn connect_unix(path: &str, idle_ms: u32) -> Result<Connection, NetError> {
    transport::connect(&Endpoint::Unix(path.to_owned()), idle_ms)
}

/// One HTTP request in the making. 64 MiB bound the answer unless told otherwise.
pub struct HttpRequest {
    request: http::Request,
}

impl HttpRequest {
    pub fn new(method: &str, url: &str, idle_ms: u32) -> Self {
        Self {
            request: http::Request {
                method: method.to_owned(),
                url: url.to_owned(),
                headers: Vec::new(),
                body: Vec::new(),
                idle_ms,
                max_body: 64 << 20,
            },
        }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.request.headers.push(http::Header {
            name: name.to_owned(),
            value: value.as_bytes().to_vec(),
        });
        self
    }

    pub fn body(mut self, content_type: &str, body: Vec<u8>) -> Self {
        self.request.body = body;
        self.header("Content-Type", content_type)
    }

    pub fn max_body(mut self, bytes: u64) -> Self {
        self.request.max_body = bytes;
        self
    }

    /// Sends it; the answer's head has arrived when this returns. A status is not judged here.
    pub fn send(self) -> Result<http::Response, PluginError> {
        self.send_raw().map_err(|(url, error)| plugin_error(&url, error))
    }

    /// Like [`HttpRequest::send`], with the network's own error and the URL it is about.
    pub fn send_raw(self) -> Result<http::Response, (String, NetError)> {
        http::send(&self.request).map_err(|error| (self.request.url, error))
    }
}

impl HttpRequest {
    /// Sends it to an address that a user chose, with the capability `http-guarded`; `idle_ms` bounds the whole time until the
    /// answer's head. The URL is not repeated in the error: it may hold a secret.
    pub fn send_guarded(self) -> Result<http::Response, PluginError> {
        http_guarded::send(&self.request).map_err(|error| match error {
            GuardedError::Refused(why) => PluginError::Rejected(why),
            GuardedError::Redirect(_) => PluginError::Rejected("redirects are not followed".to_owned()),
            GuardedError::Net(error) => plugin_error("the address", error),
            GuardedError::Other((name, why)) => PluginError::Unreachable(format!("{name}: {why}")),
        })
    }
}

/// Bytes of one piece of a body.
const PIECE: u32 = 256 << 10;

/// The whole body of an answer. `deadline`: when it has to be here, in the milliseconds of [`clock::monotonic_ms`]; what comes later
/// is a timeout.
pub fn read_until(response: &http::Response, deadline: u64) -> Result<Vec<u8>, NetError> {
    let mut body = Vec::new();
    loop {
        if clock::monotonic_ms() >= deadline {
            return Err(NetError::Timeout);
        }
        let piece = response.read(PIECE)?;
        if piece.is_empty() {
            return Ok(body);
        }
        body.extend_from_slice(&piece);
    }
}

/// The first header of that name, in any case, as text.
pub fn header<'a>(headers: &'a [http::Header], name: &str) -> Option<&'a str> {
    let found = headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(&found.value).ok()
}
