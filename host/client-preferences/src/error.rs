//! Errors of this area, and their meaning for the caller.

use qm_kernel::ErrorKind;
use qm_platform::ActingError;
use qm_platform::config_schema::BadSchema;
use qm_ports::preferences::PreferencesError as Told;
use qm_web::ApiError;

use crate::model::offer::Refused;

#[derive(Debug, thiserror::Error)]
pub enum PreferencesError {
    /// A sentence for each change that does not fit.
    #[error("{}", .0.join(", "))]
    Rules(Vec<String>),
    #[error("{engine}: {source}")]
    Schema { engine: String, source: BadSchema },
    /// The engine, or its plugin, said no.
    #[error(transparent)]
    Engine(#[from] Told),
    /// The caller's token allows it, but they no longer may.
    #[error(transparent)]
    Acting(#[from] ActingError),
}

impl PreferencesError {
    pub fn of_refusal(refused: Refused, engine: &str) -> Self {
        match refused {
            Refused::Rules(rules) => Self::Rules(rules),
            Refused::Schema(source) => Self::Schema {
                engine: engine.to_owned(),
                source,
            },
        }
    }

    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Rules(_) => ErrorKind::BadRequest,
            Self::Schema { .. } => ErrorKind::Upstream,
            Self::Engine(error) => error.kind,
            Self::Acting(error) => error.kind(),
        }
    }

    /// Value of `code` in the answer; never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Rules(_) => "bad_request.rules",
            Self::Schema { .. } => "upstream.plugin",
            Self::Engine(error) => error.code,
            Self::Acting(error) => error.code(),
        }
    }
}

impl From<PreferencesError> for ApiError {
    fn from(error: PreferencesError) -> Self {
        if let PreferencesError::Rules(messages) = error {
            return ApiError::validation(messages);
        }
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
