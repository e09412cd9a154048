//! Errors of this area, and their meaning for the caller.

use qm_confined::FsError;
use qm_db::DbError;
use qm_kernel::ErrorKind;
use qm_lanes::LaneError;
use qm_platform::ActingError;
use qm_ports::folders::FoldersUnread;
use qm_ports::trash::TrashError;
use qm_web::{ApiError, lane_code, lane_kind};

use crate::model::MOST_FILES;

#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// Id of the show.
    #[error("Show not found: {0}")]
    NoSuchShow(String),
    #[error("Merge plan not found")]
    NoSuchPlan,
    #[error("duplicateShowIds names no show: name the shows whose folders are to be merged")]
    NoDuplicates,
    #[error("The show that stays is among the duplicates: leave it out of duplicateShowIds")]
    IntoItself,
    #[error("The shows are in different libraries: only folders of one library are merged")]
    OtherLibrary,
    /// Status of the plan.
    #[error("This plan is already {0}.")]
    AlreadyRun(&'static str),
    /// Blockers of the plan.
    #[error("The plan cannot be carried out: {0}")]
    Blocked(String),
    #[error("The folders changed since this plan was made: preview it again")]
    StalePlan,
    #[error("The folders hold more than {MOST_FILES} files: merge fewer of them at once")]
    TooManyFiles,
    #[error("{0}")]
    Library(#[from] FoldersUnread),
    #[error(transparent)]
    Trash(#[from] TrashError),
    #[error(transparent)]
    Fs(#[from] FsError),
    #[error(transparent)]
    Lane(#[from] LaneError),
    /// The caller's token allows it, but they no longer may.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Database(#[from] DbError),
    /// Work that a request waited for came to no end.
    #[error("the merge was cut off: see its state before you repeat it")]
    CutOff,
}

impl MergeError {
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoSuchShow(_) | Self::NoSuchPlan => ErrorKind::NotFound,
            Self::NoDuplicates
            | Self::IntoItself
            | Self::OtherLibrary
            | Self::Blocked(_)
            | Self::TooManyFiles => ErrorKind::BadRequest,
            Self::AlreadyRun(_) | Self::StalePlan => ErrorKind::Conflict,
            Self::Library(_) => ErrorKind::Unavailable,
            Self::Trash(TrashError::Failed { kind, .. }) => *kind,
            Self::Trash(TrashError::Missing | TrashError::Changed | TrashError::Taken) => ErrorKind::Conflict,
            Self::Fs(error) => error.kind(),
            Self::Lane(error) => lane_kind(error),
            Self::Acting(error) => error.kind(),
            Self::Database(error) => error.kind(),
            Self::CutOff => ErrorKind::Internal,
        }
    }

    /// Value of `code` in the answer; never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoSuchShow(_) => "not_found.show",
            Self::NoSuchPlan => "not_found.merge_plan",
            Self::NoDuplicates => "bad_request.no_duplicates",
            Self::IntoItself => "bad_request.into_itself",
            Self::OtherLibrary => "bad_request.other_library",
            Self::AlreadyRun(_) => "conflict.plan_run",
            Self::Blocked(_) => "bad_request.plan_blocked",
            Self::StalePlan => "conflict.stale_plan",
            Self::TooManyFiles => "bad_request.too_many_files",
            Self::Library(_) => "unavailable.library",
            Self::Trash(TrashError::Failed { kind, .. }) => kind.code(),
            Self::Trash(TrashError::Missing | TrashError::Changed | TrashError::Taken) => {
                "conflict.file_changed"
            }
            Self::Fs(error) => error.code(),
            Self::Lane(error) => lane_code(error),
            Self::Acting(error) => error.code(),
            Self::Database(error) => error.kind().code(),
            Self::CutOff => ErrorKind::Internal.code(),
        }
    }

    /// Text for a row of the journal; an internal error shows no details.
    pub fn public(&self) -> String {
        match self.kind() {
            ErrorKind::Internal => "Internal server error".to_owned(),
            _ => self.to_string(),
        }
    }
}

impl From<MergeError> for ApiError {
    fn from(error: MergeError) -> Self {
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
