//! The settings there are, by owner. An area that has settings of its own adds them here, so that one document and one
//! route show them all.

use qm_kernel::timezone;
use serde_json::{Map, Value, json};

use super::spec::{SecretSetting, Setting, SettingSpec};
use super::value::UpdateCheck;

/// A setting with members of its own, read by its owner member by member.
type Object = Map<String, Value>;

fn object(value: Value) -> Object {
    match value {
        Value::Object(members) => members,
        _ => Object::new(),
    }
}

pub const PRODUCT_NAME: Setting<String> = Setting::plain(
    "general.productName",
    "platform",
    "The name clients show; the one the server was started with until it is changed.",
    || "Quartermaster".to_owned(),
)
.accepts(|name| !name.trim().is_empty())
.seeded();

pub const THEME: Setting<String> = Setting::plain(
    "general.theme",
    "platform",
    "The look clients start with.",
    || "dark".to_owned(),
)
.seeded();

pub const PUBLIC_URL: Setting<Option<String>> = Setting::plain(
    "app.publicUrl",
    "notifications",
    "Where people reach the service; links in notifications start with it.",
    || None,
)
.accepts(|url| {
    url.as_ref()
        .is_none_or(|url| url.starts_with("http://") || url.starts_with("https://"))
});

pub const TIMEZONE: Setting<Option<String>> = Setting::plain(
    "app.timezone",
    "platform",
    "The IANA time zone of newsletters and schedules; the server's own until it is set.",
    || None,
)
.accepts(|zone: &Option<String>| zone.as_deref().is_none_or(timezone::is_zone))
.rule("must be the IANA name of a time zone, e.g. Europe/Berlin, or null");

pub const UPDATE_CHECK: Setting<UpdateCheck> = Setting::plain(
    "system.updateCheck",
    "platform",
    "Whether the server looks for newer versions of itself.",
    || UpdateCheck { enabled: true },
);

pub const REFRESH_TOKEN_TTL_DAYS: Setting<i64> = Setting::plain(
    "security.refreshTokenTtlDays",
    "identity",
    "For information: JWT_REFRESH_TTL_DAYS decides.",
    || 30,
)
.accepts(|days| *days >= 1)
.seeded();

pub const ACCESS_TOKEN_TTL_MINUTES: Setting<i64> = Setting::plain(
    "security.accessTokenTtlMinutes",
    "identity",
    "For information: JWT_ACCESS_TTL decides.",
    || 15,
)
.accepts(|minutes| *minutes >= 1)
.seeded();

pub const POLL_INTERVAL_MS: Setting<i64> = Setting::plain(
    "engine.pollIntervalMs",
    "torrents",
    "For information: an engine is read every 2 seconds.",
    || 2000,
)
.accepts(|ms| *ms > 0)
.seeded();

pub const MAX_TORRENTS: Setting<i64> = Setting::plain(
    "engine.maxTorrents",
    "torrents",
    "Torrents taken of one engine; of a client that lists more the rest is left out. 1 to 200,000.",
    || 200_000,
)
.accepts(|torrents| (1..=200_000).contains(torrents));

pub const MAX_SNAPSHOT_BYTES: Setting<i64> = Setting::plain(
    "engine.maxSnapshotBytes",
    "torrents",
    "Bytes that the texts of one engine's torrents and their JSON may take in memory; what would take more is left out. \
     1,048,576 (1 MiB) to 8,589,934,592 (8 GiB).",
    || 256 << 20,
)
.accepts(|bytes| (1 << 20..=8 << 30).contains(bytes));

pub const TORRENTS_PARKING: Setting<Object> = Setting::plain(
    "torrents.parking",
    "torrents",
    "When torrents without seeders are parked, and how often they are tried again.",
    || {
        object(json!({
            "enabled": false, "minSeeders": 1, "deadAfterMinutes": 30, "stalledAfterMinutes": 180,
            "probeBatchSize": 20, "probeIntervalMinutes": 60, "maxProbeIntervalMinutes": 1440,
        }))
    },
)
.by_route("PATCH /api/torrents/parking/settings");

pub const DEFAULT_ROOT_PATH: Setting<String> = Setting::plain(
    "fileManager.defaultRootPath",
    "files",
    "The only folder files may be managed in; empty: the roots of FILE_MANAGER_ROOTS.",
    String::new,
)
.by_route("PUT /api/files/root")
.seeded();

pub const TRASH_RETENTION_DAYS: Setting<f64> = Setting::plain(
    "files.trashRetentionDays",
    "files",
    "Days that deleted files stay in the trash, fractions allowed; 0: for ever.",
    || 30.0,
)
.accepts(|days| *days >= 0.0);

pub const WORKER_PLACES: Setting<i64> = Setting::plain(
    "jobs.workerPlaces",
    "jobs",
    "Jobs that one server runs at once; a change holds for what is begun from then on. 1 to 64.",
    || 4,
)
.accepts(|places| (1..=64).contains(places));

pub const ACQUISITION: Setting<Object> = Setting::plain(
    "media_acquisition.settings",
    "acquisition",
    "How missing episodes are searched for.",
    || {
        object(json!({
            "autoSearchMissing": false, "searchIntervalMinutes": 60, "maxSearchesPerSweep": 50,
            "missingSearchProfileId": null, "autoEvaluateRss": false, "defaultProfileId": null,
            "approvalExpiryHours": 72, "notifyOnApprovalRequired": true,
        }))
    },
)
.by_route("PATCH /api/media-acquisition/settings");

pub const MEDIA_CLEANUP: Setting<Object> = Setting::plain(
    "media.cleanup",
    "media",
    "What a rename removes beside the media files.",
    || {
        object(json!({
            "enabled": false, "deleteGlobs": [], "subtitleKeepLanguages": [], "pruneEmptyDirs": false,
            "removeLeftoverTorrent": false,
        }))
    },
)
.by_route("PATCH /api/media/settings/cleanup");

pub const MEDIA_SEEDING_TORRENT: Setting<Object> = Setting::plain(
    "media.seedingTorrent",
    "media",
    "What becomes of a torrent whose files a rename has moved.",
    || object(json!({ "action": "remove" })),
)
.by_route("PATCH /api/media/settings/seeding-torrent");

pub const METADATA_PROVIDER_ORDER: Setting<Vec<String>> = Setting::plain(
    "media.metadataProviderOrder",
    "media",
    "Metadata providers in the order they are asked; empty: an order by kind of library.",
    Vec::new,
);

pub const UNIVERSAL_SCRAPER: Setting<bool> = Setting::plain(
    "media.universalScraper.enabled",
    "media",
    "Whether fields of several metadata providers are merged.",
    || false,
);

pub const UNIVERSAL_SCRAPER_FIELDS: Setting<Object> = Setting::plain(
    "media.universalScraper.fields",
    "media",
    "The provider preferred for a field, by field.",
    Object::new,
);

pub const TITLEDB: Setting<Object> = Setting::plain(
    "media.titledb",
    "media",
    "The titledb data set and API: where they are and what is imported.",
    Object::new,
)
.by_route("PATCH /api/media/providers/titledb/settings")
.secret_members(&["apiKey"]);

pub const INDEXER_PROXY: Setting<Object> = Setting::plain(
    "indexer_proxy.settings",
    "indexers",
    "The link to the indexer aggregator.",
    Object::new,
)
.by_route("PATCH /api/integrations/indexer_proxy")
.secret_members(&["apiKey"]);

pub const MAIL: Setting<Object> = Setting::plain(
    "media_server_analytics.email",
    "notifications",
    "The mail server that newsletters and notifications go through.",
    Object::new,
)
.by_route("PATCH /api/media-server-analytics/settings/email")
.secret_members(&["password"]);

pub const PROVIDER_A_API_KEY: SecretSetting = SecretSetting::plain(
    "media.providerAApiKey",
    "media",
    "The API key of metadata provider A.",
);

pub const PROVIDER_B_API_KEY: SecretSetting = SecretSetting::plain(
    "media.providerBApiKey",
    "media",
    "The API key of metadata provider B.",
);

pub const PROVIDER_B_PIN: SecretSetting = SecretSetting::plain(
    "media.providerBPin",
    "media",
    "The subscriber PIN of metadata provider B.",
);

pub const OMDB_API_KEY: SecretSetting = SecretSetting::plain(
    "media.omdbApiKey",
    "media",
    "The API key of the rating look-up that steps in when no data set rates a title.",
);

pub const NEWSLETTER_IMAGES: SecretSetting = SecretSetting::plain(
    "media_server_analytics.newsletter_images",
    "analytics",
    "The account that pictures of newsletters are uploaded to.",
)
.by_route("PATCH /api/media-server-analytics/settings/newsletter-images");

/// The settings that are secrets as a whole.
pub const SECRETS: &[SecretSetting] = &[
    PROVIDER_A_API_KEY,
    PROVIDER_B_API_KEY,
    PROVIDER_B_PIN,
    OMDB_API_KEY,
    NEWSLETTER_IMAGES,
];

/// The rule of the setting `key` that `value` breaks, where writers hold it to one.
pub fn broken_rule(key: &str, value: &Value) -> Option<&'static str> {
    if key == TIMEZONE.key {
        TIMEZONE.broken_by(value)
    } else {
        None
    }
}

/// Every setting, by key.
pub fn all() -> Vec<SettingSpec> {
    let mut specs = vec![
        PRODUCT_NAME.spec(),
        THEME.spec(),
        PUBLIC_URL.spec(),
        TIMEZONE.spec(),
        UPDATE_CHECK.spec(),
        REFRESH_TOKEN_TTL_DAYS.spec(),
        ACCESS_TOKEN_TTL_MINUTES.spec(),
        POLL_INTERVAL_MS.spec(),
        MAX_TORRENTS.spec(),
        MAX_SNAPSHOT_BYTES.spec(),
        TORRENTS_PARKING.spec(),
        DEFAULT_ROOT_PATH.spec(),
        TRASH_RETENTION_DAYS.spec(),
        WORKER_PLACES.spec(),
        ACQUISITION.spec(),
        MEDIA_CLEANUP.spec(),
        MEDIA_SEEDING_TORRENT.spec(),
        METADATA_PROVIDER_ORDER.spec(),
        UNIVERSAL_SCRAPER.spec(),
        UNIVERSAL_SCRAPER_FIELDS.spec(),
        TITLEDB.spec(),
        INDEXER_PROXY.spec(),
        MAIL.spec(),
    ];
    specs.extend(SECRETS.iter().map(SecretSetting::spec));
    specs.sort_by_key(|spec| spec.key);
    specs
}
