//! The table of [`crate::web::attack`]: one row a route, with what cannot be read from the document.

/// One route.
pub struct Row {
    /// `METHOD /path/{parameter}`, as the document has it.
    pub route: &'static str,
    /// A body without a mistake, where the route takes one; `{root}` is the file root. What it names need not exist.
    pub body: Option<&'static str>,
    /// The answer to an id that nobody has, where it is not a plain 404 for an id in the path.
    pub unknown: Option<Unknown>,
    /// Why properties nobody declared are taken.
    pub loose: Option<&'static str>,
    /// Properties that are read leniently: a value of another type stands for the default.
    pub lenient: &'static [&'static str],
}

#[derive(Clone, Copy)]
pub struct Unknown {
    pub status: u16,
    /// Why it is no 404.
    pub reason: Option<&'static str>,
}

const fn row(route: &'static str) -> Row {
    Row {
        route,
        body: None,
        unknown: None,
        loose: None,
        lenient: &[],
    }
}

impl Row {
    const fn body(self, body: &'static str) -> Row {
        Row {
            body: Some(body),
            ..self
        }
    }

    /// An id that nobody has is answered otherwise.
    const fn unknown(self, status: u16, reason: &'static str) -> Row {
        let reason = Some(reason);
        Row {
            unknown: Some(Unknown { status, reason }),
            ..self
        }
    }

    /// The body names something; what is not there is a 404 too.
    const fn names_in_body(self) -> Row {
        let (status, reason) = (404, None);
        Row {
            unknown: Some(Unknown { status, reason }),
            ..self
        }
    }

    const fn loose(self, reason: &'static str) -> Row {
        Row {
            loose: Some(reason),
            ..self
        }
    }

    const fn lenient(self, lenient: &'static [&'static str]) -> Row {
        Row { lenient, ..self }
    }
}

/// A rule that stops nothing: nobody provides its action.
const AUTOMATION_RULE: &str = r#"{"name":"attacked","trigger":"ratio.reached","conditions":[{"field":"ratio","op":"gte","value":2}],
    "actions":[{"type":"nothing"}],"priority":1,"schedule":"0 4 * * *"}"#;

/// A rule of a feed that is not there.
const RSS_RULE: &str = r#"{"feedId":"00000000-0000-4000-8000-000000000000","name":"attacked"}"#;
const RSS_CANDIDATE: &str = r#"{"name":"attacked","matchType":"contains_text","pattern":"attacked"}"#;
const RENAME_LOOSE: &str = "clients send the whole form of a rename, or of its settings";
const LIBRARY_LOOSE: &str = "clients send libraries back as they got them";
const BULK_LOOSE: &str = "clients send the form of another order";
const MEDIA_ITEMS: &str = r#"{"itemIds":["00000000-0000-4000-8000-000000000000"]}"#;
/// A poster of one pixel.
const PICTURE: &str = r#"{"type":"poster","dataBase64":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNocFAAAAIkAOGrWWInAAAAAElFTkSuQmCC"}"#;
const ARTWORK_LOOSE: &str = "clients send more about a picture than is read";
const ITEM_LOOSE: &str = "clients send items back as they got them";
const RSS_LOOSE: &str = "clients send members of their own, and those of another type count as not said";

/// Why a channel that nobody provides is no 404.
const NO_CHANNEL: &str =
    "the channel is a word of the request, as in a body: what nobody provides cannot be asked for";

pub const TABLE: &[Row] = &[
    // Accounts
    row("POST /api/auth/login").body(r#"{"username":"nobody","password":"not the password"}"#),
    row("POST /api/auth/refresh").body(r#"{"refreshToken":"family.secret"}"#),
    row("POST /api/auth/logout").body(r#"{"refreshToken":"family.secret"}"#),
    row("GET /api/auth/me"),
    row("POST /api/auth/change-password")
        .body(r#"{"currentPassword":"not the password","newPassword":"long enough for one"}"#),
    row("GET /api/account/profile"),
    row("PATCH /api/account/profile").body(r#"{"displayName":"Somebody","timezone":"Europe/Lisbon"}"#),
    row("POST /api/account/password")
        .body(r#"{"currentPassword":"not the password","newPassword":"long enough for one"}"#),
    row("GET /api/account/2fa"),
    row("POST /api/account/2fa/setup"),
    row("POST /api/account/2fa/enable").body(r#"{"code":"000000"}"#),
    row("POST /api/account/2fa/disable").body(r#"{"password":"not the password"}"#),
    row("POST /api/account/2fa/recovery").body(r#"{"code":"000000"}"#),
    row("GET /api/users"),
    row("GET /api/users/roles"),
    row("POST /api/users").body(
        r#"{"username":"attacked","email":"attacked@example.org","password":"long enough","roleNames":["USER"]}"#,
    ),
    row("PATCH /api/users/{id}").body(r#"{"displayName":"Somebody"}"#),
    row("DELETE /api/users/{id}"),
    row("GET /api/api-keys"),
    row("POST /api/api-keys").body(r#"{"name":"a script","scopes":["torrents.view"]}"#),
    row("DELETE /api/api-keys/{id}")
        .unknown(200, "revoking tells nobody which keys exist: an unknown id is answered like any other"),
    // What every area shares
    row("GET /api/torrents/views"),
    row("POST /api/torrents/views").body(r#"{"name":"long seeded","sortBy":"ratio"}"#),
    row("PUT /api/torrents/views/{id}").body(r#"{"name":"long seeded","columns":["name"]}"#),
    row("DELETE /api/torrents/views/{id}"),
    row("GET /api/torrents/created"),
    row("POST /api/torrents/created").body(r#"{"path":"/nowhere","format":"hybrid","trackers":[["http://127.0.0.1:9/announce"]]}"#),
    row("GET /api/torrents/created/{id}"),
    row("GET /api/torrents/created/{id}/file"),
    row("DELETE /api/torrents/created/{id}"),
    row("GET /api/torrents/{hash}/share-limits"),
    row("PUT /api/torrents/{hash}/share-limits").body(r#"{"ratio":2}"#),
    row("DELETE /api/torrents/{hash}/share-limits"),
    row("GET /api/categories/{id}/share-limits"),
    row("PUT /api/categories/{id}/share-limits").body(r#"{"ratio":2}"#),
    row("DELETE /api/categories/{id}/share-limits"),
    row("GET /api/engines/{id}/share-limits"),
    row("PUT /api/engines/{id}/share-limits").body(r#"{"ratio":2}"#),
    row("DELETE /api/engines/{id}/share-limits"),
    row("GET /api/engines/{id}/speed"),
    row("PUT /api/engines/{id}/speed").body(r#"{"upload":100000}"#),
    row("DELETE /api/engines/{id}/speed"),
    row("POST /api/engines/{id}/speed/mode").body(r#"{"mode":"normal"}"#),
    row("GET /api/torrents/parking"),
    row("GET /api/torrents/parking/settings"),
    row("PATCH /api/torrents/parking/settings").body(r#"{"enabled":false,"minSeeders":1}"#),
    row("POST /api/torrents/parking/run"),
    row("POST /api/torrents/parking/{hash}/unpark").body(r#"{"engineId":"00000000-0000-4000-8000-000000000000"}"#),
    row("GET /api/torrents/stats"),
    row("GET /api/torrents/stats/top"),
    row("GET /api/engines/{id}/preferences"),
    row("PATCH /api/engines/{id}/preferences").body(r#"{"maxUploads":40}"#).loose("the plugin's schema judges them"),
    row("GET /api/audit"),
    row("GET /api/settings"),
    row("PUT /api/settings/{key}")
        .body(r#"{"value":"anything"}"#)
        .unknown(400, "a key that no setting has is a bad request that names the nearest"),
    row("PATCH /api/settings")
        .body(r#"{"general.theme":"anything"}"#)
        .loose("each setting is a property of the body; one that no setting has is refused by a sentence of its own"),
    row("GET /api/settings/environment"),
    row("GET /api/modules/enabled"),
    row("GET /api/modules"),
    row("GET /api/modules/license"),
    row("GET /api/modules/{id}"),
    row("GET /api/context-actions/catalog"),
    row("GET /api/plugins"),
    row("POST /api/plugins/{id}/reload"),
    row("GET /api/plugins/{id}/config"),
    row("PUT /api/plugins/{id}/config").body(r#"{"config":{}}"#),
    row("PUT /api/plugins/{id}/grants").body(r#"{"hosts":[]}"#),
    row("POST /api/plugins/{id}/accept").body(r#"{"file":"attacked.wasm"}"#),
    row("GET /api/system/live"),
    row("GET /api/system/ready"),
    row("GET /api/system/version"),
    row("GET /api/system/health"),
    row("GET /api/system/metrics"),
    row("GET /api/system/update"),
    row("POST /api/system/update/check"),
    row("PATCH /api/system/update/settings")
        .body(r#"{"enabled":false}"#)
        .lenient(&["enabled"]),
    // Torrents
    row("GET /api/engines"),
    row("POST /api/engines")
        .body(r#"{"name":"attacked","kind":"scgi_client","config":{"host":"two"},"isEnabled":false}"#),
    row("PATCH /api/engines/{id}").body(r#"{"name":"renamed"}"#),
    row("DELETE /api/engines/{id}"),
    row("GET /api/engines/health"),
    row("GET /api/engines/kinds"),
    row("POST /api/engines/{id}/paths/check").body(r#"{"pathMappings":[]}"#),
    row("POST /api/engines/test").body(r#"{"kind":"scgi_client","config":{"host":"one"}}"#),
    row("GET /api/torrents"),
    row("POST /api/torrents")
        .body(r#"{"magnet":"magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a"}"#),
    row("POST /api/torrents/upload").body(r#"{"category":"films"}"#),
    row("POST /api/torrents/bulk")
        .body(r#"{"hashes":["c12fe1c06bba254a9dc9f519b335aa7c1367a88a"],"action":"start"}"#),
    row("POST /api/torrents/imported-items")
        .body(r#"{"hashes":["c12fe1c06bba254a9dc9f519b335aa7c1367a88a"]}"#),
    row("GET /api/torrents/{hash}"),
    row("DELETE /api/torrents/{hash}"),
    row("DELETE /api/torrents/{hash}/data"),
    row("GET /api/torrents/{hash}/files"),
    row("POST /api/torrents/{hash}/files/priority").body(r#"{"fileIndex":0,"priority":1}"#),
    row("POST /api/torrents/{hash}/limits/download").body(r#"{"bytesPerSec":1000}"#),
    row("POST /api/torrents/{hash}/limits/upload").body(r#"{"bytesPerSec":1000}"#),
    row("GET /api/torrents/{hash}/matched-rule")
        .unknown(200, "no rule has matched a torrent that nobody knows, which is what the answer says"),
    row("POST /api/torrents/{hash}/move").body(r#"{"destination":"{root}/films"}"#),
    row("POST /api/torrents/{hash}/pause"),
    row("GET /api/torrents/{hash}/peers"),
    row("POST /api/torrents/{hash}/recheck"),
    row("POST /api/torrents/{hash}/rename").body(r#"{"name":"another"}"#),
    row("POST /api/torrents/{hash}/resume"),
    row("POST /api/torrents/{hash}/start"),
    row("POST /api/torrents/{hash}/stop"),
    row("GET /api/torrents/{hash}/trackers"),
    row("POST /api/torrents/{hash}/trackers").body(r#"{"url":"http://tracker.example/announce"}"#),
    row("DELETE /api/torrents/{hash}/trackers").body(r#"{"url":"http://tracker.example/announce"}"#),
    row("GET /api/torrents/bulk/{id}"),
    row("POST /api/torrents/trackers/replace-host").body(r#"{"host":"tracker.example","newHost":"other.example"}"#),
    row("GET /api/torrents/{hash}/export"),
    row("POST /api/torrents/{hash}/auto-manage").body(r#"{"enabled":true}"#),
    row("POST /api/torrents/{hash}/category").body(r#"{"category":"films"}"#),
    row("POST /api/torrents/{hash}/download-path").body(r#"{"path":"{root}/partial"}"#),
    row("POST /api/torrents/{hash}/files/rename").body(r#"{"fileIndex":0,"name":"another"}"#),
    row("POST /api/torrents/{hash}/first-last-piece").body(r#"{"enabled":true}"#),
    row("POST /api/torrents/{hash}/folders/rename").body(r#"{"path":"Show","newPath":"Other"}"#),
    row("POST /api/torrents/{hash}/force-start").body(r#"{"enabled":true}"#),
    row("POST /api/torrents/{hash}/location/check"),
    row("POST /api/torrents/{hash}/peers/ban").body(r#"{"peers":["192.0.2.1:6881"]}"#),
    row("POST /api/torrents/{hash}/priority").body(r#"{"priority":2}"#),
    row("POST /api/torrents/{hash}/queue").body(r#"{"position":"top"}"#),
    row("POST /api/torrents/{hash}/reannounce"),
    row("POST /api/torrents/{hash}/sequential").body(r#"{"enabled":true}"#),
    row("POST /api/torrents/{hash}/super-seeding").body(r#"{"enabled":true}"#),
    row("POST /api/torrents/{hash}/tags").body(r#"{"add":["seen"]}"#),
    row("POST /api/torrents/{hash}/trackers/replace")
        .body(r#"{"url":"http://tracker.example/announce","newUrl":"http://other.example/announce"}"#),
    row("GET /api/dashboard/summary"),
    row("GET /api/dashboard/activity"),
    row("GET /api/search"),
    row("GET /api/categories"),
    row("POST /api/categories").body(r##"{"name":"films","color":"#336699","savePath":"/films"}"##),
    row("PATCH /api/categories/{id}").body(r##"{"color":"#336699"}"##),
    row("DELETE /api/categories/{id}"),
    row("GET /api/tags"),
    row("POST /api/tags").body(r##"{"name":"seen","color":"#336699"}"##),
    row("DELETE /api/tags/{id}"),
    // Files
    row("GET /api/files"),
    row("GET /api/files/root"),
    row("PUT /api/files/root").body(r#"{"path":"/nowhere"}"#),
    row("GET /api/files/properties"),
    row("GET /api/files/preview"),
    row("POST /api/files/media-ticket")
        .body(r#"{"path":"not/there.mkv"}"#)
        .names_in_body(),
    row("GET /api/files/stream"),
    row("GET /api/files/download"),
    row("GET /api/files/inspect"),
    row("POST /api/files/folders").body(r#"{"path":"/","name":"new"}"#),
    row("POST /api/files/ensure-dir").body(r#"{"path":"/nowhere/at/all"}"#),
    row("POST /api/files/rename")
        .body(r#"{"path":"not-there","newName":"another"}"#)
        .names_in_body(),
    row("POST /api/files/move")
        .body(r#"{"source":"not-there","destination":"folder"}"#)
        .names_in_body(),
    row("POST /api/files/copy")
        .body(r#"{"source":"not-there","destination":"folder"}"#)
        .names_in_body(),
    row("POST /api/files/delete/preview").body(r#"{"path":"not-there"}"#),
    row("POST /api/files/bulk/delete-preview").body(r#"{"paths":["not-there"]}"#),
    row("POST /api/files/delete")
        .body(r#"{"path":"not-there"}"#)
        .names_in_body(),
    row("POST /api/files/bulk").body(r#"{"operation":"delete","paths":["not-there"]}"#),
    row("POST /api/files/move-conflicts")
        .body(r#"{"operation":"move","sources":["not-there"],"destination":"/"}"#),
    row("POST /api/files/resolve-conflicts").body(
        r#"{"operation":"move","destination":"/","items":[{"source":"not-there","resolution":"skip"}]}"#,
    ),
    row("POST /api/files/cleanup-preview").body(r#"{"path":"/"}"#),
    row("POST /api/files/cleanup-execute").body(r#"{"path":"/","paths":["not-there"]}"#),
    row("GET /api/files/operations"),
    row("DELETE /api/files/operations/{id}"),
    row("GET /api/files/trash"),
    row("POST /api/files/trash/restore")
        .body(r#"{"id":"00000000-0000-4000-8000-000000000000"}"#)
        .names_in_body(),
    row("POST /api/files/trash/purge")
        .body(r#"{"id":"00000000-0000-4000-8000-000000000000"}"#)
        .names_in_body(),
    row("POST /api/files/trash/empty"),
    // Jobs
    row("GET /api/jobs").lenient(&["limit", "active"]),
    row("GET /api/jobs/overview"),
    row("GET /api/jobs/catalog"),
    row("GET /api/jobs/list"),
    row("GET /api/jobs/schedules"),
    row("GET /api/jobs/workers"),
    row("GET /api/jobs/settings"),
    row("GET /api/jobs/{id}"),
    row("GET /api/jobs/{id}/events"),
    row("GET /api/jobs/{id}/children"),
    row("POST /api/jobs/bulk/cancel").body(r#"{"jobIds":["00000000-0000-4000-8000-000000000000"]}"#),
    row("POST /api/jobs/bulk/retry").body(r#"{"jobIds":["00000000-0000-4000-8000-000000000000"]}"#),
    row("POST /api/jobs/bulk/rerun").body(r#"{"jobIds":["00000000-0000-4000-8000-000000000000"]}"#),
    row("POST /api/jobs/{id}/cancel"),
    row("POST /api/jobs/{id}/pause"),
    row("POST /api/jobs/{id}/resume"),
    row("POST /api/jobs/{id}/retry"),
    row("POST /api/jobs/{id}/rerun"),
    // Mail
    row("GET /api/media-server-analytics/settings/email"),
    row("PATCH /api/media-server-analytics/settings/email").body(r#"{"port":587}"#),
    row("POST /api/media-server-analytics/settings/email/test").body(r#"{"recipient":"nobody@example.org"}"#),
    // Indexers
    row("GET /api/indexers"),
    row("GET /api/indexers/implementations"),
    row("POST /api/indexers").body(r#"{"name":"Orchard","baseUrl":"http://indexer.test"}"#),
    row("POST /api/indexers/search").body(r#"{"q":"x","indexerIds":[]}"#),
    row("GET /api/indexers/{id}"),
    row("PATCH /api/indexers/{id}").body(r#"{"enabled":false}"#),
    row("DELETE /api/indexers/{id}"),
    row("POST /api/indexers/{id}/test"),
    row("GET /api/indexers/{id}/search"),
    row("GET /api/integrations/indexer_proxy"),
    row("PATCH /api/integrations/indexer_proxy").body(r#"{"enabled":false}"#),
    row("POST /api/integrations/indexer_proxy/test").body(r#"{"internalUrl":"http://indexer-proxy.test"}"#),
    row("GET /api/integrations/indexer_proxy/status"),
    row("POST /api/integrations/indexer_proxy/open"),
    row("POST /api/integrations/indexer_proxy/import"),
    // Automation
    row("GET /api/automation/catalog"),
    row("GET /api/automation/rules"),
    row("POST /api/automation/rules").body(AUTOMATION_RULE),
    row("POST /api/automation/rules/preview").body(AUTOMATION_RULE),
    row("PATCH /api/automation/rules/{id}").body(r#"{"isEnabled":false}"#),
    row("DELETE /api/automation/rules/{id}"),
    row("GET /api/automation/rules/{id}/logs")
        .unknown(200, "the log of a rule that is gone is gone with it: an empty page"),
    row("GET /api/automation/rules/{id}/explain").unknown(400, "without a torrent nobody looks for the rule"),
    // RSS
    row("GET /api/rss/feeds"),
    row("POST /api/rss/feeds").body(r#"{"name":"attacked","url":"http://127.0.0.1:9/rss","isEnabled":false}"#),
    row("PATCH /api/rss/feeds/{id}").body(r#"{"name":"renamed"}"#),
    row("DELETE /api/rss/feeds/{id}"),
    row("POST /api/rss/feeds/{id}/refresh"),
    row("GET /api/rss/feeds/{id}/history"),
    row("GET /api/rss/feeds/{id}/rules-export"),
    row("GET /api/rss/rules"),
    row("POST /api/rss/rules").body(RSS_RULE).unknown(400, "the feed is named in the body"),
    row("POST /api/rss/rules/preview").body(RSS_RULE).unknown(400, "the feed is named in the body"),
    row("PATCH /api/rss/rules/{id}").body(r#"{"isEnabled":false}"#),
    row("DELETE /api/rss/rules/{id}"),
    row("POST /api/rss/rules/{id}/backfill").unknown(201, "a rule that is gone matches nothing: zeros"),
    row("GET /api/rss/rules/{id}/match-history"),
    row("GET /api/rss/rules/{id}/match-candidates"),
    row("POST /api/rss/rules/{id}/match-candidates")
        .body(RSS_CANDIDATE)
        .loose(RSS_LOOSE)
        .unknown(400, "clients know these words for a rule that is gone"),
    row("POST /api/rss/rules/{id}/match-candidates/reorder").body(r#"{"orderedIds":[]}"#).loose(RSS_LOOSE),
    row("PATCH /api/rss/rules/{id}/match-candidates/{candidate_id}").body(r#"{"enabled":false}"#).loose(RSS_LOOSE),
    row("DELETE /api/rss/rules/{id}/match-candidates/{candidate_id}"),
    row("POST /api/rss/rules/{id}/apply-smart-match")
        .body(r#"{"recommendedCandidates":[{"name":"a","matchType":"contains_text","pattern":"a"}]}"#)
        .loose(RSS_LOOSE),
    row("POST /api/rss/rules/{id}/test-match")
        .body(r#"{"titles":["A S01E01"],"candidate":{"matchType":"contains_text","pattern":"a"}}"#)
        .loose(RSS_LOOSE),
    row("POST /api/rss/rules/{id}/test-preference-list").body(r#"{"titles":["A S01E01"]}"#).loose(RSS_LOOSE),
    row("POST /api/rss/rules/{id}/test-history"),
    row("POST /api/rss/convert-to-regex").body(r#"{"text":"Harbor Nine"}"#).loose(RSS_LOOSE),
    row("POST /api/rss/smart-match/analyze").body(r#"{"torrentName":"Harbor.Nine.S01E01.1080p"}"#).loose(RSS_LOOSE),
    row("POST /api/rss/smart-match/test").body(r#"{"torrentName":"Harbor.Nine.S01E01.1080p"}"#).loose(RSS_LOOSE),
    row("POST /api/rss/history/{id}/download").body("{}"),
    row("POST /api/rss/history/{id}/reset"),
    row("GET /api/rss/rules-export"),
    // What is no bundle is refused as one.
    row("POST /api/rss/rules-import")
        .body(r#"{"kind":"quartermaster.rss-export","version":1,"rules":[]}"#)
        .loose(RSS_LOOSE)
        .lenient(&["kind", "rules"]),
    // Shows
    row("GET /api/rss/show-status/lookup"),
    row("POST /api/rss/show-status/lookup-batch").body(r#"{"queries":[{"title":"Harbor Nine"}]}"#),
    // Titledb
    row("GET /api/media/providers/titledb/status"),
    row("GET /api/media/providers/titledb/settings"),
    row("PATCH /api/media/providers/titledb/settings").body(r#"{"minVotes":5}"#),
    row("POST /api/media/providers/titledb/test"),
    row("POST /api/media/providers/titledb/dataset/validate").body(r#"{"datasetPath":"{root}"}"#),
    row("POST /api/media/providers/titledb/dataset/import").body(r#"{"datasetPath":"{root}"}"#),
    row("POST /api/media/providers/titledb/dataset/import/stop"),
    row("POST /api/media/providers/titledb/dataset/update-now"),
    row("POST /api/media/providers/titledb/dataset/reset").body("{}"),
    row("GET /api/media/providers/titledb/dataset/imports"),
    row("GET /api/media/providers/titledb/search"),
    row("GET /api/media/providers/titledb/title/{titledbId}").unknown(400, "ids of titles have a form of their own"),
    // Media libraries
    row("GET /api/media/dashboard"),
    row("GET /api/media/health"),
    row("GET /api/media/libraries"),
    row("GET /api/media/libraries/{id}"),
    row("POST /api/media/libraries").body(r#"{"name":"attacked","path":"{root}/library"}"#).loose(LIBRARY_LOOSE),
    row("PATCH /api/media/libraries/{id}").body(r#"{"name":"attacked"}"#).loose(LIBRARY_LOOSE),
    row("DELETE /api/media/libraries/{id}"),
    row("POST /api/media/libraries/{id}/scan").unknown(201, "the job says that the library is gone"),
    row("POST /api/media/jobs/{jobId}/cancel").unknown(201, "nothing was asked to end"),
    row("GET /api/media/libraries/watch-status"),
    row("GET /api/media/ignored"),
    row("POST /api/media/ignored").body(r#"{"libraryId":"nobody","path":"/nowhere/x"}"#).unknown(404, "the library is named in the body"),
    row("DELETE /api/media/ignored/{id}"),
    row("GET /api/media/items"),
    row("GET /api/media/items/alphabet"),
    row("GET /api/media/items/issues"),
    row("GET /api/media/items/{id}"),
    row("PATCH /api/media/items/{id}").body(r#"{"title":"attacked"}"#).loose(ITEM_LOOSE),
    row("POST /api/media/items/{id}/match").body(r#"{"title":"attacked"}"#).loose(ITEM_LOOSE),
    row("POST /api/media/items/{id}/match/titledb").body(r#"{"titledbId":"tt0000001"}"#).loose(ITEM_LOOSE),
    row("POST /api/media/items/reidentify").body("{}").loose(ITEM_LOOSE),
    row("GET /api/media/repair/movie-identity/preview"),
    row("POST /api/media/repair/movie-identity/apply"),
    row("POST /api/media/items/{id}/unmatch"),
    row("POST /api/media/items/{id}/lock"),
    row("POST /api/media/items/{id}/unlock"),
    row("PATCH /api/media/items/{id}/metadata").body(r#"{"title":"attacked"}"#).loose(ITEM_LOOSE),
    row("POST /api/media/items/{id}/metadata/fetch"),
    row("GET /api/media/items/export.csv"),
    row("GET /api/media/libraries/{id}/consistency").unknown(200, "of a library that is gone nothing is missing"),
    row("GET /api/media/series"),
    row("GET /api/media/series/episodes"),
    row("GET /api/media/series/health"),
    row("GET /api/media/shows"),
    row("GET /api/media/shows/by-key"),
    row("GET /api/media/shows/{id}"),
    row("POST /api/media/shows/{id}/metadata/refresh"),
    row("PATCH /api/media/shows/{id}/identity").body(r#"{"titledbId":"tt0000001"}"#).loose(ITEM_LOOSE),
    row("PATCH /api/media/shows/{id}/metadata").body(r#"{"title":"attacked"}"#).loose(ITEM_LOOSE),
    row("PATCH /api/media/shows/{id}/seasons/{seasonNumber}")
        .body(r#"{"title":"attacked"}"#)
        .loose(ITEM_LOOSE)
        .unknown(400, "seasons have numbers"),
    row("POST /api/media/items/bulk/lock").body(MEDIA_ITEMS).loose(BULK_LOOSE),
    row("POST /api/media/items/bulk/unlock").body(MEDIA_ITEMS).loose(BULK_LOOSE),
    row("POST /api/media/items/bulk/metadata").body(MEDIA_ITEMS).loose(BULK_LOOSE),
    row("POST /api/media/items/bulk/remove").body(MEDIA_ITEMS).loose(BULK_LOOSE),
    row("POST /api/media/items/bulk/delete-files/preview").body(MEDIA_ITEMS).loose(BULK_LOOSE),
    row("POST /api/media/items/bulk/delete-files").body(MEDIA_ITEMS).loose(BULK_LOOSE),
    row("POST /api/media/items/bulk/move")
        .body(r#"{"itemIds":["00000000-0000-4000-8000-000000000000"],"targetLibraryId":"nowhere"}"#)
        .loose(BULK_LOOSE),
    row("GET /api/media/items/{id}/artwork"),
    row("GET /api/media/items/{id}/artwork/missing"),
    row("POST /api/media/items/{id}/artwork/select").body(r#"{"artworkId":"nobody"}"#).loose(ARTWORK_LOOSE),
    row("POST /api/media/items/{id}/artwork/upload").body(PICTURE).loose(ARTWORK_LOOSE),
    row("POST /api/media/items/{id}/artwork/import"),
    row("GET /api/media/shows/{id}/artwork"),
    row("POST /api/media/shows/{id}/artwork/select").body(r#"{"artworkId":"nobody"}"#).loose(ARTWORK_LOOSE),
    row("POST /api/media/shows/{id}/artwork/upload").body(PICTURE).loose(ARTWORK_LOOSE),
    row("POST /api/media/shows/{id}/artwork/import").body("{}").loose(ARTWORK_LOOSE),
    row("GET /api/media/artwork/{artworkId}/image"),
    row("POST /api/media/nfo/generate").body(r#"{"itemId":"nobody"}"#).loose(ARTWORK_LOOSE).names_in_body(),
    row("POST /api/media/items/bulk/nfo").body(MEDIA_ITEMS).loose(BULK_LOOSE),
    row("GET /api/media/items/{id}/subtitles"),
    row("GET /api/media/items/{id}/subtitles/missing"),
    row("POST /api/media/items/{id}/subtitles/scan"),
    // Media servers
    row("GET /api/media/presets"),
    row("GET /api/media/presets/stored"),
    row("POST /api/media/presets").body(r#"{"name":"attacked"}"#),
    row("PUT /api/media/presets/{id}").body(r#"{"name":"attacked"}"#),
    row("DELETE /api/media/presets/{id}"),
    row("GET /api/media/presets/{id}/explain").unknown(400, "without a name nobody looks for the preset"),
    row("POST /api/media/preview").body(r#"{"names":["The.Wire.S01E02.mkv"]}"#).loose(RENAME_LOOSE),
    row("POST /api/media/apply").body(r#"{"libraryPath":"/films","path":"/films/a.mkv"}"#).loose(RENAME_LOOSE),
    row("GET /api/media/rename/undoable"),
    row("GET /api/media/rename/undoable/{runId}").unknown(200, "a run that nobody knows has no steps, which is what the answer says"),
    row("POST /api/media/rename/undo")
        .body(r#"{"runId":"00000000-0000-4000-8000-000000000000"}"#)
        .loose(RENAME_LOOSE),
    row("GET /api/media/history"),
    row("POST /api/media/libraries/{id}/organize").unknown(400, "clients expect a bad request for an unknown library here"),
    row("GET /api/media/settings/cleanup"),
    row("PATCH /api/media/settings/cleanup").body(r#"{"enabled":false}"#).loose(RENAME_LOOSE),
    row("GET /api/media/settings/seeding-torrent"),
    row("PATCH /api/media/settings/seeding-torrent").body(r#"{"action":"report"}"#).loose(RENAME_LOOSE),
    row("GET /api/media/duplicates"),
    row("GET /api/media/duplicates/overview"),
    row("GET /api/media/duplicates/{groupId}"),
    row("POST /api/media/duplicates/{groupId}/ignore").body(r#"{"reason":"attacked"}"#),
    row("POST /api/media/duplicates/{groupId}/reopen"),
    row("GET /api/media/duplicates/schedule"),
    row("PATCH /api/media/duplicates/schedule").body(r#"{"enabled":false}"#),
    row("POST /api/media/duplicates/detect"),
    row("POST /api/media/duplicates/{groupId}/preview").body(r#"{"keepItemId":"nobody"}"#),
    row("POST /api/media/duplicates/{groupId}/preview-delete").body(r#"{"deleteItemId":"nobody"}"#),
    row("POST /api/media/duplicates/resolutions/{resolutionId}/resolve").body(r#"{"permanent":false}"#),
    row("POST /api/media/duplicates/bulk/preview").body(r#"{"groupIds":["nobody"]}"#),
    row("POST /api/media/duplicates/bulk/resolve").body(r#"{"resolutionIds":["nobody"]}"#),
    row("POST /api/media/duplicates/restore-suffixes"),
    row("GET /api/media/duplicates/quick-clean/candidates"),
    row("GET /api/media/duplicates/trash/history"),
    row("GET /api/media/shows/duplicates"),
    row("POST /api/media/shows/duplicates/preview")
        .body(r#"{"canonicalShowId":"00000000-0000-4000-8000-000000000001","duplicateShowIds":["00000000-0000-4000-8000-000000000002"]}"#)
        .names_in_body(),
    row("POST /api/media/shows/duplicates/merge")
        .body(r#"{"planId":"00000000-0000-4000-8000-000000000003"}"#)
        .names_in_body(),
    row("GET /api/media/server-integrations"),
    row("POST /api/media/server-integrations").body(r#"{"name":"attacked","kind":"plex"}"#),
    row("PATCH /api/media/server-integrations/{id}").body(r#"{"name":"attacked"}"#),
    row("DELETE /api/media/server-integrations/{id}"),
    row("POST /api/media/server-integrations/{id}/test"),
    row("POST /api/media/server-integrations/{id}/refresh"),
    row("GET /api/media/providers"),
    row("POST /api/media/providers/provider_a/test").body("{}"),
    row("POST /api/media/providers/provider_b/test").body("{}"),
    // Notifications
    row("GET /api/account/notifications/events"),
    row("GET /api/account/notifications/preferences"),
    row("PUT /api/account/notifications/preferences/{eventKey}").body(r#"{"emailEnabled":true}"#),
    row("POST /api/account/notifications/preferences/bulk")
        .body(r#"{"eventKeys":["torrent.completed"],"patch":{"emailEnabled":true}}"#),
    row("GET /api/account/notifications/channels"),
    row("POST /api/account/notifications/channels/chat_app_a/bot").body(r#"{"token":"1:a token"}"#),
    row("POST /api/account/notifications/channels/chat_app_a/link"),
    row("POST /api/account/notifications/channels/chat_app_a/confirm"),
    row("POST /api/account/notifications/channels/email").body(r#"{"address":"jo@example.org"}"#),
    row("DELETE /api/account/notifications/channels/email"),
    row("POST /api/account/notifications/channels/chat_app_b").body(r#"{"webhookUrl":"https://chat.example/hook"}"#),
    row("DELETE /api/account/notifications/channels/chat_app_b"),
    row("POST /api/account/notifications/channels/{type}")
        .body(r#"{"config":{}}"#)
        .unknown(400, NO_CHANNEL),
    row("DELETE /api/account/notifications/channels/{type}"),
    row("POST /api/account/notifications/channels/{type}/link").unknown(400, NO_CHANNEL),
    row("POST /api/account/notifications/channels/{type}/confirm").body(r#"{"code":"482913"}"#).unknown(400, NO_CHANNEL),
    row("POST /api/account/notifications/channels/{type}/test").unknown(400, NO_CHANNEL),
    row("GET /api/account/notifications/inbox"),
    row("GET /api/account/notifications/inbox/unread-count"),
    row("POST /api/account/notifications/inbox/mark-all-read"),
    row("POST /api/account/notifications/inbox/{id}/read"),
    row("POST /api/account/notifications/inbox/{id}/unread"),
    row("POST /api/account/notifications/inbox/{id}/archive"),
];
