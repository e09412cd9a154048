//! Errors of this area, and their meaning for the caller.

use qm_db::DbError;
use qm_jobs::JobsError;
use qm_kernel::ErrorKind;
use qm_lanes::LaneError;
use qm_platform::ActingError;
use qm_ports::inventory::StockUnread;
use qm_ports::trash::TrashError;
use qm_web::{ApiError, lane_code, lane_kind};

#[derive(Debug, thiserror::Error)]
pub enum DuplicatesError {
    #[error("Duplicate group not found")]
    NoSuchGroup,
    #[error("Resolution not found")]
    NoSuchPlan,
    #[error("The group is resolved already: reopen it to plan again")]
    Resolved,
    #[error("The group has fewer than two members now: run a detection")]
    TooFew,
    #[error("The group needs review: choose the item to keep with keepItemId")]
    NeedsReview,
    /// Name of the field, and the item.
    #[error("{0}: the item {1} is not a member of the group")]
    NotAMember(&'static str, String),
    /// Status of the plan.
    #[error("This plan is already {0}.")]
    AlreadyRun(&'static str),
    /// Blockers of the plan.
    #[error("The plan cannot be carried out: {0}")]
    Blocked(String),
    #[error("The group changed since this plan was made: preview it again")]
    StalePlan,
    #[error("Files that were to stay changed since this plan was made: preview it again")]
    StaleKeeper,
    #[error("No copy that was to stay exists on the disk: nothing was deleted; run a scan of the library")]
    KeeperMissing,
    #[error("Files go into the trash only: leave permanent out, and empty the trash to remove them for good")]
    Permanent,
    #[error("{0}")]
    Stock(#[from] StockUnread),
    #[error(transparent)]
    Trash(#[from] TrashError),
    #[error(transparent)]
    Lane(#[from] LaneError),
    #[error(transparent)]
    Jobs(#[from] JobsError),
    /// The caller's token allows it, but they no longer may.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Database(#[from] DbError),
    /// Work that a request waited for came to no end.
    #[error("the plan was cut off: see its state before you repeat it")]
    CutOff,
}

impl DuplicatesError {
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoSuchGroup | Self::NoSuchPlan => ErrorKind::NotFound,
            Self::Resolved
            | Self::AlreadyRun(_)
            | Self::StalePlan
            | Self::StaleKeeper
            | Self::KeeperMissing => ErrorKind::Conflict,
            Self::TooFew | Self::NeedsReview | Self::NotAMember(..) | Self::Blocked(_) | Self::Permanent => {
                ErrorKind::BadRequest
            }
            Self::Stock(_) => ErrorKind::Unavailable,
            Self::Trash(TrashError::Failed { kind, .. }) => *kind,
            Self::Trash(TrashError::Missing | TrashError::Changed | TrashError::Taken) => ErrorKind::Conflict,
            Self::Lane(error) => lane_kind(error),
            Self::Jobs(error) => error.kind(),
            Self::Acting(error) => error.kind(),
            Self::Database(error) => error.kind(),
            Self::CutOff => ErrorKind::Internal,
        }
    }

    /// Value of `code` in the answer; never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoSuchGroup => "not_found.duplicate_group",
            Self::NoSuchPlan => "not_found.duplicate_plan",
            Self::Resolved => "conflict.duplicate_group_resolved",
            Self::TooFew => "bad_request.too_few_members",
            Self::NeedsReview => "bad_request.needs_review",
            Self::NotAMember(..) => "bad_request.not_a_member",
            Self::AlreadyRun(_) => "conflict.plan_run",
            Self::Blocked(_) => "bad_request.plan_blocked",
            Self::StalePlan => "conflict.stale_plan",
            Self::StaleKeeper => "conflict.keeper_changed",
            Self::KeeperMissing => "conflict.keeper_missing",
            Self::Permanent => "bad_request.permanent",
            Self::Stock(_) => "unavailable.library",
            Self::Trash(TrashError::Failed { kind, .. }) => kind.code(),
            Self::Trash(TrashError::Missing | TrashError::Changed | TrashError::Taken) => {
                "conflict.file_changed"
            }
            Self::Lane(error) => lane_code(error),
            Self::Jobs(error) => error.code(),
            Self::Acting(error) => error.code(),
            Self::Database(error) => error.kind().code(),
            Self::CutOff => ErrorKind::Internal.code(),
        }
    }

    /// Text for an answer, or for a plan's row; an internal error shows no details.
    pub fn public(&self) -> String {
        match self.kind() {
            ErrorKind::Internal => "Internal server error".to_owned(),
            _ => self.to_string(),
        }
    }
}

impl From<DuplicatesError> for ApiError {
    fn from(error: DuplicatesError) -> Self {
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
