//! Origin of a request: the address for throttling and audit, and the request's id.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderMap, header};
use qm_kernel::ClientInfo;
use qm_lanes::IgnorePoison;
use tokio_util::sync::CancellationToken;

use crate::error::ApiError;

/// The socket's peer; put into each request's extensions by [`crate::serve()`].
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// Set by the edge on each request; [`Client`] is made from it on demand.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The address one trusted hop behind the peer.
    pub ip: IpAddr,
    pub request_id: RequestId,
    /// True when `X-Forwarded-For` was written by a trusted proxy.
    pub proxied: bool,
    pub(crate) attendance: Attendance,
}

/// Presence of the caller until the answer. The token is created on demand: nearly every request needs none,
/// and one costs as much as all other data that the edge keeps per request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attendance(Arc<Mutex<Presence>>);

#[derive(Debug, Default)]
enum Presence {
    #[default]
    Waits,
    /// Present, with a token that fires when the caller leaves.
    Watched(CancellationToken),
    Gone,
}

impl Attendance {
    fn hung_up(&self) -> HungUp {
        let mut presence = self.0.lock().ignore_poison();
        let token = match &*presence {
            Presence::Watched(token) => token.clone(),
            Presence::Waits => {
                let token = CancellationToken::new();
                *presence = Presence::Watched(token.clone());
                token
            }
            Presence::Gone => {
                let token = CancellationToken::new();
                token.cancel();
                token
            }
        };
        HungUp(token)
    }
}

/// Ends the presence when it is dropped: the caller has its answer, or has left.
#[derive(Debug)]
pub(crate) struct Attended(pub(crate) Attendance);

impl Drop for Attended {
    fn drop(&mut self) {
        let mut presence = self.0.0.lock().ignore_poison();
        let before = std::mem::replace(&mut *presence, Presence::Gone);
        // A woken task may ask again at once.
        drop(presence);
        if let Presence::Watched(token) = before {
            token.cancel();
        }
    }
}

/// Extractor: a token that fires when the caller hangs up, or has its answer. For work that serves nobody
/// else; a request that makes a change runs to its end.
#[derive(Clone, Debug, Default)]
pub struct HungUp(pub CancellationToken);

impl<S: Sync> FromRequestParts<S> for HungUp {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let origin = parts.extensions.get::<Origin>();
        Ok(origin.map_or_else(HungUp::default, |origin| origin.attendance.hung_up()))
    }
}

/// Request id of sixteen hexadecimal digits, stored inline: every request has one, few need it as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId([u8; 16]);

impl RequestId {
    pub(crate) fn from_bytes(bytes: [u8; 8]) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 16];
        for (index, byte) in bytes.into_iter().enumerate() {
            text[index * 2] = DIGITS[usize::from(byte >> 4)];
            text[index * 2 + 1] = DIGITS[usize::from(byte & 15)];
        }
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Longest `X-Forwarded-For` and `User-Agent` text kept for audit rows, in bytes.
const MAX_TEXT: usize = 512;

/// Extractor: the caller's address and browser, for audit rows and refresh tokens.
#[derive(Clone, Debug)]
pub struct Client(pub ClientInfo);

impl<S: Sync> FromRequestParts<S> for Client {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let (ip, request_id, proxied) = match parts.extensions.get::<Origin>() {
            Some(origin) => (origin.ip, origin.request_id.as_str().to_owned(), origin.proxied),
            None => (peer_ip(&parts.extensions), String::new(), false),
        };
        let forwarded = text(&parts.headers, &FORWARDED_FOR, Keep::End).filter(|_| proxied);
        Ok(Client(ClientInfo {
            ip,
            forwarded: forwarded.unwrap_or_else(|| ip.to_string()),
            user_agent: text(&parts.headers, &header::USER_AGENT, Keep::Start),
            request_id,
        }))
    }
}

/// Part of an overlong text that is kept.
#[derive(Clone, Copy)]
enum Keep {
    Start,
    /// For `X-Forwarded-For`: the caller can write text of any length before the trusted proxy's entry.
    End,
}

/// Text of a header, repeated ones joined as HTTP allows; `None` when it is absent or blank.
fn text(headers: &HeaderMap, name: &header::HeaderName, keep: Keep) -> Option<String> {
    let values: Vec<_> = headers
        .get_all(name)
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()))
        .collect();
    let text = values.join(", ");
    let text = match keep {
        Keep::Start => &text[..text.floor_char_boundary(MAX_TEXT)],
        Keep::End => &text[text.ceil_char_boundary(text.len().saturating_sub(MAX_TEXT))..],
    };
    (!text.trim().is_empty()).then(|| text.to_owned())
}

pub(crate) const FORWARDED_FOR: header::HeaderName = header::HeaderName::from_static("x-forwarded-for");

/// Address for limits. Only the last entry counts: the trusted proxy wrote it, and everything before it is
/// the caller's own claim.
pub(crate) fn client_ip(headers: &HeaderMap, extensions: &http::Extensions, trusted_proxies: u8) -> IpAddr {
    let forwarded = (trusted_proxies > 0)
        .then(|| headers.get_all(FORWARDED_FOR).iter().next_back())
        .flatten()
        .and_then(|value| value.to_str().ok())
        .and_then(|text| parse_ip(text.rsplit(',').next().unwrap_or(text).trim()));
    forwarded.unwrap_or_else(|| peer_ip(extensions)).to_canonical()
}

fn peer_ip(extensions: &http::Extensions) -> IpAddr {
    extensions
        .get::<Peer>()
        .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| {
            peer.0.ip().to_canonical()
        })
}

/// Some proxies write the port too, and brackets around an IPv6 address.
fn parse_ip(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>()
        .ok()
        .or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
        .or_else(|| text.strip_prefix('[')?.strip_suffix(']')?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_forwarded_text_the_proxys_own_entry_stays() {
        let mut headers = HeaderMap::new();
        headers.insert(
            FORWARDED_FOR,
            format!("{}, 198.51.100.7", "x".repeat(9000)).parse().unwrap(),
        );
        headers.insert(
            header::USER_AGENT,
            format!("Agent {}", "x".repeat(9000)).parse().unwrap(),
        );
        let forwarded = text(&headers, &FORWARDED_FOR, Keep::End).unwrap();
        assert!(
            forwarded.ends_with(", 198.51.100.7") && forwarded.len() == MAX_TEXT,
            "{forwarded}"
        );
        let agent = text(&headers, &header::USER_AGENT, Keep::Start).unwrap();
        assert!(agent.starts_with("Agent ") && agent.len() == MAX_TEXT, "{agent}");
    }

    #[test]
    fn a_caller_that_left_is_told_to_who_asked_before_and_after() {
        let attendance = Attendance::default();
        let attended = Attended(attendance.clone());
        let (early, again) = (attendance.hung_up(), attendance.hung_up());
        assert!(!early.0.is_cancelled());
        drop(attended);
        assert!(early.0.is_cancelled() && again.0.is_cancelled());
        assert!(attendance.hung_up().0.is_cancelled());
    }

    #[test]
    fn the_last_forwarded_entry_counts_when_a_proxy_is_trusted() {
        let mut extensions = http::Extensions::new();
        extensions.insert(Peer(SocketAddr::from(([10, 0, 0, 9], 4000))));
        for (trusted, forwarded, expected) in [
            (1, None, "10.0.0.9"),
            (1, Some("198.51.100.7"), "198.51.100.7"),
            (1, Some("203.0.113.1, 198.51.100.7"), "198.51.100.7"),
            (1, Some("203.0.113.1,[2001:db8::1]:443"), "2001:db8::1"),
            (1, Some("[2001:db8::1]"), "2001:db8::1"),
            (1, Some("198.51.100.7:9000"), "198.51.100.7"),
            (1, Some("::ffff:198.51.100.7"), "198.51.100.7"),
            (1, Some("not an address"), "10.0.0.9"),
            (1, Some(""), "10.0.0.9"),
            (0, Some("198.51.100.7"), "10.0.0.9"),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(text) = forwarded {
                headers.insert(FORWARDED_FOR, text.parse().unwrap());
            }
            let ip = client_ip(&headers, &extensions, trusted);
            assert_eq!(ip.to_string(), expected, "{forwarded:?} with {trusted} trusted");
        }
    }
}
