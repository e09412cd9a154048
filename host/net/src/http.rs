//! HTTP to endpoints configured by an operator, with one shared client.
//!
//! Bounds: 5 s to connect; the requested silence of at most 2 min, before the head and between pieces of the
//! body; a body limit; 256 headers with 64 KiB. A 3xx is returned as the answer: following it would leave the
//! grant.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use url::{Host, Url};

use crate::address::is_never_dialled;
use crate::dial::{DialError, Dialer, MAX_IDLE, may_act};
use crate::grants::{Grants, Reach};
use crate::guard::reason;
use crate::resolve::{Forbidden, Inside};
use crate::silence::{Progress, unless_silent};
use crate::trust::{Trust, Untrusted};

/// Headers that belong to the client or the connection. They are removed from a caller's headers, which could
/// otherwise reach another virtual host behind a granted address, or smuggle a second request.
const OWN_HEADERS: &[http::HeaderName] = &[
    http::header::HOST,
    http::header::CONTENT_LENGTH,
    http::header::TRANSFER_ENCODING,
    http::header::CONNECTION,
    http::header::UPGRADE,
    http::header::TE,
    http::header::TRAILER,
    http::header::EXPECT,
    http::header::PROXY_AUTHORIZATION,
];

/// Largest number of headers in a request, and total size of names and values. The map panics when full, and
/// no server accepts half as much.
const MAX_HEADERS: usize = 256;
const MAX_HEADER_BYTES: usize = 64 << 10;

/// A request to a granted endpoint.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    pub method: String,
    /// Absolute.
    pub url: String,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Bytes,
    /// Longest silence.
    pub idle: Duration,
    /// Largest body of the answer in bytes.
    pub max_body: usize,
}

/// An answer whose head has arrived.
pub struct HttpResponse {
    inner: reqwest::Response,
    rest: Bytes,
    idle: Duration,
    left: usize,
    progress: Progress,
}

impl Dialer {
    /// Sends `request` and waits for the head of the answer.
    pub async fn send(
        &self,
        request: HttpRequest,
        grants: &Grants,
        progress: Progress,
    ) -> Result<HttpResponse, DialError> {
        let (url, reach) = authorize(&request.url, grants)?;
        let trust = grants.trust_of(&url);
        let (client, url) = match (reach, self.relays.lead(&url)) {
            (Reach::Own, Some(led)) => {
                never_dialled(&led)?;
                (self.client.clone(), led)
            }
            (Reach::Own, None) => (self.outward(&url, trust).await?, url),
            (Reach::Configured, _) => match trust {
                Some(trust) => (self.trusting(trust, false)?, url),
                None => (self.client.clone(), url),
            },
        };
        self.exchange(&client, url, request, progress, reach).await
    }

    /// Sends `request` by `client`, to a checked URL. Certificate errors name a way out for whoever
    /// configured it.
    pub(crate) async fn exchange(
        &self,
        client: &reqwest::Client,
        url: Url,
        request: HttpRequest,
        progress: Progress,
        reach: Reach,
    ) -> Result<HttpResponse, DialError> {
        let method = reqwest::Method::from_bytes(request.method.as_bytes());
        let method =
            method.map_err(|_| DialError::Other(format!("`{}` is no HTTP method", request.method)))?;
        let size = |(name, value): &(String, Vec<u8>)| name.len() + value.len();
        let header_bytes: usize = request.headers.iter().map(size).sum();
        if request.headers.len() > MAX_HEADERS || header_bytes > MAX_HEADER_BYTES {
            return Err(DialError::Other(format!(
                "a request may have {MAX_HEADERS} headers and {} KiB in them",
                MAX_HEADER_BYTES >> 10
            )));
        }
        may_act(&self.mandate)?;
        let idle = request.idle.min(MAX_IDLE);
        let mut builder = client.request(method, url);
        for (name, value) in request.headers {
            let name = http::HeaderName::from_bytes(name.as_bytes());
            let name = name.map_err(|_| DialError::Other("a header has no valid name".to_owned()))?;
            if !OWN_HEADERS.contains(&name) {
                builder = builder.header(name, value);
            }
        }
        if !request.body.is_empty() {
            builder = builder.body(reqwest::Body::wrap(Upload {
                rest: request.body,
                progress: progress.clone(),
            }));
        }
        let sent = unless_silent(idle, &progress, builder.send())
            .await
            .map_err(|_| DialError::Timeout)?;
        let inner = sent.map_err(|error| match Untrusted::behind(&error) {
            Some(untrusted) if reach == Reach::Configured => DialError::Other(untrusted.with_way_out()),
            _ => dial_error(&error),
        })?;
        progress.add(1);
        Ok(HttpResponse {
            inner,
            rest: Bytes::new(),
            idle,
            left: request.max_body,
            progress,
        })
    }
}

impl Dialer {
    /// The client for a host that a plugin names itself. A literal address never reaches the resolver, so it
    /// is checked here.
    async fn outward(&self, url: &Url, trust: Option<&Arc<Trust>>) -> Result<reqwest::Client, DialError> {
        if let Some(ip) = literal(url) {
            let host = url.host_str().unwrap_or_default();
            if !self.outside.permits(host, &[ip]).await {
                return Err(DialError::Denied(Inside(host.to_owned()).to_string()));
            }
        }
        match trust {
            Some(trust) => self.trusting(trust, true),
            None => Ok(self.outward.clone()),
        }
    }
}

/// Parses `url` and checks it against the grants. A literal address never reaches the resolver, so it is
/// checked here.
fn authorize(url: &str, grants: &Grants) -> Result<(Url, Reach), DialError> {
    let url = Url::parse(url).map_err(|_| DialError::Other("the URL makes no sense".to_owned()))?;
    let not_granted = || DialError::Denied(format!("{} is not granted", place(&url)));
    let reach = grants.reach_of(&url).ok_or_else(not_granted)?;
    never_dialled(&url)?;
    Ok((url, reach))
}

/// Host part for errors: path and query may hold a secret.
fn place(url: &Url) -> String {
    let (host, port) = (
        url.host_str().unwrap_or_default(),
        url.port_or_known_default().unwrap_or(0),
    );
    format!("{}://{host}:{port}", url.scheme())
}

fn never_dialled(url: &Url) -> Result<(), DialError> {
    if literal(url).is_some_and(is_never_dialled) {
        return Err(DialError::Denied(format!("{} is never dialled", place(url))));
    }
    Ok(())
}

fn literal(url: &Url) -> Option<IpAddr> {
    match url.host() {
        Some(Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
        Some(Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
        Some(Host::Domain(_)) | None => None,
    }
}

pub(crate) fn dial_error(error: &reqwest::Error) -> DialError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = std::error::Error::source(error);
    if let Some(untrusted) = Untrusted::behind(error) {
        return DialError::Other(untrusted.to_string());
    }
    while let Some(inner) = cause {
        if let Some(forbidden) = inner.downcast_ref::<Forbidden>() {
            return DialError::Denied(forbidden.to_string());
        }
        if let Some(inside) = inner.downcast_ref::<Inside>() {
            return DialError::Denied(inside.to_string());
        }
        let io = inner.downcast_ref::<std::io::Error>();
        if let Some(known) = io.and_then(|io| DialError::from_kind(io.kind())) {
            return known;
        }
        cause = inner.source();
    }
    if error.is_timeout() {
        DialError::Timeout
    } else {
        DialError::Other(reason(error))
    }
}

impl HttpResponse {
    pub fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    pub fn headers(&self) -> &http::HeaderMap {
        self.inner.headers()
    }

    /// The next piece of the body, at most `max` bytes; empty when it is complete.
    pub async fn read(&mut self, max: usize) -> Result<Bytes, DialError> {
        if self.rest.is_empty() {
            self.rest = self.chunk().await?.unwrap_or_default();
        }
        let n = self.rest.len().min(max.max(1));
        Ok(self.rest.split_to(n))
    }

    /// The rest of the body.
    pub async fn read_to_end(&mut self) -> Result<Vec<u8>, DialError> {
        self.read_to_end_in(|_| true).await
    }

    /// As [`HttpResponse::read_to_end`]; `room` is called for every piece, and ends the reading by returning
    /// false (`TooLarge`).
    pub async fn read_to_end_in(
        &mut self,
        mut room: impl FnMut(usize) -> bool + Send,
    ) -> Result<Vec<u8>, DialError> {
        if self
            .inner
            .content_length()
            .is_some_and(|length| length > (self.left + self.rest.len()) as u64)
        {
            return Err(DialError::TooLarge);
        }
        if !room(self.rest.len()) {
            return Err(DialError::TooLarge);
        }
        let mut all = std::mem::take(&mut self.rest).to_vec();
        while let Some(chunk) = self.chunk().await? {
            if !room(chunk.len()) {
                return Err(DialError::TooLarge);
            }
            all.extend_from_slice(&chunk);
        }
        Ok(all)
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, DialError> {
        let next = tokio::time::timeout(self.idle, self.inner.chunk())
            .await
            .map_err(|_| DialError::Timeout)?;
        let Some(chunk) = next.map_err(|error| dial_error(&error))? else {
            return Ok(None);
        };
        self.progress.add(chunk.len());
        self.left = self.left.checked_sub(chunk.len()).ok_or(DialError::TooLarge)?;
        Ok(Some(chunk))
    }
}

/// A request body of known length that counts the bytes taken by the connection.
struct Upload {
    rest: Bytes,
    progress: Progress,
}

impl Body for Upload {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        const PIECE: usize = 64 << 10;
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let n = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(n);
        self.progress.add(n);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
