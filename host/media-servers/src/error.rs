//! Errors of this area and the answer that the caller gets for each.

use qm_db::DbError;
use qm_kernel::ErrorKind;
use qm_platform::ActingError;
use qm_platform::config_schema::BadSchema;
use qm_ports::Settling;
use qm_web::ApiError;

use crate::model::MAX_INTEGRATIONS;

#[derive(Debug, thiserror::Error)]
pub enum MediaServersError {
    #[error("Integration not found")]
    NoSuchIntegration,
    #[error("name and kind are required.")]
    Nameless,
    /// The requested kind, and a list of the known ones.
    #[error("Unsupported kind \"{asked}\": there is {known}")]
    NoSuchKind { asked: String, known: String },
    #[error("There are {MAX_INTEGRATIONS} media servers already: delete one first.")]
    TooMany,
    #[error("Integration is disabled.")]
    Disabled,
    /// Reason why the server did not scan.
    #[error("Refresh failed: {0}")]
    Refresh(String),
    /// Plugins are still being compiled, so the kind may appear soon.
    #[error(transparent)]
    Settling(#[from] Settling),
    /// Every violated rule of a configuration.
    #[error("{}", .0.join("; "))]
    Config(Vec<String>),
    #[error("The plugin of {0} cannot be used: {1}")]
    BadSchema(String, BadSchema),
    /// The token still allows it, but the user has lost the permission.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl MediaServersError {
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::NoSuchIntegration => ErrorKind::NotFound,
            Self::Nameless
            | Self::NoSuchKind { .. }
            | Self::Disabled
            | Self::Refresh(_)
            | Self::Config(_) => ErrorKind::BadRequest,
            Self::Settling(_) => Settling::KIND,
            Self::TooMany => ErrorKind::Conflict,
            Self::BadSchema(..) => ErrorKind::Upstream,
            Self::Acting(error) => error.kind(),
            Self::Database(error) => error.kind(),
        }
    }

    /// Stable machine-readable word in `code` of the answer; never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoSuchIntegration => "not_found.media_server_integration",
            Self::Nameless => "bad_request.name_and_kind",
            Self::NoSuchKind { .. } => "bad_request.unknown_kind",
            Self::TooMany => "conflict.too_many_media_servers",
            Self::Disabled => "bad_request.integration_disabled",
            Self::Refresh(_) => "bad_request.refresh_failed",
            Self::Settling(_) => Settling::CODE,
            Self::Config(_) => "bad_request.rules",
            Self::BadSchema(..) => "upstream.plugin",
            Self::Acting(error) => error.code(),
            Self::Database(error) => error.kind().code(),
        }
    }
}

impl From<MediaServersError> for ApiError {
    fn from(error: MediaServersError) -> Self {
        if let MediaServersError::Config(messages) = error {
            return ApiError::validation(messages);
        }
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
