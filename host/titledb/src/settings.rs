//! The settings of this area.

use qm_platform::settings;
use serde_json::{Map, Value};

/// Members are read one by one ([`crate::model::options`]).
pub type Object = Map<String, Value>;

settings! {
    of "titledb";

    /// The titledb data set and API: where they are and what is imported. Unless members say otherwise that is films of 1970 and later with
    /// their names in all countries, and no series (`importTvShows`), older films (`minImportYear`) or short ones (`importStrategy`).
    pub TITLEDB: Object = "media.titledb",
        Object::new, by_route("PATCH /api/media/providers/titledb/settings"), secret_members(&["apiKey"]);
}
