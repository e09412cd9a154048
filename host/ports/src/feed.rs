//! Feeds as the rest of the host fetches them: one trait, [`FeedSource`], whatever stands between the service and a site.
//!
//! The address is a user's choice, so the URL guard judges it, each address it resolves to and each redirect.

use async_trait::async_trait;
use bytes::Bytes;

/// The marks by which a site knows a version of its feed. They are given back, so that the site need not send the same
/// version again. Opaque.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    /// Value of `ETag`.
    pub etag: Option<String>,
    /// Value of `Last-Modified`.
    pub last_modified: Option<String>,
}

/// A site's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// The feed is as it was when the validators were given out.
    NotModified,
    /// A document, decompressed. It may be anything, see `qm_feeds::read`.
    Body {
        bytes: Bytes,
        content_type: Option<String>,
        /// For the next time, as is `last_modified`.
        etag: Option<String>,
        last_modified: Option<String>,
    },
}

/// Why there is no document. Each text names the host, holds nothing else of the address, and continues a sentence such as
/// "Could not fetch feed: …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The address makes no sense, or leads (at once or by a redirect) where it must not; there nothing was sent. Asking again
    /// helps only when the address, the name service or `SSRF_ALLOW_HOSTS` has changed.
    #[error("{0}")]
    Refused(String),
    /// The name has no address, the host does not answer, or the connection broke.
    #[error("{0}")]
    Unreachable(String),
    /// Silent for too long, or too slow altogether.
    #[error("{0}")]
    Timeout(String),
    /// The site asks to be left alone: 429, or 503 with a `Retry-After`.
    #[error("{message}")]
    Throttled {
        /// Pause that the site asked for, a day at most.
        seconds: Option<u32>,
        message: String,
    },
    /// Another status that is no success.
    #[error("{message}")]
    Status { status: u16, message: String },
    #[error("{0}")]
    TooLarge(String),
    /// A damaged or unknown compression, too many redirects, a redirect to a magnet link.
    #[error("{0}")]
    Unusable(String),
}

impl FetchError {
    /// Seconds for which the site asked to be left alone.
    pub const fn retry_after(&self) -> Option<u32> {
        match self {
            FetchError::Throttled { seconds, .. } => *seconds,
            _ => None,
        }
    }
}

/// Fetches feeds. Calls never panic and never block a thread; every one ends, after a minute at most.
#[async_trait]
pub trait FeedSource: Send + Sync {
    /// GETs `url`; with `validators` that the site still holds for current, it answers [`Fetched::NotModified`].
    async fn fetch(&self, url: &str, validators: &Validators) -> Result<Fetched, FetchError>;
}
