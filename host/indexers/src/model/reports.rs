//! What the area tells of the aggregator: its link, how it does, why it did not answer, what an import did.

use qm_kernel::{ErrorKind, Secret, Timestamp};

use super::indexer::Indexer;
use super::listing::Unfit;
use super::proxy::Link;

/// Why the aggregator did not answer. No text holds the key, a path or a query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AggregatorError {
    #[error("Could not reach {place}: {why}")]
    Unreachable { place: String, why: String },
    #[error("Could not reach {0}: it is never dialled")]
    Denied(String),
    #[error("{0} did not answer in time")]
    Timeout(String),
    #[error("{0} rejected the API key")]
    Rejected(String),
    #[error("{place} returned HTTP {status}")]
    Status { place: String, status: u16 },
    #[error("{place} sends elsewhere (HTTP {status}): enter the URL where it is itself")]
    Redirected { place: String, status: u16 },
    #[error("{place} answered more than {most} KiB")]
    TooLarge { place: String, most: usize },
    #[error("{place} answered something else than an indexer proxy does: {why}")]
    Unreadable { place: String, why: String },
    #[error(
        "{0} is Jackett, which lists its indexers in another way: add each by POST /api/indexers, with the address that \
         Jackett copies as its Torznab feed (…/api/v2.0/indexers/NAME/results/torznab) and the same API key"
    )]
    Jackett(String),
}

impl AggregatorError {
    /// Whether something answered that need not be an indexer proxy.
    pub const fn is_of_something_else(&self) -> bool {
        matches!(
            self,
            Self::Unreadable { .. } | Self::Redirected { .. } | Self::Status { status: 404, .. }
        )
    }

    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Denied(_) | Self::Rejected(_) | Self::Jackett(_) => ErrorKind::BadRequest,
            Self::Timeout(_) => ErrorKind::UpstreamTimeout,
            Self::Unreachable { .. }
            | Self::Status { .. }
            | Self::Redirected { .. }
            | Self::TooLarge { .. }
            | Self::Unreadable { .. } => ErrorKind::Upstream,
        }
    }

    pub const fn code(&self) -> &'static str {
        match self {
            Self::Denied(_) => "bad_request.indexer_proxy_address",
            Self::Rejected(_) => "bad_request.indexer_proxy_key_rejected",
            Self::Timeout(_) => "upstream_timeout.indexer_proxy",
            Self::Jackett(_) => "bad_request.indexer_proxy_is_jackett",
            _ => "upstream.indexer_proxy",
        }
    }
}

/// The link as it may be shown.
pub struct ShownLink {
    pub link: Link,
    pub has_key: bool,
}

/// Values to try that nobody has stored yet; what is none is as it is stored.
#[derive(Default)]
pub struct Trial {
    pub internal_url: Option<String>,
    pub api_key: Option<Secret>,
    /// Blank: what this machine trusts.
    pub certificate: Option<String>,
}

/// What is to change of the link; what is none stays.
#[derive(Default)]
pub struct LinkPatch {
    pub is_enabled: Option<bool>,
    /// Blank: the default.
    pub internal_url: Option<String>,
    /// Blank: the default.
    pub public_url: Option<String>,
    /// Blank: what this machine trusts.
    pub certificate: Option<String>,
    /// The inner `None` takes it away.
    pub api_key: Option<Option<Secret>>,
}

/// How the link does.
pub struct Probe {
    /// `disabled`, `unconfigured`, `ok` or `error`.
    pub status: &'static str,
    pub message: Option<String>,
    pub version: Option<String>,
    pub indexer_count: Option<u64>,
    pub at: Option<Timestamp>,
}

/// What became of the aggregator's indexers.
#[derive(Default)]
pub struct Takeover {
    pub version: Option<String>,
    pub added: Vec<Row>,
    /// With the names of the fields that changed.
    pub changed: Vec<(Row, Vec<&'static str>)>,
    /// The aggregator no longer has them.
    pub disabled: Vec<Row>,
    /// Rows of ours that are as they should be.
    pub unchanged: usize,
    /// Left alone, and why; without an id where there is no row of ours.
    pub left: Vec<(Option<Row>, String, String)>,
    pub failed: Vec<Unfit>,
}

/// A row of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub id: String,
    pub name: String,
}

impl Row {
    pub fn of(indexer: &Indexer) -> Self {
        Self {
            id: indexer.id.clone(),
            name: indexer.name.clone(),
        }
    }
}
