//! Answers to callers whose work a lane refused, or whose work failed. And the lane of this crate.
//!
//! Bounds: two documents created at once, eight waiting.

use qm_kernel::ErrorKind;
use qm_lanes::{Bounds, Lane, LaneError};

/// Creating the API document, which takes a second.
pub(crate) static DOCUMENTS: Lane = Lane::new("web.documents", Bounds::new(2, 8));

/// The kind of a [`LaneError`], for the error enum of an area.
pub const fn lane_kind(error: &LaneError) -> ErrorKind {
    match error {
        LaneError::Full(_) | LaneError::Stopped => ErrorKind::Unavailable,
        LaneError::Panicked(_) => ErrorKind::Internal,
    }
}

/// The code of a [`LaneError`]; never changes.
pub const fn lane_code(error: &LaneError) -> &'static str {
    match error {
        LaneError::Full(_) => "unavailable.busy",
        LaneError::Stopped => "unavailable.stopping",
        LaneError::Panicked(_) => ErrorKind::Internal.code(),
    }
}
