//! Settings of areas that this version does not have yet. Clients may store them all the same, and a secret must not wait
//! in clear text for its area: it is encrypted and masked from the first day, and what a route of its own will change is
//! kept for that route. An area takes its settings along into its own crate; until then no document lists them.

use qm_platform::settings;
use serde_json::{Map, Value, json};

/// A setting with members of its own, read by its owner member by member.
type Object = Map<String, Value>;

fn object(value: Value) -> Object {
    match value {
        Value::Object(members) => members,
        _ => Object::new(),
    }
}

settings! {
    of "acquisition";

    /// Search for missing episodes: its interval, limits and profiles.
    ACQUISITION: Object = "media_acquisition.settings",
        || object(json!({
            "autoSearchMissing": false, "searchIntervalMinutes": 60, "maxSearchesPerSweep": 50,
            "missingSearchProfileId": null, "autoEvaluateRss": false, "defaultProfileId": null,
            "approvalExpiryHours": 72, "notifyOnApprovalRequired": true,
        })),
        by_route("PATCH /api/media-acquisition/settings"), to_come();
}

settings! {
    of "analytics";

    /// The account that pictures of newsletters are uploaded to.
    secret NEWSLETTER_IMAGES = "media_server_analytics.newsletter_images",
        by_route("PATCH /api/media-server-analytics/settings/newsletter-images"), to_come();
}
