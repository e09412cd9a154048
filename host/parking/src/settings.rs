//! Settings of parking.

use qm_platform::settings;
use serde_json::{Map, Value};

use crate::model::rules::Rules;

/// A setting with members.
pub type Object = Map<String, Value>;

settings! {
    of "parking";

    /// Parking of torrents without seeders: its conditions, and intervals of further attempts.
    pub TORRENTS_PARKING: Object = "torrents.parking",
        || Rules::default().to_object(), by_route("PATCH /api/torrents/parking/settings");
}
