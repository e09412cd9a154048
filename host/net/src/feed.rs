//! Feeds: a conditional GET of a URL from a user, by the rules of the [guard](crate::guard), with redirects.
//!
//! Every hop is checked like the first: parsed, resolved once, each address vetted, and exactly those
//! dialled. Link-local addresses and cloud metadata are forbidden even for names in `SSRF_ALLOW_HOSTS`.
//! Bounds: [`FeedLimits`]; [`MAX_REDIRECTS`]; 64 KiB of the body of an error; 1,024 members of one compressed
//! body. No text contains more of a URL than its host: the rest may hold a user's key.

use std::io::Read as _;
use std::net::IpAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderMap, HeaderName};
use qm_lanes::LaneError;
use url::{Host, Url};

use crate::Net;
use crate::dial::{DialError, may_act};
use crate::http::dial_error;
use crate::lanes::INFLATING;
use crate::resolve::{Inside, dialable};

/// Largest number of redirects.
pub const MAX_REDIRECTS: usize = 5;
/// Longest pause in seconds that a site may ask for.
const MAX_PAUSE: u64 = 24 * 3600;
/// Largest size in bytes of a header that is passed on.
const MAX_HEADER: usize = 1024;
const MAX_EXPLANATION: usize = 64 << 10;
const MAX_PIECES: usize = 1024;
const ACCEPT: &str =
    "application/rss+xml, application/atom+xml, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.5";
pub(crate) const AGENT: &str = concat!("quartermaster/", env!("CARGO_PKG_VERSION"));

/// Limits of one request.
#[derive(Clone, Copy, Debug)]
pub struct FeedLimits {
    /// Longest silence: until the head of an answer, and between pieces of the body.
    pub silence: Duration,
    /// Total time, including redirects.
    pub total: Duration,
    /// Largest body in bytes, both compressed and decompressed.
    pub bytes: usize,
}

impl Default for FeedLimits {
    fn default() -> Self {
        Self {
            silence: Duration::from_secs(15),
            total: Duration::from_mins(1),
            bytes: 5 << 20,
        }
    }
}

/// Answer of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedAnswer {
    /// Status 304 for a request with validators.
    NotModified,
    Body(FeedBody),
}

/// A document, decompressed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedBody {
    pub bytes: Bytes,
    pub content_type: Option<String>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
}

/// Reason of a failure. The texts name the host, and nothing else of the URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeedFault {
    /// The URL is invalid or its target forbidden; nothing was sent there.
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Unreachable(String),
    #[error("{0}")]
    Timeout(String),
    #[error("`{host}` answered {}", status_words(*.status))]
    Status {
        host: String,
        status: u16,
        /// `Retry-After` in seconds, at most a day.
        retry_after: Option<u32>,
        /// Begin of the body, to recognise its kind.
        body: Box<FeedBody>,
    },
    #[error("{0}")]
    TooLarge(String),
    #[error("{0}")]
    Unusable(String),
}

impl Net {
    /// Requests a feed. With `etag` or `last_modified` of an earlier answer, an unchanged feed is not sent.
    pub async fn fetch_feed(
        &self,
        url: &str,
        etag: Option<&str>,
        last_modified: Option<&str>,
        limits: FeedLimits,
    ) -> Result<FeedAnswer, FeedFault> {
        let url = parse(url)?;
        let host = host_of(&url);
        let mut asked = HeaderMap::new();
        let validators = [
            (header::IF_NONE_MATCH, etag),
            (header::IF_MODIFIED_SINCE, last_modified),
        ];
        for (name, value) in validators {
            if let Some(value) = value
                .filter(|value| value.len() <= MAX_HEADER)
                .and_then(|value| value.parse().ok())
            {
                asked.insert(name, value);
            }
        }
        let fetch = self.follow(url, asked, limits);
        let late = |_| {
            FeedFault::Timeout(format!(
                "`{host}` took longer than {} s",
                limits.total.as_secs_f32()
            ))
        };
        tokio::time::timeout(limits.total, fetch).await.map_err(late)?
    }

    async fn follow(
        &self,
        mut url: Url,
        asked: HeaderMap,
        limits: FeedLimits,
    ) -> Result<FeedAnswer, FeedFault> {
        let mut by: Option<String> = None;
        for _ in 0..=MAX_REDIRECTS {
            let hop = self.hop(&url, &asked, limits).await;
            let response = hop.map_err(|fault| redirected(fault, by.as_deref()))?;
            let location = response.headers().get(header::LOCATION);
            let location =
                location.filter(|_| matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308));
            let Some(location) = location else {
                return answer(response, &host_of(&url), !asked.is_empty(), limits).await;
            };
            let location = String::from_utf8_lossy(location.as_bytes()).into_owned();
            let next = next_of(&url, &location)?;
            by = Some(host_of(&url));
            url = next;
        }
        Err(FeedFault::Unusable(format!(
            "`{}` redirects more than {MAX_REDIRECTS} times",
            host_of(&url)
        )))
    }

    /// Sends one request and waits for the head of the answer.
    async fn hop(
        &self,
        url: &Url,
        asked: &HeaderMap,
        limits: FeedLimits,
    ) -> Result<reqwest::Response, FeedFault> {
        let host = host_of(url);
        let silent = |_| {
            FeedFault::Timeout(format!(
                "`{host}` did not answer within {} s",
                limits.silence.as_secs_f32()
            ))
        };
        let addresses = tokio::time::timeout(limits.silence, self.judged(url))
            .await
            .map_err(silent)??;
        may_act(&self.mandate).map_err(|error| FeedFault::Refused(error.to_string()))?;
        let client = self
            .dialer
            .pinned(addresses)
            .map_err(|error| failed(&host, error))?;
        let request = client
            .get(url.clone())
            .headers(asked.clone())
            .header(header::ACCEPT, ACCEPT)
            .header(header::ACCEPT_ENCODING, "gzip")
            .header(header::USER_AGENT, AGENT);
        let sent = tokio::time::timeout(limits.silence, request.send())
            .await
            .map_err(silent)?;
        sent.map_err(|error| failed(&host, dial_error(&error)))
    }

    /// Vetted addresses of a URL.
    async fn judged(&self, url: &Url) -> Result<Vec<IpAddr>, FeedFault> {
        let host = host_of(url);
        let unresolved = || FeedFault::Unreachable(format!("cannot resolve `{host}`"));
        let addresses = match url.host() {
            Some(Host::Ipv4(ip)) => vec![IpAddr::V4(ip)],
            Some(Host::Ipv6(ip)) => vec![IpAddr::V6(ip)],
            Some(Host::Domain(name)) => {
                let found = self.dialer.resolver.resolve(name).await;
                found.map_err(|_| unresolved())?
            }
            None => return Err(FeedFault::Refused("the address has no host".to_owned())),
        };
        if addresses.is_empty() {
            return Err(unresolved());
        }
        // Forbidden addresses get their own error, because no list can allow them.
        let may = dialable(&host, addresses.clone()).map_err(|_| {
            FeedFault::Refused(format!(
                "`{host}` resolves to a blocked internal address that is never dialled, such as a link-local one or a cloud's metadata, whatever SSRF_ALLOW_HOSTS lists"
            ))
        })?;
        if !self.outside.permits(&host, &addresses).await {
            return Err(FeedFault::Refused(Inside(host).to_string()));
        }
        Ok(may)
    }
}

fn parse(url: &str) -> Result<Url, FeedFault> {
    let refused = |text: &str| FeedFault::Refused(text.to_owned());
    let url = Url::parse(url.trim()).map_err(|_| refused("the address is no URL"))?;
    if url.scheme() == "magnet" {
        return Err(refused("the address is a magnet link, not that of a feed"));
    }
    is_web(&url)
        .then_some(url)
        .ok_or_else(|| refused("only http(s) addresses are allowed"))
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// Target of a redirect. Name and password of the URL stay within its origin.
fn next_of(url: &Url, location: &str) -> Result<Url, FeedFault> {
    let host = host_of(url);
    let next = url.join(location.trim());
    let mut next = next.map_err(|_| FeedFault::Unusable(format!("`{host}` redirects to what is no URL")))?;
    if next.scheme() == "magnet" {
        return Err(FeedFault::Unusable(format!(
            "`{host}` redirects to a magnet link, which is no feed"
        )));
    }
    if !is_web(&next) {
        return Err(FeedFault::Refused(format!(
            "`{host}` redirects to an address that is not http(s)"
        )));
    }
    if next.origin() == url.origin() && next.username().is_empty() && next.password().is_none() {
        // Neither fails for an http(s) URL with a host.
        let _ = next.set_username(url.username());
        let _ = next.set_password(url.password());
    }
    Ok(next)
}

/// Adds the redirecting host to a fault.
fn redirected(fault: FeedFault, by: Option<&str>) -> FeedFault {
    let Some(by) = by else { return fault };
    let words = |text: String| format!("`{by}` redirects: {text}");
    match fault {
        FeedFault::Refused(text) => FeedFault::Refused(words(text)),
        FeedFault::Unreachable(text) => FeedFault::Unreachable(words(text)),
        FeedFault::Timeout(text) => FeedFault::Timeout(words(text)),
        FeedFault::Unusable(text) => FeedFault::Unusable(words(text)),
        FeedFault::Status { .. } | FeedFault::TooLarge(_) => fault,
    }
}

fn failed(host: &str, error: DialError) -> FeedFault {
    match error {
        DialError::Denied(text) => FeedFault::Refused(text),
        DialError::Timeout => FeedFault::Timeout(format!("`{host}` did not answer in time")),
        DialError::TooLarge => too_large(host),
        other => FeedFault::Unreachable(format!("cannot reach `{host}`: {other}")),
    }
}

fn too_large(host: &str) -> FeedFault {
    FeedFault::TooLarge(format!("`{host}` sends more than a feed may have"))
}

fn status_words(status: u16) -> String {
    let known = http::StatusCode::from_u16(status).ok();
    match known.and_then(|status| status.canonical_reason()) {
        Some(reason) => format!("HTTP {status} ({reason})"),
        None => format!("HTTP {status}"),
    }
}

async fn answer(
    response: reqwest::Response,
    host: &str,
    with_validators: bool,
    limits: FeedLimits,
) -> Result<FeedAnswer, FeedFault> {
    let status = response.status();
    if status.as_u16() == 304 && with_validators {
        return Ok(FeedAnswer::NotModified);
    }
    let headers = response.headers();
    let retry_after = pause(headers);
    let mut body = FeedBody {
        bytes: Bytes::new(),
        content_type: text(headers, &header::CONTENT_TYPE),
        etag: text(headers, &header::ETAG),
        last_modified: text(headers, &header::LAST_MODIFIED),
    };
    if status.is_success() {
        body.bytes = document(response, host, limits).await?;
        return Ok(FeedAnswer::Body(body));
    }
    // Nothing depends on it.
    body.bytes = explanation(response, host, limits).await;
    Err(FeedFault::Status {
        host: host.to_owned(),
        status: status.as_u16(),
        retry_after,
        body: Box::new(body),
    })
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?.trim();
    (!value.is_empty() && value.len() <= MAX_HEADER).then(|| value.to_owned())
}

/// Seconds of a `Retry-After`: a number, or a date by the sender's clock.
fn pause(headers: &HeaderMap) -> Option<u32> {
    let after = text(headers, &header::RETRY_AFTER)?;
    let seconds = match after.parse::<u64>() {
        Ok(seconds) => seconds,
        Err(_) => {
            let until = httpdate::parse_http_date(&after).ok()?;
            let now = httpdate::parse_http_date(&text(headers, &header::DATE)?).ok()?;
            until.duration_since(now).map_or(0, |pause| pause.as_secs())
        }
    };
    u32::try_from(seconds.min(MAX_PAUSE)).ok()
}

async fn document(response: reqwest::Response, host: &str, limits: FeedLimits) -> Result<Bytes, FeedFault> {
    let encoding = text(response.headers(), &header::CONTENT_ENCODING).map(|name| name.to_ascii_lowercase());
    match encoding.as_deref() {
        None | Some("identity" | "gzip" | "x-gzip") => {}
        Some(other) => {
            let other: String = other.chars().filter(char::is_ascii_graphic).take(40).collect();
            return Err(FeedFault::Unusable(format!(
                "`{host}` sends a feed compressed as `{other}`, which was not asked for"
            )));
        }
    }
    let bytes = collect(response, host, limits.bytes, limits.silence).await?;
    unpacked(bytes, host, limits.bytes).await
}

/// Begin of the body of an error, as far as it comes.
async fn explanation(response: reqwest::Response, host: &str, limits: FeedLimits) -> Bytes {
    let mut response = response;
    let mut body = BytesMut::new();
    while body.len() < MAX_EXPLANATION {
        let chunk = tokio::time::timeout(limits.silence, response.chunk()).await;
        let Ok(Ok(Some(chunk))) = chunk else { break };
        let room = MAX_EXPLANATION - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }
    unpacked(body.freeze(), host, 4 * MAX_EXPLANATION)
        .await
        .unwrap_or_default()
}

async fn collect(
    mut response: reqwest::Response,
    host: &str,
    most: usize,
    silence: Duration,
) -> Result<Bytes, FeedFault> {
    if response
        .content_length()
        .is_some_and(|length| length > most as u64)
    {
        return Err(too_large(host));
    }
    let mut body = BytesMut::new();
    loop {
        let chunk = tokio::time::timeout(silence, response.chunk())
            .await
            .map_err(|_| {
                FeedFault::Timeout(format!(
                    "`{host}` fell silent for {} s in the middle",
                    silence.as_secs_f32()
                ))
            })?;
        let Some(chunk) = chunk.map_err(|error| failed(host, dial_error(&error)))? else {
            return Ok(body.freeze());
        };
        if body.len() + chunk.len() > most {
            return Err(too_large(host));
        }
        body.extend_from_slice(&chunk);
    }
}

/// Decompresses data by its own signature, whatever the header says: a `feed.xml.gz` has no encoding header.
async fn unpacked(bytes: Bytes, host: &str, most: usize) -> Result<Bytes, FeedFault> {
    plain(bytes, most).await.map_err(|packed| match packed {
        Packed::TooLarge => too_large(host),
        Packed::Waiting(reason) => FeedFault::Unusable(reason),
        Packed::Damaged => FeedFault::Unusable(format!("`{host}` sends {DAMAGED}")),
    })
}

/// Words for damaged compressed data.
pub(crate) const DAMAGED: &str = "compressed data that is damaged or ends in the middle";

/// Reason why data was not decompressed.
pub(crate) enum Packed {
    TooLarge,
    /// No place was free in time.
    Waiting(String),
    Damaged,
}

/// Decompressed data of at most `most` bytes.
pub(crate) async fn plain(mut bytes: Bytes, most: usize) -> Result<Bytes, Packed> {
    // Some servers compress a compressed file again.
    for _ in 0..2 {
        if !is_gzip(&bytes) {
            break;
        }
        let packed = bytes.clone();
        let inflated = INFLATING.run(move |_| inflate(&packed, most)).await;
        bytes = match inflated {
            Ok(Ok(Some(plain))) => plain.into(),
            Ok(Ok(None)) => return Err(Packed::TooLarge),
            Err(error @ (LaneError::Full(_) | LaneError::Stopped)) => {
                return Err(Packed::Waiting(error.to_string()));
            }
            Ok(Err(_)) | Err(LaneError::Panicked(_)) => return Err(Packed::Damaged),
        };
    }
    Ok(bytes)
}

fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b, 8])
}

/// Decompressed gzip data; `None` when it exceeds `most`. Bytes behind its members are ignored.
fn inflate(packed: &[u8], most: usize) -> std::io::Result<Option<Vec<u8>>> {
    let mut plain = Vec::new();
    let mut rest = packed;
    for _ in 0..MAX_PIECES {
        if !is_gzip(rest) {
            return Ok(Some(plain));
        }
        let mut piece = flate2::bufread::GzDecoder::new(rest);
        let room = (most - plain.len()) as u64 + 1;
        piece.by_ref().take(room).read_to_end(&mut plain)?;
        if plain.len() > most {
            return Ok(None);
        }
        rest = piece.into_inner();
    }
    Err(std::io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_read_and_bounded() {
        let seconds = |after: &str, date: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RETRY_AFTER, after.parse().unwrap());
            if let Some(date) = date {
                headers.insert(header::DATE, date.parse().unwrap());
            }
            pause(&headers)
        };
        let now = Some("Wed, 01 May 2024 08:00:00 GMT");
        assert_eq!(seconds("17", None), Some(17));
        assert_eq!(seconds(" 5 ", None), Some(5));
        assert_eq!(seconds("Wed, 01 May 2024 08:01:00 GMT", now), Some(60));
        assert_eq!(seconds("Fri, 01 May 2020 08:01:00 GMT", now), Some(0));
        assert_eq!(seconds("Wed, 01 May 2024 08:01:00 GMT", None), None);
        assert_eq!(seconds("999999999", None), Some(86_400));
        assert_eq!(seconds("soon", now), None);
        assert_eq!(seconds("-1", now), None);
    }

    #[test]
    fn what_is_compressed_is_bounded() {
        let piece = |text: &[u8]| {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::Write::write_all(&mut packed, text).unwrap();
            packed.finish().unwrap()
        };
        let two = [piece(b"ab"), piece(b"cd"), b"rest".to_vec()].concat();
        assert_eq!(inflate(&two, 4).unwrap().unwrap(), b"abcd");
        assert_eq!(inflate(&two, 3).unwrap(), None);
        assert_eq!(inflate(&piece(&vec![0; 1 << 24]), 1 << 20).unwrap(), None);
        let torn = piece(&[7; 100]);
        assert!(inflate(&torn[..torn.len() - 9], 1000).is_err());
        assert!(inflate(&piece(b"").repeat(MAX_PIECES + 1), 1000).is_err());
    }

    #[test]
    fn a_name_and_password_stay_within_their_origin() {
        let from = Url::parse("http://user:pass@h:81/a?k=1").unwrap();
        for (location, expected) in [
            ("/b", "http://user:pass@h:81/b"),
            ("http://h:81/c", "http://user:pass@h:81/c"),
            ("http://h/c", "http://h/c"),
            ("//other/c", "http://other/c"),
            ("https://h:81/c", "https://h:81/c"),
            ("http://me@h:81/c", "http://me@h:81/c"),
        ] {
            assert_eq!(next_of(&from, location).unwrap().as_str(), expected);
        }
        for location in ["magnet:?xt=1", "file:///etc/passwd", "http://"] {
            let fault = next_of(&from, location).unwrap_err().to_string();
            assert!(fault.contains("`h`") && !fault.contains("pass"), "{fault}");
        }
    }
}
