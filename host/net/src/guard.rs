//! URL guard: a GET of a URL from a user or a feed ([`Net::fetch_guarded`]), or any request to one
//! ([`Dialer::send_guarded`]).
//!
//! Order: parse, scheme, resolve once, vet every address, dial exactly those, no redirects, total time, body
//! limit. A separate client for every request knows only the vetted addresses, so a second DNS answer cannot
//! change the target.

use std::error::Error as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use qm_kernel::ErrorKind;
use qm_metainfo::magnet::is_magnet;
use url::{Host, Url};

use crate::Net;
use crate::dial::{CONNECT, DialError, Dialer, MAX_IDLE, may_act};
use crate::feed::{AGENT, DAMAGED, Packed, plain};
use crate::grants::Reach;
use crate::http::{HttpRequest, HttpResponse};
use crate::resolve::{Pinned, dialable};
use crate::silence::Progress;
use crate::trust::Untrusted;

/// Time limit for resolving a name when only its addresses are wanted.
const NAMING: Duration = Duration::from_secs(2);

/// Largest answer in bytes that may be a magnet link.
const MAX_MAGNET: usize = 32 << 10;
const ACCEPT: &str = "application/x-bittorrent, */*;q=0.5";

/// Kind of the target: decides the words of errors, and if the answer may be compressed or a magnet link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardKind {
    /// A .torrent file.
    TorrentUrl,
    /// Anything else: a webhook, an image, a feed.
    Url,
}

impl GuardKind {
    const fn noun(self) -> &'static str {
        match self {
            GuardKind::TorrentUrl => "torrent URL",
            GuardKind::Url => "URL",
        }
    }

    const fn subject(self) -> &'static str {
        match self {
            GuardKind::TorrentUrl => "Torrent URL",
            GuardKind::Url => "URL",
        }
    }

    const fn too_large(self) -> &'static str {
        match self {
            GuardKind::TorrentUrl => "Torrent file is too large",
            GuardKind::Url => "Response is too large",
        }
    }
}

/// Reason why a URL was not fetched. The texts are for the user who gave the URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    #[error("Invalid {}", .0.noun())]
    Invalid(GuardKind),
    #[error("Only http(s) {}s are allowed", .0.noun())]
    Scheme(GuardKind),
    #[error("Could not resolve {} host", .0.noun())]
    Unresolved(GuardKind),
    #[error(
        "{} resolves to a blocked internal address (an administrator can allow the host in SSRF_ALLOW_HOSTS)",
        .0.subject()
    )]
    Blocked(GuardKind),
    #[error("{} resolves to an address that is never dialled, whatever SSRF_ALLOW_HOSTS lists", .0.subject())]
    Never(GuardKind),
    #[error("Could not fetch {}: {reason}", .kind.noun())]
    Fetch { kind: GuardKind, reason: String },
    /// The server redirects, so a retry would not help.
    #[error("Could not fetch {}: redirects are not followed", .0.noun())]
    Redirect(GuardKind),
    #[error("Failed to fetch {}: {status}", .kind.noun())]
    Status { kind: GuardKind, status: u16 },
    #[error("{}", .0.too_large())]
    TooLarge(GuardKind),
}

impl GuardError {
    /// All of them concern the user's input.
    pub const fn kind(&self) -> ErrorKind {
        match self {
            GuardError::Invalid(_)
            | GuardError::Scheme(_)
            | GuardError::Unresolved(_)
            | GuardError::Blocked(_)
            | GuardError::Never(_)
            | GuardError::Fetch { .. }
            | GuardError::Redirect(_)
            | GuardError::Status { .. }
            | GuardError::TooLarge(_) => ErrorKind::BadRequest,
        }
    }

    /// Sentence for users who did not give `url` themselves: it names the host where that may be allowed in
    /// the list. Nothing else of the URL is in it, because it may hold a key.
    pub fn about(&self, url: &str) -> String {
        let host = Url::parse(url.trim())
            .ok()
            .and_then(|url| url.host_str().map(str::to_owned));
        match (self, host) {
            (GuardError::Blocked(_) | GuardError::Never(_), Some(host)) => format!("{self}: `{host}`"),
            _ => self.to_string(),
        }
    }

    /// Stable machine-readable word in `code` of the answer; never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            GuardError::Invalid(_) => "bad_request.url",
            GuardError::Scheme(_) => "bad_request.url_scheme",
            GuardError::Unresolved(_) => "bad_request.url_unresolved",
            GuardError::Blocked(_) | GuardError::Never(_) => "bad_request.url_blocked",
            GuardError::Fetch { .. } | GuardError::Redirect(_) => "bad_request.url_unreachable",
            GuardError::Status { .. } => "bad_request.url_status",
            GuardError::TooLarge(_) => "bad_request.url_too_large",
        }
    }
}

/// Target of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Linked {
    Body(Bytes),
    /// A magnet link, from a redirect or as the whole answer to a request for a torrent.
    Magnet(String),
}

/// Reason why a guarded request had no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardedError {
    /// The URL is invalid, or its target forbidden.
    #[error(transparent)]
    Refused(#[from] GuardError),
    /// The server redirected with this status.
    #[error("redirects are not followed")]
    Redirect(u16),
    #[error(transparent)]
    Dial(#[from] DialError),
}

impl Net {
    /// GETs `url` if it is external. `max_bytes` limits the body, `total` the whole time including
    /// resolution.
    pub async fn fetch_guarded(
        &self,
        url: &str,
        kind: GuardKind,
        max_bytes: usize,
        total: Duration,
    ) -> Result<Bytes, GuardError> {
        match self.fetch_linked(url, kind, max_bytes, total).await? {
            Linked::Body(body) => Ok(body),
            Linked::Magnet(_) => Err(GuardError::Redirect(kind)),
        }
    }

    /// As [`Net::fetch_guarded`], but a redirect to a magnet link is an answer: nothing is dialled for it.
    pub async fn fetch_linked(
        &self,
        url: &str,
        kind: GuardKind,
        max_bytes: usize,
        total: Duration,
    ) -> Result<Linked, GuardError> {
        let url = parse(url, kind)?;
        let refused = |error: DialError| GuardError::Fetch {
            kind,
            reason: error.to_string(),
        };
        may_act(&self.mandate).map_err(refused)?;
        let fetch = async {
            let client = self.dialer.client_for(&url, kind).await?.map_err(refused)?;
            get(&client, url, kind, max_bytes).await
        };
        let late = || GuardError::Fetch {
            kind,
            reason: "timed out".to_owned(),
        };
        tokio::time::timeout(total, fetch).await.map_err(|_| late())?
    }

    /// True unless the URL's host is known to be external only, or is listed in `SSRF_ALLOW_HOSTS`. Nothing
    /// is dialled; the name is resolved within two seconds.
    pub async fn leads_inside(&self, url: &str) -> bool {
        let Ok(url) = Url::parse(url) else {
            return true;
        };
        let host = url.host_str().unwrap_or_default();
        let looking = async {
            let addresses = self.dialer.addresses(&url).await;
            !addresses.is_empty() && self.outside.permits(host, &addresses).await
        };
        !tokio::time::timeout(NAMING, looking).await.unwrap_or(false)
    }
}

impl Dialer {
    /// Sends `request` if its URL is external, and waits for the head of the answer: its `idle` (at most 2
    /// min) limits all of that including resolution, and afterwards the silence between pieces of the body.
    pub async fn send_guarded(
        &self,
        request: HttpRequest,
        progress: Progress,
    ) -> Result<HttpResponse, GuardedError> {
        let url = parse(&request.url, GuardKind::Url)?;
        let total = request.idle.min(MAX_IDLE);
        let sending = async {
            let client = self.client_for(&url, GuardKind::Url).await??;
            let answer = self.exchange(&client, url, request, progress, Reach::Own).await?;
            if (300..400).contains(&answer.status()) && answer.headers().contains_key(http::header::LOCATION)
            {
                return Err(GuardedError::Redirect(answer.status()));
            }
            Ok(answer)
        };
        let timed = tokio::time::timeout(total, sending).await;
        timed.map_err(|_| DialError::Timeout)?
    }

    /// Addresses of the URL's host; none without a host, or for a name without addresses.
    async fn addresses(&self, url: &Url) -> Vec<IpAddr> {
        match url.host() {
            Some(Host::Ipv4(ip)) => vec![IpAddr::V4(ip)],
            Some(Host::Ipv6(ip)) => vec![IpAddr::V6(ip)],
            Some(Host::Domain(name)) => self.resolver.resolve(name).await.unwrap_or_default(),
            None => Vec::new(),
        }
    }

    /// A client for this URL that knows only the vetted addresses of its host.
    async fn client_for(
        &self,
        url: &Url,
        kind: GuardKind,
    ) -> Result<Result<reqwest::Client, DialError>, GuardError> {
        if !url.has_host() {
            return Err(GuardError::Invalid(kind));
        }
        let addresses = self.addresses(url).await;
        if addresses.is_empty() {
            return Err(GuardError::Unresolved(kind));
        }
        let host = url.host_str().unwrap_or_default();
        if !self.outside.permits(host, &addresses).await {
            return Err(GuardError::Blocked(kind));
        }
        // Targets that no list can allow: this machine by any name, link-local addresses, cloud metadata.
        let addresses = dialable(host, addresses).map_err(|_| GuardError::Never(kind))?;
        Ok(self.pinned(addresses))
    }

    /// A client that knows only these addresses, for any host.
    pub(crate) fn pinned(&self, addresses: Vec<IpAddr>) -> Result<reqwest::Client, DialError> {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(self.tls.clone())
            .dns_resolver(Arc::new(Pinned(addresses)))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT)
            .pool_max_idle_per_host(0)
            .build();
        client.map_err(|error| DialError::Other(reason(&error)))
    }
}

fn parse(url: &str, kind: GuardKind) -> Result<Url, GuardError> {
    let url = Url::parse(url.trim()).map_err(|_| GuardError::Invalid(kind))?;
    if matches!(url.scheme(), "http" | "https") {
        Ok(url)
    } else {
        Err(GuardError::Scheme(kind))
    }
}

async fn get(
    client: &reqwest::Client,
    url: Url,
    kind: GuardKind,
    max_bytes: usize,
) -> Result<Linked, GuardError> {
    let fail = |error: reqwest::Error| GuardError::Fetch {
        kind,
        reason: reason(&error),
    };
    let mut request = client.get(url).header(http::header::USER_AGENT, AGENT);
    if kind == GuardKind::TorrentUrl {
        request = request
            .header(http::header::ACCEPT, ACCEPT)
            .header(http::header::ACCEPT_ENCODING, "gzip");
    }
    let mut response = request.send().await.map_err(fail)?;
    let status = response.status();
    let location = response.headers().get(http::header::LOCATION);
    if let Some(location) = location.filter(|_| status.is_redirection()) {
        let magnet = location.to_str().ok().filter(|to| is_magnet(to));
        return magnet
            .map(|to| Linked::Magnet(to.to_owned()))
            .ok_or(GuardError::Redirect(kind));
    }
    if !status.is_success() {
        return Err(GuardError::Status {
            kind,
            status: status.as_u16(),
        });
    }
    if response
        .content_length()
        .is_some_and(|length| length > max_bytes as u64)
    {
        return Err(GuardError::TooLarge(kind));
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(fail)? {
        if body.len() + chunk.len() > max_bytes {
            return Err(GuardError::TooLarge(kind));
        }
        body.extend_from_slice(&chunk);
    }
    let body = body.freeze();
    if kind == GuardKind::TorrentUrl {
        return torrent(body, max_bytes).await;
    }
    Ok(Linked::Body(body))
}

/// Answer to a request for a torrent: the file, possibly compressed, or a magnet link as text.
async fn torrent(body: Bytes, max_bytes: usize) -> Result<Linked, GuardError> {
    let kind = GuardKind::TorrentUrl;
    let failed = |reason: String| GuardError::Fetch { kind, reason };
    let body = plain(body, max_bytes).await.map_err(|packed| match packed {
        Packed::TooLarge => GuardError::TooLarge(kind),
        Packed::Waiting(reason) => failed(reason),
        Packed::Damaged => failed(format!("the site sends {DAMAGED}")),
    })?;
    let head = &body[..body.len().min(MAX_MAGNET)];
    let text = std::str::from_utf8(head).unwrap_or_default();
    let text = text.trim_start_matches('\u{feff}').trim();
    let is_link = body.len() < MAX_MAGNET && is_magnet(text) && !text.contains(char::is_whitespace);
    if is_link {
        return Ok(Linked::Magnet(text.to_owned()));
    }
    Ok(Linked::Body(body))
}

/// The innermost cause, which says more than "error sending request", without the URL (it may hold a passkey).
pub fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "timed out".to_owned();
    }
    if let Some(untrusted) = Untrusted::behind(error) {
        return untrusted.to_string();
    }
    let mut cause: Option<&(dyn std::error::Error + 'static)> = error.source();
    let mut text = None;
    while let Some(inner) = cause {
        text = Some(inner.to_string());
        cause = inner.source();
    }
    text.unwrap_or_else(|| "the request failed".to_owned())
}
