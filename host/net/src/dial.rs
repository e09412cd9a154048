//! Streams to endpoints configured by an operator: TCP and unix sockets.
//!
//! The name is matched against the grants, resolved, every address checked, and one of those dialled. Bounds: 5 s to
//! connect, silence as the caller asks but 2 min at most, 256 KiB a read.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::BufMut as _;
use qm_kernel::Mandate;
use qm_lanes::IgnorePoison;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use crate::authorities::Authorities;
use crate::grants::Grants;
use crate::judge::Judge;
use crate::relay::Relays;
use crate::resolve::{OperatorNames, OutwardNames, Resolver, dialable};
use crate::silence::Progress;
use crate::trust::Trust;
use crate::{NetError, Outside};

/// Time limit of a connect, including resolution.
pub const CONNECT: Duration = Duration::from_secs(5);
/// Longest silence that a caller may ask for.
pub const MAX_IDLE: Duration = Duration::from_mins(2);
/// Largest number of bytes of one read.
const MAX_READ: usize = 256 << 10;
/// Largest number of kept clients with their own certificates, each with its connections.
const MAX_TRUSTING: usize = 256;
/// Buffer that `read_to_end` adds for the next piece.
const CHUNK: usize = 64 << 10;

/// Target of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Name or literal address, as the operator entered it.
    Tcp { host: String, port: u16 },
    /// Absolute path of a socket.
    Unix(String),
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Endpoint::Tcp { host, port } => write!(f, "{host}:{port}"),
            Endpoint::Unix(path) => f.write_str(path),
        }
    }
}

/// Failure of the network. The texts hold no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DialError {
    /// Not granted, or a forbidden address; nothing was sent.
    #[error("{0}")]
    Denied(String),
    #[error("timed out")]
    Timeout,
    #[error("connection refused")]
    Refused,
    #[error("connection closed")]
    Closed,
    #[error("the answer is too large")]
    TooLarge,
    #[error("{0}")]
    Other(String),
}

impl DialError {
    /// Fault for the kind of an I/O error; `None` when only its text tells.
    pub(crate) fn from_kind(kind: io::ErrorKind) -> Option<Self> {
        use io::ErrorKind as K;
        match kind {
            K::ConnectionRefused => Some(DialError::Refused),
            K::TimedOut => Some(DialError::Timeout),
            K::UnexpectedEof
            | K::BrokenPipe
            | K::ConnectionReset
            | K::ConnectionAborted
            | K::NotConnected => Some(DialError::Closed),
            _ => None,
        }
    }
}

impl From<io::Error> for DialError {
    fn from(error: io::Error) -> Self {
        Self::from_kind(error.kind()).unwrap_or_else(|| DialError::Other(error.to_string()))
    }
}

/// Dialer of granted endpoints. Clones share one HTTP client and its connections.
#[derive(Clone)]
pub struct Dialer {
    pub(crate) client: reqwest::Client,
    /// Client for hosts that a plugin names itself.
    pub(crate) outward: reqwest::Client,
    /// Clients for certificates of a configuration; `true` for hosts that must be external.
    trusting: Arc<Mutex<HashMap<(Arc<Trust>, bool), reqwest::Client>>>,
    pub(crate) outside: Arc<Outside>,
    pub(crate) relays: Arc<Relays>,
    /// Extra trusted certificates of mail servers.
    pub(crate) mail_roots: Arc<Vec<Vec<u8>>>,
    pub(crate) mandate: Mandate,
    pub(crate) resolver: Arc<dyn Resolver>,
    /// TLS settings of clients that know only vetted addresses.
    pub(crate) tls: rustls::ClientConfig,
}

impl Dialer {
    pub(crate) fn new(
        resolver: Arc<dyn Resolver>,
        outside: Arc<Outside>,
        relays: Relays,
    ) -> Result<Self, NetError> {
        let names = OutwardNames {
            resolver: resolver.clone(),
            outside: outside.clone(),
        };
        let tls = tls_by(Arc::new(Judge(Authorities)));
        Ok(Self {
            client: client(OperatorNames(resolver.clone()), tls.clone())?,
            outward: client(names, tls.clone())?,
            tls,
            trusting: Arc::default(),
            outside,
            relays: Arc::new(relays),
            mail_roots: Arc::default(),
            mandate: Mandate::for_ever(),
            resolver,
        })
    }

    /// Opens a stream to `endpoint`. `idle` limits silence; `progress` counts the bytes of both directions.
    pub async fn connect(
        &self,
        endpoint: &Endpoint,
        grants: &Grants,
        idle: Duration,
        progress: Progress,
    ) -> Result<Stream, DialError> {
        may_act(&self.mandate)?;
        if !grants.allows(endpoint) {
            return Err(DialError::Denied(format!("{endpoint} is not granted")));
        }
        let idle = idle.min(MAX_IDLE);
        let dial = async {
            match endpoint {
                Endpoint::Unix(path) => Ok(Io::Unix(UnixStream::connect(path).await?)),
                Endpoint::Tcp { host, port } => self.connect_tcp(host, *port).await.map(Io::Tcp),
            }
        };
        let io = tokio::time::timeout(idle.min(CONNECT), dial)
            .await
            .map_err(|_| DialError::Timeout)??;
        let mandate = self.mandate.clone();
        Ok(Stream {
            io,
            idle,
            progress,
            mandate,
        })
    }

    /// The client that trusts only `trust`; `outward` for a host that must be external.
    pub(crate) fn trusting(&self, trust: &Arc<Trust>, outward: bool) -> Result<reqwest::Client, DialError> {
        let key = (trust.clone(), outward);
        let mut kept = self.trusting.lock().ignore_poison();
        if let Some(client) = kept.get(&key) {
            return Ok(client.clone());
        }
        let (tls, resolver) = (tls_by(trust.verifier()), self.resolver.clone());
        let made = if outward {
            let outside = self.outside.clone();
            client(OutwardNames { resolver, outside }, tls)
        } else {
            client(OperatorNames(resolver), tls)
        };
        let made = made.map_err(|error| DialError::Other(error.to_string()))?;
        if kept.len() >= MAX_TRUSTING {
            // Clients in use are created again by their next request.
            kept.clear();
        }
        kept.insert(key, made.clone());
        Ok(made)
    }

    /// Allowed addresses of a host configured by an operator, resolved once.
    pub(crate) async fn operators_addresses(&self, bare: &str) -> Result<Vec<IpAddr>, DialError> {
        let ips = match bare.parse::<IpAddr>() {
            Ok(ip) => vec![ip],
            Err(_) => self
                .resolver
                .resolve(bare)
                .await
                .map_err(|_| no_such_name(bare))?,
        };
        dialable(bare, ips).map_err(|error| DialError::Denied(error.to_string()))
    }

    async fn connect_tcp(&self, host: &str, port: u16) -> Result<TcpStream, DialError> {
        let bare = bare(host);
        let mut last = no_such_name(bare);
        for ip in self.operators_addresses(bare).await? {
            match TcpStream::connect(SocketAddr::new(ip, port)).await {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(stream);
                }
                Err(error) => last = error.into(),
            }
        }
        Err(last)
    }
}

/// TLS settings with `judge` as the verifier.
fn tls_by(judge: Arc<dyn rustls::client::danger::ServerCertVerifier>) -> rustls::ClientConfig {
    // Not dangerous: the machine's authorities are used as by default, but read concurrently with the start;
    // or the certificates that an operator configured.
    let mut tls = rustls::ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(judge)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    tls
}

fn client(
    names: impl reqwest::dns::Resolve + 'static,
    tls: rustls::ClientConfig,
) -> Result<reqwest::Client, NetError> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .dns_resolver(Arc::new(names))
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .connect_timeout(CONNECT)
        .pool_max_idle_per_host(4)
        .pool_idle_timeout(Duration::from_secs(30))
        .tcp_nodelay(true)
        .build()
        .map_err(NetError::Client)
}

/// Checked before anything is sent: another server may be active by now.
pub(crate) fn may_act(mandate: &Mandate) -> Result<(), DialError> {
    if mandate.holds() {
        return Ok(());
    }
    let text = "another server may be active by now, so this one sends nothing";
    Err(DialError::Denied(text.to_owned()))
}

/// A host without the brackets of an IPv6 address.
pub(crate) fn bare(host: &str) -> &str {
    let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.unwrap_or(host)
}

pub(crate) fn no_such_name(host: &str) -> DialError {
    DialError::Other(format!("cannot resolve {host}"))
}

enum Io {
    Tcp(TcpStream),
    Unix(UnixStream),
}

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

impl Io {
    fn get(&mut self) -> &mut dyn Duplex {
        match self {
            Io::Tcp(stream) => stream,
            Io::Unix(stream) => stream,
        }
    }
}

/// An open stream. Every call fails once the peer has been silent for the time given at the connect.
pub struct Stream {
    io: Io,
    idle: Duration,
    progress: Progress,
    mandate: Mandate,
}

impl Stream {
    /// Reads at most `max` bytes; empty at the end of the stream.
    pub async fn read(&mut self, max: usize) -> Result<Vec<u8>, DialError> {
        let max = max.clamp(1, MAX_READ);
        // Not zeroed first: that would be a noticeable part of a poll without news.
        let mut buffer = Vec::with_capacity(max);
        let mut piece = (&mut buffer).limit(max);
        let read = tokio::time::timeout(self.idle, self.io.get().read_buf(&mut piece)).await;
        let n = read.map_err(|_| DialError::Timeout)??;
        self.progress.add(n);
        Ok(buffer)
    }

    /// Reads to the end of the stream; `TooLarge` beyond `limit`.
    pub async fn read_to_end(&mut self, limit: usize) -> Result<Vec<u8>, DialError> {
        self.read_to_end_in(limit, |_| true).await
    }

    /// As [`Stream::read_to_end`]; `room` is called for every piece, and ends the reading by returning false
    /// (`TooLarge`).
    pub async fn read_to_end_in(
        &mut self,
        limit: usize,
        mut room: impl FnMut(usize) -> bool + Send,
    ) -> Result<Vec<u8>, DialError> {
        let mut all = Vec::new();
        loop {
            all.reserve(CHUNK);
            let read = tokio::time::timeout(self.idle, self.io.get().read_buf(&mut all)).await;
            let n = read.map_err(|_| DialError::Timeout)??;
            if n == 0 {
                return Ok(all);
            }
            self.progress.add(n);
            if all.len() > limit || !room(n) {
                return Err(DialError::TooLarge);
            }
        }
    }

    /// Writes all of `bytes`.
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<(), DialError> {
        while !bytes.is_empty() {
            may_act(&self.mandate)?;
            let written = tokio::time::timeout(self.idle, self.io.get().write(bytes)).await;
            let n = written.map_err(|_| DialError::Timeout)??;
            if n == 0 {
                return Err(DialError::Closed);
            }
            self.progress.add(n);
            bytes = &bytes[n..];
        }
        Ok(())
    }

    /// Closes the sending direction.
    pub async fn shutdown_write(&mut self) -> Result<(), DialError> {
        let done = tokio::time::timeout(self.idle, self.io.get().shutdown()).await;
        Ok(done.map_err(|_| DialError::Timeout)??)
    }
}
