//! The least HTTP that serves a test: one request, one connection, and the whole answer.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use webapi_core::{Answer, NetError, Request};

/// An answer that is all here.
#[derive(Clone, Debug, Default)]
pub struct Whole {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Whole {
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Whole {
            status,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.text()))
    }
}

impl Answer for Whole {
    fn status(&self) -> u16 {
        self.status
    }

    fn header_values(&self, name: &str) -> Vec<String> {
        let named = self.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.clone()).collect()
    }

    fn read(&mut self, max: u32) -> Result<Vec<u8>, NetError> {
        let n = self.body.len().min(max as usize);
        Ok(self.body.drain(..n).collect())
    }

    fn read_to_end(&mut self) -> Result<Vec<u8>, NetError> {
        Ok(std::mem::take(&mut self.body))
    }
}

/// Sends over a connection of its own and reads to the end.
pub fn send(request: &Request) -> Result<Whole, NetError> {
    let other = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::ConnectionRefused => NetError::Refused,
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => NetError::Timeout,
        _ => NetError::Other(error.to_string()),
    };
    let rest = request
        .url
        .strip_prefix("http://")
        .expect("tests speak plain http");
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut stream = TcpStream::connect(authority).map_err(other)?;
    let idle = Duration::from_millis(u64::from(request.idle_ms));
    stream.set_read_timeout(Some(idle)).map_err(other)?;
    let mut lines = vec![
        format!("{} {path} HTTP/1.1", request.method),
        format!("Host: {authority}"),
    ];
    lines.push(format!("Content-Length: {}", request.body.len()));
    lines.extend(
        request
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}")),
    );
    let head = lines.join("\r\n") + "\r\n\r\n";
    stream
        .write_all(&[head.as_bytes(), &request.body].concat())
        .map_err(other)?;
    // The client keeps the connection open whatever it is told, so the length says where the answer ends.
    let mut bytes = Vec::new();
    let mut chunk = [0; 16_384];
    loop {
        if let Some(whole) = parse(&bytes) {
            return Ok(whole);
        }
        match stream.read(&mut chunk).map_err(other)? {
            0 => return Err(NetError::Closed),
            n => bytes.extend_from_slice(&chunk[..n]),
        }
    }
}

fn parse(bytes: &[u8]) -> Option<Whole> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers = headers
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect();
    let mut whole = Whole {
        status,
        headers,
        body: bytes[end + 4..].to_vec(),
    };
    if let Some(length) = whole.header_values("content-length").first() {
        let length: usize = length.parse().ok()?;
        (whole.body.len() >= length).then(|| whole.body.truncate(length))?;
    }
    Some(whole)
}
