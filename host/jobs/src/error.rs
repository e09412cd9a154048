//! Errors of this area and the answer that the caller gets for each.

use qm_db::DbError;
use qm_kernel::ErrorKind;
use qm_web::ApiError;

use crate::model::status::Status;

#[derive(Debug, thiserror::Error)]
pub enum JobsError {
    #[error("Job not found")]
    NotFound,
    #[error("Missing permission: {0}")]
    MissingPermission(&'static str),
    /// The job's own permission.
    #[error("This job requires {0}")]
    Requires(String),
    #[error("not_cancellable")]
    NotCancellable,
    #[error("not_rerunnable")]
    NotRerunnable,
    #[error("no job type `{0}` is registered")]
    UnknownType(String),
    #[error("the {what} of a job of type `{type_key}` has {bytes} bytes; {most} is the most")]
    TooLarge {
        what: &'static str,
        type_key: String,
        bytes: usize,
        most: usize,
    },
    #[error("the {what} of a job of type `{type_key}` is nested too deeply to be read again")]
    TooDeep { what: &'static str, type_key: String },
    /// The idempotency key belongs to a job that is ending, or that another request is creating; trying again
    /// helps.
    #[error(
        "Another job with the idempotency key of `{0}` is being made or is ending at this moment: try again"
    )]
    KeyInUse(String),
    #[error("a job may not go from `{from}` to `{to}`")]
    IllegalMove { from: Status, to: Status },
    /// Another worker has taken the job, or it has ended: this run must not write any more.
    #[error("job `{0}` is no longer this worker's")]
    LeaseLost(String),
    #[error("job `{id}` cannot be read: {reason}")]
    Damaged { id: String, reason: String },
    #[error(transparent)]
    Database(#[from] DbError),
}

impl JobsError {
    pub fn kind(&self) -> ErrorKind {
        match self {
            JobsError::NotFound => ErrorKind::NotFound,
            JobsError::MissingPermission(_) | JobsError::Requires(_) => ErrorKind::Forbidden,
            JobsError::NotCancellable | JobsError::NotRerunnable => ErrorKind::BadRequest,
            JobsError::UnknownType(_)
            | JobsError::TooLarge { .. }
            | JobsError::TooDeep { .. }
            | JobsError::IllegalMove { .. }
            | JobsError::LeaseLost(_)
            | JobsError::Damaged { .. } => ErrorKind::Internal,
            JobsError::KeyInUse(_) => ErrorKind::Conflict,
            JobsError::Database(error) => error.kind(),
        }
    }

    /// True for a passing fault of the database (busy or unreachable): it says nothing about the job, and a
    /// retry may help.
    pub fn is_passing(&self) -> bool {
        matches!(self, JobsError::Database(error) if error.kind() == ErrorKind::Unavailable)
    }

    /// Stable machine-readable word in `code` of the answer; never changes.
    pub fn code(&self) -> &'static str {
        match self {
            JobsError::NotFound => "not_found.job",
            JobsError::MissingPermission(_) => "forbidden.permission",
            JobsError::Requires(_) => "forbidden.job_permission",
            JobsError::NotCancellable => "bad_request.not_cancellable",
            JobsError::NotRerunnable => "bad_request.not_rerunnable",
            JobsError::UnknownType(_)
            | JobsError::TooLarge { .. }
            | JobsError::TooDeep { .. }
            | JobsError::IllegalMove { .. }
            | JobsError::LeaseLost(_)
            | JobsError::Damaged { .. } => ErrorKind::Internal.code(),
            JobsError::KeyInUse(_) => "conflict.idempotency_key",
            JobsError::Database(error) => error.kind().code(),
        }
    }
}

impl From<JobsError> for ApiError {
    fn from(error: JobsError) -> Self {
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
