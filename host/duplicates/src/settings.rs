//! Settings of duplicates.

use qm_platform::settings;
use serde_json::{Map, Value};

use crate::model::Schedule;

/// A setting with members.
pub type Object = Map<String, Value>;

settings! {
    of "duplicates";

    /// Schedule of detections of duplicates: on or off, and its interval in hours.
    pub MEDIA_DUPLICATE_SCAN_SCHEDULE: Object = "media.duplicate_scan_schedule",
        || Schedule::default().to_object(), by_route("PATCH /api/media/duplicates/schedule");
}
