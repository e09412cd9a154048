//! Outgoing network: no other crate opens connections to other hosts.
//!
//! Two ways out, by who chose the address:
//! * [`Net::fetch_guarded`] and [`Dialer::send_guarded`] for URLs a user or a feed can choose: public addresses only, and none of this machine or of
//!   the networks it is connected to (or what the administrator lists in `SSRF_ALLOW_HOSTS`), resolved once, every answer vetted, exactly those dialled, no redirects.
//! * [`Dialer`] for endpoints an operator configured ([`Grants`]): the name is matched first, private addresses are
//!   fine, link-local and cloud metadata never.
//!
//! [`Net::fetch_feed`] is the first for feeds, which may redirect: each hop is judged as the first was.
//! A third leads to the mail server that an operator configured ([`Dialer::mail`]), by the rules of the second.
//!
//! All are closed while the server has no [`Mandate`]: nothing is sent on what it believed.
//!
//! Bounds: 5 s to connect; a guarded fetch has a total time and a body cap; a dialled stream is bounded in silence and
//! in what one reply may hold. No proxies, no cookies; no redirects and no
//! decompression but those of feeds, bounded there.

mod address;
mod allow;
mod authorities;
mod dial;
mod feed;
mod grants;
mod guard;
mod http;
mod judge;
mod lanes;
mod nearby;
mod relay;
mod resolve;
mod silence;
mod smtp;
mod trust;

use std::net::IpAddr;
use std::sync::{Arc, RwLock};

pub use crate::http::{HttpRequest, HttpResponse};
pub use dial::{DialError, Dialer, Endpoint, Stream};
pub use feed::{FeedAnswer, FeedBody, FeedFault, FeedLimits, MAX_REDIRECTS};
pub use grants::{Grants, is_host};
pub use guard::{GuardError, GuardKind, GuardedError, Linked};
pub use nearby::Nearby;
pub use resolve::{Resolver, SystemResolver};
pub use silence::{Progress, Silent, unless_silent};
pub use smtp::{Mail, MailFault, MailServer, is_mail_address};
pub use trust::{CERTIFICATE, CERTIFICATE_RULE, MAX_TEXT as MAX_CERTIFICATE, Trust, is_certificate};

use allow::AllowList;
use nearby::Surroundings;
use qm_kernel::Mandate;
use qm_lanes::IgnorePoison;
use relay::Relays;

/// Configuration of the network.
#[derive(Clone, Debug, Default)]
pub struct NetConfig {
    /// `SSRF_ALLOW_HOSTS`: host names, addresses and CIDR blocks that guarded fetches may reach although internal.
    pub ssrf_allow_hosts: Vec<String>,
    /// `PLUGIN_RELAYS`: replacement URLs for plugins' own hosts, as `https://host=http://elsewhere:port`.
    pub plugin_relays: Vec<String>,
}

/// Reason why the network cannot start.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    #[error("SSRF_ALLOW_HOSTS: `{0}` is neither a host name, an address nor a CIDR block")]
    AllowEntry(String),
    #[error(
        "PLUGIN_RELAYS: `{0}` is no pair of origins: write `https://host=http://elsewhere:port`, without paths"
    )]
    Relay(String),
    #[error("cannot read the machine's CA certificates (is the package ca-certificates installed?)")]
    Certificates(#[source] rustls::Error),
    #[error("cannot set up the HTTP client")]
    Client(#[source] reqwest::Error),
}

/// Test for external hosts: no internal address, none of this machine or its networks, except entries of
/// `SSRF_ALLOW_HOSTS`.
pub(crate) struct Outside {
    allow: AllowList,
    surroundings: RwLock<Arc<Surroundings>>,
}

impl Outside {
    /// True when `host`, which resolved to `ips`, may be dialled for an ordinary user.
    pub(crate) async fn permits(&self, host: &str, ips: &[IpAddr]) -> bool {
        let surroundings = self.surroundings.read().ignore_poison().clone();
        let nearby = surroundings.look().await;
        self.allow.permits(host, ips, &nearby)
    }
}

/// The network. Clones share one client.
#[derive(Clone)]
pub struct Net {
    outside: Arc<Outside>,
    dialer: Dialer,
    mandate: Mandate,
}

impl Net {
    /// Uses the system's name resolution.
    pub fn new(config: NetConfig) -> Result<Self, NetError> {
        Self::with_resolver(config, Arc::new(SystemResolver))
    }

    /// Uses `resolver` for every name.
    pub fn with_resolver(config: NetConfig, resolver: Arc<dyn Resolver>) -> Result<Self, NetError> {
        // A second call finds the same provider installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let allow = AllowList::parse(&config.ssrf_allow_hosts)?;
        let outside = Arc::new(Outside {
            allow,
            surroundings: RwLock::new(Arc::new(Surroundings::of_this_machine())),
        });
        let relays = Relays::parse(&config.plugin_relays)?;
        authorities::begin();
        let dialer = Dialer::new(resolver, outside.clone(), relays)?;
        Ok(Self {
            outside,
            dialer,
            mandate: Mandate::for_ever(),
        })
    }

    /// Waits for the certificate authorities of this machine, whose reading [`Net::new`] has started. Without
    /// them a server does not start.
    pub async fn has_authorities(&self) -> Result<(), NetError> {
        authorities::read().await.map_err(NetError::Certificates)
    }

    /// Sends nothing while `mandate` is not valid. Call it before [`Net::dialer`].
    #[must_use]
    pub fn under(mut self, mandate: Mandate) -> Self {
        self.dialer.mandate = mandate.clone();
        self.mandate = mandate;
        self
    }

    /// Trusts these certificates (PEM) for mail servers, in addition to the machine's.
    #[must_use]
    pub fn trusting_mail(mut self, roots: Vec<Vec<u8>>) -> Self {
        self.dialer.mail_roots = Arc::new(roots);
        self
    }

    /// Uses `nearby` instead of the machine's real addresses.
    #[must_use]
    pub fn surrounded_by(self, nearby: Nearby) -> Self {
        let told = Arc::new(Surroundings::Told(Arc::new(nearby)));
        *self.outside.surroundings.write().ignore_poison() = told;
        self
    }

    /// Dialer for endpoints configured by an operator.
    pub fn dialer(&self) -> &Dialer {
        &self.dialer
    }
}
