//! Hostile places against every route that takes a directory to keep it, or to tell a torrent client of it: refused with
//! the API's error, and nobody outside is touched or told.
//!
//! The routes are those that [`super::table::ELSEWHERE`] lists; one without a row here fails.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use qm_test_base::engine::FakeKinds;
use qm_testkit::http::Reply;
use qm_testkit::{Api, TestDb, TestServer, both_databases};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use super::hostile::put;
use super::site::{Site, complaint, sung, tree};
use super::table::ELSEWHERE;

/// The longest an answer may take: what waits for a FIFO waits for ever.
const DEADLINE: Duration = Duration::from_mins(1);

/// A route that takes a directory, and how far the route judges it.
struct Row {
    route: &'static str,
    /// The name in the body, with a dot for every level; of a list in its first item.
    field: &'static str,
    /// `{feed}`, `{library}`: their ids.
    body: &'static str,
    /// True if a path that is there and is no directory is refused at once; the other routes find out when they read
    /// it.
    judges_kind: bool,
}

const fn row(route: &'static str, field: &'static str, body: &'static str, judges_kind: bool) -> Row {
    Row {
        route,
        field,
        body,
        judges_kind,
    }
}

const MAGNET: &str = r#"{"magnet":"magnet:?xt=urn:btih:0123456789abcdef0123456789abcdef01234567"}"#;

const MAPPINGS: &str = r#"{"pathMappings":[{"remote":"/data"}]}"#;

const ROWS: &[Row] = &[
    row("POST /api/torrents", "savePath", MAGNET, true),
    row("POST /api/torrents/upload", "savePath", "", true),
    row("POST /api/torrents/{hash}/move", "destination", "{}", true),
    row("POST /api/torrents/{hash}/download-path", "path", "{}", true),
    row(
        "POST /api/engines",
        "pathMappings.local",
        r#"{"name":"hostile","kind":"scgi_client","config":{"host":"two"},"pathMappings":[{"remote":"/data"}]}"#,
        true,
    ),
    row("PATCH /api/engines/{id}", "pathMappings.local", MAPPINGS, true),
    row(
        "POST /api/engines/{id}/paths/check",
        "pathMappings.local",
        MAPPINGS,
        true,
    ),
    row("POST /api/categories", "savePath", r#"{"name":"hostile"}"#, true),
    row("PATCH /api/categories/{id}", "savePath", "{}", true),
    row(
        "POST /api/rss/rules",
        "savePath",
        r#"{"feedId":"{feed}","name":"hostile"}"#,
        true,
    ),
    row("PATCH /api/rss/rules/{id}", "savePath", "{}", true),
    row(
        "POST /api/rss/rules/preview",
        "savePath",
        r#"{"feedId":"{feed}","name":"hostile"}"#,
        true,
    ),
    row("POST /api/rss/history/{id}/download", "savePath", "{}", true),
    row(
        "POST /api/media/libraries",
        "path",
        r#"{"name":"hostile","kind":"movie"}"#,
        false,
    ),
    row("PATCH /api/media/libraries/{id}", "path", "{}", false),
    row(
        "POST /api/media/ignored",
        "path",
        r#"{"libraryId":"{library}"}"#,
        false,
    ),
    // A file may be named too.
    row(
        "POST /api/media/apply",
        "path",
        r#"{"libraryPath":"/films"}"#,
        false,
    ),
    // The library comes first, whatever is to go into it.
    row(
        "POST /api/media/apply",
        "libraryPath",
        r#"{"path":"/films/a.mkv","mode":"copy"}"#,
        false,
    ),
    row(
        "POST /api/media/preview",
        "path",
        r#"{"libraryPath":"/films"}"#,
        false,
    ),
    row(
        "PATCH /api/media/providers/titledb/settings",
        "datasetPath",
        "{}",
        false,
    ),
    row(
        "POST /api/media/providers/titledb/dataset/validate",
        "datasetPath",
        "{}",
        false,
    ),
    row(
        "POST /api/media/providers/titledb/dataset/import",
        "datasetPath",
        "{}",
        false,
    ),
];

/// Places below the root that lead out of it, or nowhere.
const LEAD_OUT: &[&str] = &[
    "out",
    "out/new",
    "out/folder/deep",
    "up/x",
    "chain",
    "chain/new/er",
    "to-proc/etc",
    "swapped/x",
];
/// Places below the root that are no directories.
const NO_DIRECTORIES: &[&str] = &[
    "file",
    "file/x",
    "fifo",
    "fifo/x",
    "socket",
    "device",
    "loop-a",
    "loop-a/x",
    "dangling/x",
    ".quartermaster-trash/x",
];

struct Target {
    server: TestServer,
    site: Site,
    engine: String,
    feed: String,
    rule: String,
    library: String,
    hash: String,
}

fn id(made: &Value) -> String {
    made["id"].as_str().expect("an id").to_owned()
}

impl Target {
    async fn start(db: &TestDb) -> Target {
        let site = Site::in_memory();
        let kinds = FakeKinds::first_party();
        // One without it refuses before it looks at the place.
        kinds.engine("one").offer("download-path");
        let server = TestServer::builder(db)
            .kinds(kinds)
            .env("FILE_MANAGER_ROOTS", site.root.display().to_string())
            .start()
            .await;
        let api = server.admin();
        populate(&site);
        let engine = api
            .add_engine("fake", "scgi_client", json!({ "host": "one" }))
            .await;
        let magnet = "magnet:?xt=urn:btih:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa&dn=good";
        let added = api
            .post(
                "/api/torrents",
                json!({ "magnet": magnet, "savePath": site.path_of("good") }),
            )
            .await;
        let hash = added["hash"].as_str().expect("a hash").to_owned();
        api.until_torrent(&engine, &hash, "it to be listed", |_| true)
            .await;
        let new = json!({ "name": "quiet", "url": "http://127.0.0.1:9/feed", "isEnabled": false });
        let feed = id(&api.post("/api/rss/feeds", new).await);
        let rule = id(&api
            .post("/api/rss/rules", json!({ "feedId": feed, "name": "kept" }))
            .await);
        let new = json!({ "name": "kept", "path": site.path_of("library"), "kind": "movie" });
        let library = id(&api.post("/api/media/libraries", new).await);
        // What was a directory when it was looked at is a link when it is used.
        std::fs::rename(site.path_of("swapped"), site.path_of("was swapped")).expect("our own directory");
        symlink(&site.canary, site.path_of("swapped")).expect("our own directory");
        Target {
            server,
            site,
            engine,
            feed,
            rule,
            library,
            hash,
        }
    }

    async fn send(&self, row: &Row, place: &Path) -> Reply {
        let api = self.server.admin();
        let (method, path) = row.route.split_once(' ').expect("METHOD /path");
        let id = if path.contains("/media/") {
            &self.library
        } else if path.contains("/engines/") {
            &self.engine
        } else {
            &self.rule
        };
        let path = path.replace("{id}", id).replace("{hash}", &self.hash);
        let request = api.request(method, &path);
        let request = if row.body.is_empty() {
            let shown = place.display().to_string();
            let file = ("file", "x.torrent", &b"d8:announce0:e"[..]);
            request.multipart(&[(row.field, shown.as_str())], &[file])
        } else {
            let body = row
                .body
                .replace("{feed}", &self.feed)
                .replace("{library}", &self.library);
            request.json(&put(&body, row.field, &place.display().to_string(), false))
        };
        let Ok(reply) = tokio::time::timeout(DEADLINE, request.send()).await else {
            panic!("{} {}: no answer within {DEADLINE:?}", row.route, place.display());
        };
        reply.expect("the server answers")
    }

    /// The directories that clients and the database keep.
    async fn kept(&self, api: &Api) -> Value {
        json!({
            "engines": api.get("/api/engines").await,
            "torrents": api.get("/api/torrents").await,
            "categories": api.get("/api/categories").await,
            "rules": api.get("/api/rss/rules").await,
        })
    }
}

fn populate(site: &Site) {
    for folder in ["good", "library", "swapped", "real"] {
        site.folder(folder);
    }
    site.write("file", "inside");
    let canary = site.canary.display().to_string();
    for (link, to) in [
        ("out", canary.as_str()),
        ("up", "../root-canary"),
        ("chain", "chain-b"),
        ("chain-b", &canary),
        ("to-proc", "/proc/self/root"),
        ("loop-a", "loop-b"),
        ("loop-b", "loop-a"),
        ("dangling", "../root-canary/new"),
        ("in", "real"),
    ] {
        symlink(to, site.path_of(link)).expect("our own directory");
    }
    let make = |name: &str, kind: FileType, device: u64| {
        mknodat(CWD, site.path_of(name), kind, Mode::RUSR | Mode::WUSR, device)
    };
    make("fifo", FileType::Fifo, 0).expect("anybody may make a FIFO");
    make("socket", FileType::Socket, 0).expect("anybody may make a socket");
    // Only root may make a device; everybody else has a file of that name.
    if make("device", FileType::CharacterDevice, rustix::fs::makedev(1, 5)).is_err() {
        site.write("device", "inside");
    }
}

#[test]
fn every_route_that_takes_a_place_is_attacked() {
    let attacked: BTreeSet<String> = ROWS
        .iter()
        .map(|row| format!("{} {}", row.route, row.field))
        .collect();
    let listed = ELSEWHERE.iter().map(|text| (*text).to_owned());
    assert_eq!(attacked, listed.collect());
}

both_databases! {
    async fn hostile_places_are_refused_by_every_route_that_takes_one(db: &TestDb) {
        let target = Target::start(db).await;
        let api = target.server.admin();
        let (before, outside) = (target.kept(&api).await["categories"].clone(), tree(&target.site.canary));
        let mut wrong = Vec::new();
        for row in ROWS {
            let more = NO_DIRECTORIES.iter().filter(|_| row.judges_kind);
            for place in LEAD_OUT.iter().chain(more) {
                let reply = target.send(row, &target.site.path_of(place)).await;
                let is_refused = matches!(reply.status, 400 | 403);
                let said = if is_refused { complaint(&reply).err() } else { Some("not refused".to_owned()) };
                let said = said.or(sung(&reply)).or_else(|| {
                    let text = reply.text();
                    (!text.contains("ath")).then(|| "the path is not named".to_owned())
                });
                if let Some(said) = said {
                    wrong.push(format!("{} {place}: {said}: {} {}", row.route, reply.status, reply.text()));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        // An import leaves such rows out.
        let rules: Vec<Value> = LEAD_OUT.iter().map(|place| json!({
            "name": place, "savePath": target.site.path_of(place), "feed": { "url": "http://127.0.0.1:9/feed" },
        })).collect();
        let bundle = json!({ "kind": "quartermaster.rss-export", "version": 1, "rules": rules });
        let done = api.post("/api/rss/rules-import", bundle).await;
        assert_eq!(done["rulesCreated"], json!(0), "{done}");
        let after = target.kept(&api).await;
        assert_eq!(after["categories"], before);
        assert!(!after.to_string().contains("root-canary"), "{after}");
        for place in LEAD_OUT.iter().chain(NO_DIRECTORIES) {
            assert!(!after.to_string().contains(&format!("root/{place}\"")), "{place}: {after}");
        }
        assert_eq!(tree(&target.site.canary), outside);
    }

    async fn what_is_kept_is_where_a_link_inside_the_roots_leads(db: &TestDb) {
        let target = Target::start(db).await;
        let api = target.server.admin();
        let made = api.post("/api/categories", json!({ "name": "kept", "savePath": target.site.path_of("in/new") })).await;
        assert_eq!(made["savePath"], json!(target.site.path_of("real/new")), "{made}");
        // What was kept is judged again when a client is to be told: by then it is a link.
        let rule = json!({ "savePath": target.site.path_of("real/new") });
        let kept = api.patch(&format!("/api/rss/rules/{}", target.rule), rule).await;
        assert_eq!(kept["savePath"], json!(target.site.path_of("real/new")), "{kept}");
        symlink(&target.site.canary, target.site.path_of("real/new")).expect("our own directory");
        let body = json!({
            "magnet": "magnet:?xt=urn:btih:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "savePath": made["savePath"],
        });
        let refused = api.send("POST", "/api/torrents", Some(&body)).await;
        assert_eq!((refused.status, &refused.json()["code"]), (403, &json!("forbidden.outside_roots")), "{}", refused.text());
    }
}
