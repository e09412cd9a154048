//! Reports on the aggregator: its link, its status, its errors, and results of imports.

use qm_kernel::{ErrorKind, Secret, Timestamp};

use super::indexer::Indexer;
use super::listing::Unfit;
use super::proxy::Link;

/// Reason why the aggregator could not be used. No text holds the key, a path or a query.
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
    /// True when the answer came from a server that may be no indexer proxy.
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

/// The link for display.
pub struct ShownLink {
    pub link: Link,
    pub has_key: bool,
}

/// Unsaved values to check; `None` takes the stored value.
#[derive(Default)]
pub struct Trial {
    pub internal_url: Option<String>,
    pub api_key: Option<Secret>,
    /// Pinned certificate; blank: the trust store of this machine.
    pub certificate: Option<String>,
}

/// Change of the link; `None` leaves a field as it is.
#[derive(Default)]
pub struct LinkPatch {
    pub is_enabled: Option<bool>,
    /// Blank: the default.
    pub internal_url: Option<String>,
    /// Blank: the default.
    pub public_url: Option<String>,
    /// Blank: what this machine trusts.
    pub certificate: Option<String>,
    /// Inner `None` removes the key.
    pub api_key: Option<Option<Secret>>,
}

/// Result of a status check.
pub struct Probe {
    /// `disabled`, `unconfigured`, `ok` or `error`.
    pub status: &'static str,
    pub message: Option<String>,
    pub version: Option<String>,
    pub indexer_count: Option<u64>,
    pub at: Option<Timestamp>,
}

/// Result of an import.
#[derive(Default)]
pub struct Takeover {
    pub version: Option<String>,
    pub added: Vec<Row>,
    /// Updated rows with the names of the changed fields.
    pub changed: Vec<(Row, Vec<&'static str>)>,
    /// Rows whose indexer the aggregator no longer has.
    pub disabled: Vec<Row>,
    /// Number of rows without a change.
    pub unchanged: usize,
    /// Rows left alone: row (if there is one), name, and reason.
    pub left: Vec<(Option<Row>, String, String)>,
    pub failed: Vec<Unfit>,
}

/// Id and name of one of our rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub id: String,
    pub name: String,
}

impl Row {
    pub fn from_indexer(indexer: &Indexer) -> Self {
        Self {
            id: indexer.id.clone(),
            name: indexer.name.clone(),
        }
    }
}
