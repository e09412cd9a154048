//! Errors of this area and the answer that the caller gets for each.

use qm_db::DbError;
use qm_kernel::ErrorKind;
use qm_platform::ActingError;
use qm_ports::mail::MailError;
use qm_web::ApiError;

#[derive(Debug, thiserror::Error)]
pub enum MailAreaError {
    /// Error of the mail server or of the connection.
    #[error("{}", sentence(.0))]
    Mail(MailError),
    /// The token still allows it, but the user has lost the permission.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Database(#[from] DbError),
}

/// The error with a capital letter, as a sentence for users.
fn sentence(error: &MailError) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => text,
    }
}

impl MailAreaError {
    pub const fn kind(&self) -> ErrorKind {
        match self {
            MailAreaError::Mail(error) => match error {
                MailError::NotConfigured
                | MailError::Invalid(_)
                | MailError::Refused(_)
                | MailError::Auth(_) => ErrorKind::BadRequest,
                MailError::Unreachable(_) => ErrorKind::Upstream,
                MailError::Timeout => ErrorKind::UpstreamTimeout,
                MailError::Later(_) | MailError::Busy => ErrorKind::Unavailable,
            },
            MailAreaError::Acting(error) => error.kind(),
            MailAreaError::Database(error) => error.kind(),
        }
    }

    /// Stable machine-readable word in `code` of the answer; never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            MailAreaError::Mail(error) => match error {
                MailError::NotConfigured => "bad_request.email_not_configured",
                MailError::Invalid(_) => "bad_request.letter",
                MailError::Refused(_) => "bad_request.mail_refused",
                MailError::Auth(_) => "bad_request.mail_login",
                MailError::Unreachable(_) => "upstream.mail",
                MailError::Timeout => "upstream_timeout.mail",
                MailError::Later(_) => "unavailable.mail",
                MailError::Busy => "unavailable.mail_busy",
            },
            MailAreaError::Acting(error) => error.code(),
            MailAreaError::Database(error) => error.kind().code(),
        }
    }
}

impl From<MailAreaError> for ApiError {
    fn from(error: MailAreaError) -> Self {
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
