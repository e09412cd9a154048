//! What can go wrong in this area, and what each means to the caller.

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
    /// What was asked for, and what there is.
    #[error("Unsupported kind \"{asked}\": there is {known}")]
    NoSuchKind { asked: String, known: String },
    #[error("There are {MAX_INTEGRATIONS} media servers already: delete one first.")]
    TooMany,
    #[error("Integration is disabled.")]
    Disabled,
    /// Why the server did not look for files.
    #[error("Refresh failed: {0}")]
    Refresh(String),
    /// The plugin of a kind may yet come up.
    #[error(transparent)]
    Settling(#[from] Settling),
    /// Every broken rule of a configuration.
    #[error("{}", .0.join("; "))]
    Config(Vec<String>),
    #[error("The plugin of {0} cannot be used: {1}")]
    BadSchema(String, BadSchema),
    /// The caller's token allows it, but they no longer may.
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

    /// What stands in `code` of the answer; never changes.
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
