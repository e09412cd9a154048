//! Errors of this area and the answer that the caller gets for each.

use qm_db::DbError;
use qm_kernel::ErrorKind;
use qm_lanes::LaneError;
use qm_platform::ActingError;
use qm_ports::Settling;
use qm_web::{ApiError, lane_code, lane_kind};

use crate::model::rule::MAX_PATTERNS;

#[derive(Debug, thiserror::Error)]
pub enum AutomationError {
    #[error("Automation rule not found")]
    NoSuchRule,
    #[error("Torrent not found")]
    NoSuchTorrent,
    #[error("There are {0} rules, and more are not kept: delete one first")]
    TooManyRules(u64),
    #[error(
        "The rules would have {0} conditions with the operator matches, and {MAX_PATTERNS} are the most: join some, or delete a rule"
    )]
    TooManyPatterns(usize),
    /// Names the parameter, and the allowed placeholders.
    #[error("{0}")]
    Placeholder(String),
    #[error(
        "schedule is missing: a rule with the trigger `schedule` needs minute, hour, day, month and day of the week, e.g. `30 4 * * 1-5`"
    )]
    NoSchedule,
    #[error(
        "stalledHours is missing: a rule with the trigger `torrent.stalled` needs the number of hours without data, e.g. 12"
    )]
    NoStalledHours,
    /// Names the parameter, and the allowed values.
    #[error("{0}")]
    Parameter(String),
    /// Plugins are still being compiled, so the action may appear soon.
    #[error(transparent)]
    Settling(#[from] Settling),
    /// The rule would do more than its caller may. Lists the missing permissions by action.
    #[error("Missing permission(s) {0}. A rule does only what its author may")]
    Powers(String),
    /// The token still allows it, but the user has lost the permission.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Lane(#[from] LaneError),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl AutomationError {
    pub const fn kind(&self) -> ErrorKind {
        match self {
            AutomationError::NoSuchRule | AutomationError::NoSuchTorrent => ErrorKind::NotFound,
            AutomationError::TooManyRules(_) | AutomationError::TooManyPatterns(_) => ErrorKind::Conflict,
            AutomationError::Placeholder(_)
            | AutomationError::NoSchedule
            | AutomationError::NoStalledHours
            | AutomationError::Parameter(_) => ErrorKind::BadRequest,
            AutomationError::Settling(_) => Settling::KIND,
            AutomationError::Powers(_) => ErrorKind::Forbidden,
            AutomationError::Acting(error) => error.kind(),
            AutomationError::Lane(error) => lane_kind(error),
            AutomationError::Database(error) => error.kind(),
        }
    }

    /// Stable machine-readable word in `code` of the answer; never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            AutomationError::NoSuchRule => "not_found.automation_rule",
            AutomationError::NoSuchTorrent => "not_found.torrent",
            AutomationError::TooManyRules(_) => "conflict.too_many_rules",
            AutomationError::TooManyPatterns(_) => "conflict.too_many_patterns",
            AutomationError::Placeholder(_) => "bad_request.placeholder",
            AutomationError::NoSchedule => "bad_request.schedule",
            AutomationError::NoStalledHours => "bad_request.stalled_hours",
            AutomationError::Parameter(_) => "bad_request.parameter",
            AutomationError::Settling(_) => Settling::CODE,
            AutomationError::Powers(_) => "forbidden.action",
            AutomationError::Acting(error) => error.code(),
            AutomationError::Lane(error) => lane_code(error),
            AutomationError::Database(error) => error.kind().code(),
        }
    }
}

impl From<AutomationError> for ApiError {
    fn from(error: AutomationError) -> Self {
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
