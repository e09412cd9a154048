//! Settings of renames.

use qm_platform::settings;
use serde_json::{Map, Value};

use crate::model::{Cleanup, Seeding};

/// A setting with members.
pub type Object = Map<String, Value>;

settings! {
    of "rename";

    /// Removal of other files when a rename moves media files.
    pub MEDIA_CLEANUP: Object = "media.cleanup",
        || Cleanup::default().to_object(), by_route("PATCH /api/media/settings/cleanup");

    /// Action on a torrent whose files a rename has moved.
    pub MEDIA_SEEDING_TORRENT: Object = "media.seedingTorrent",
        || Seeding::default().to_object(), by_route("PATCH /api/media/settings/seeding-torrent");
}
