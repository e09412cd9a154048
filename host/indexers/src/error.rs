//! Errors of this area and the answer that the caller gets for each.

use qm_db::DbError;
use qm_kernel::ErrorKind;
use qm_net::GuardError;
use qm_platform::ActingError;
use qm_platform::config_schema::BadSchema;
use qm_ports::Settling;
use qm_ports::indexer::IndexerError;
use qm_web::ApiError;

use crate::model::indexer::MAX_INDEXERS;
use crate::model::reports::AggregatorError;

#[derive(Debug, thiserror::Error)]
pub enum IndexerAreaError {
    #[error("Indexer not found")]
    NoSuchIndexer,
    #[error("Indexer is disabled")]
    Disabled,
    #[error("There are {MAX_INDEXERS} indexers already: delete one first.")]
    TooMany,
    /// The requested protocol, and a list of the known ones.
    #[error("No installed plugin speaks the protocol \"{asked}\": there is {known}")]
    NoSuchImplementation { asked: String, known: String },
    /// Plugins are still being compiled, so the protocol may appear soon.
    #[error(transparent)]
    Settling(#[from] Settling),
    /// Every violated rule of a configuration.
    #[error("{}", .0.join("; "))]
    Config(Vec<String>),
    #[error("The plugin of {0} cannot be used: {1}")]
    BadSchema(String, BadSchema),
    /// The indexer could not be asked, or did not answer.
    #[error("{message}")]
    Failed { message: String, source: IndexerError },
    /// A link outside every indexer's origin was refused, or led to no torrent.
    #[error("{message}")]
    Link { message: String, source: GuardError },
    /// Limit of addresses per hour, and the minutes until another one is accepted.
    #[error(
        "You have named {most} different addresses of private networks within an hour: try again in {minutes} minutes, or \
         ask an administrator to enter this one"
    )]
    TooManyAddresses { most: usize, minutes: u64 },
    /// Name of the URL field, and its fault.
    #[error("Invalid indexer proxy URL: {0} {1}")]
    LinkUrl(&'static str, &'static str),
    #[error("An indexer proxy API key is required to {0}")]
    NoLinkKey(&'static str),
    /// The key was dropped after a change of the address, or would be sent to an origin it was not entered
    /// for.
    #[error("The indexer proxy is not asked: {0}")]
    LinkKeyWanted(String),
    #[error("The link to the indexer proxy is disabled: enable it first")]
    LinkDisabled,
    #[error("The link to the indexer proxy was changed while its indexers were read: import them again")]
    LinkChanged,
    #[error("Its indexers are being imported already: try again in a minute")]
    Importing,
    /// The aggregator did not answer, or its answer was invalid.
    #[error(transparent)]
    Aggregator(#[from] AggregatorError),
    /// The token still allows it, but the user has lost the permission.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl IndexerAreaError {
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::NoSuchIndexer => ErrorKind::NotFound,
            Self::Disabled | Self::NoSuchImplementation { .. } | Self::Config(_) => ErrorKind::BadRequest,
            Self::LinkUrl(..) | Self::NoLinkKey(_) | Self::LinkKeyWanted(_) | Self::LinkDisabled => {
                ErrorKind::BadRequest
            }
            Self::Settling(_) => Settling::KIND,
            Self::TooManyAddresses { .. } => ErrorKind::TooManyRequests,
            Self::TooMany | Self::LinkChanged | Self::Importing => ErrorKind::Conflict,
            Self::Aggregator(error) => error.kind(),
            Self::BadSchema(..) => ErrorKind::Upstream,
            Self::Failed { source, .. } => upstream(source),
            Self::Link { source, .. } => source.kind(),
            Self::Acting(error) => error.kind(),
            Self::Database(error) => error.kind(),
        }
    }

    /// Stable machine-readable word in `code` of the answer; never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoSuchIndexer => "not_found.indexer",
            Self::Disabled => "bad_request.indexer_disabled",
            Self::TooMany => "conflict.too_many_indexers",
            Self::NoSuchImplementation { .. } => "bad_request.unknown_implementation",
            Self::Settling(_) => Settling::CODE,
            Self::Config(_) => "bad_request.rules",
            Self::BadSchema(..) => "upstream.plugin",
            Self::Failed { source, .. } => match upstream(source) {
                ErrorKind::UpstreamTimeout => "upstream_timeout.indexer",
                ErrorKind::Unavailable => "unavailable.indexer",
                ErrorKind::BadRequest => "bad_request.indexer",
                _ => "upstream.indexer",
            },
            Self::Link { source, .. } => source.code(),
            Self::TooManyAddresses { .. } => "throttled.addresses",
            Self::LinkUrl(..) => "bad_request.indexer_proxy_url",
            Self::NoLinkKey(_) => "bad_request.indexer_proxy_key",
            Self::LinkKeyWanted(_) => "bad_request.indexer_proxy_key_wanted",
            Self::LinkDisabled => "bad_request.indexer_proxy_disabled",
            Self::LinkChanged => "conflict.indexer_proxy_changed",
            Self::Importing => "conflict.indexers_imported_already",
            Self::Aggregator(error) => error.code(),
            Self::Acting(error) => error.code(),
            Self::Database(error) => error.kind().code(),
        }
    }
}

/// Error kind of a failed request: a fault of the upstream side, or of the configuration.
pub const fn upstream(error: &IndexerError) -> ErrorKind {
    match error {
        IndexerError::Timeout(_) => ErrorKind::UpstreamTimeout,
        IndexerError::Throttled { .. } | IndexerError::Busy => ErrorKind::Unavailable,
        IndexerError::Auth(_)
        | IndexerError::InvalidConfig(_)
        | IndexerError::Unsupported(_)
        | IndexerError::Denied(_)
        | IndexerError::Missing(_) => ErrorKind::BadRequest,
        IndexerError::Unreachable(_)
        | IndexerError::LoginPage(_)
        | IndexerError::Captcha(_)
        | IndexerError::Unparsable(_)
        | IndexerError::Api { .. }
        | IndexerError::Status { .. }
        | IndexerError::TooLarge(_)
        | IndexerError::Redirected(_)
        | IndexerError::Plugin(_) => ErrorKind::Upstream,
    }
}

/// Stable word for a failure in the result of a search; never changes.
pub const fn word(error: &IndexerError) -> &'static str {
    match error {
        IndexerError::Unreachable(_) => "unreachable",
        IndexerError::Timeout(_) => "timeout",
        IndexerError::Auth(_) => "auth",
        IndexerError::Throttled { .. } => "throttled",
        IndexerError::LoginPage(_) => "login_page",
        IndexerError::Captcha(_) => "captcha",
        IndexerError::Unparsable(_) => "unparsable",
        IndexerError::Api { .. } => "api_error",
        IndexerError::Status { .. } => "status",
        IndexerError::TooLarge(_) => "too_large",
        IndexerError::Redirected(_) => "redirected",
        IndexerError::InvalidConfig(_) => "invalid_config",
        IndexerError::Unsupported(_) => "unsupported",
        IndexerError::Denied(_) => "denied",
        IndexerError::Busy => "busy",
        IndexerError::Missing(_) => "missing",
        IndexerError::Plugin(_) => "plugin",
    }
}

impl From<IndexerAreaError> for ApiError {
    fn from(error: IndexerAreaError) -> Self {
        if let IndexerAreaError::Config(messages) = error {
            return ApiError::validation(messages);
        }
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
