//! An engine that tells of ever more torrents: held at its limit, shown as such, and deleted over a crash.

use qm_db::{Db, sql, value};
use qm_testkit::binary::Binary;
use qm_testkit::wait::{until, until_true};
use qm_testkit::{Api, both_databases, plugins};
use serde_json::{Value, json};

const LIMIT: i64 = 10_000;

sql! {
    ROWS = "SELECT COUNT(*) FROM torrent_snapshots WHERE engine_id = $1";
    ENGINES = "SELECT COUNT(*) FROM torrent_engines WHERE id = $1";
}

/// Rows of an engine's torrents, and of itself.
async fn rows(db: &Db, id: &str) -> (i64, i64) {
    let mut tx = db.begin_read().await.expect("the database can be read");
    let torrents = value!(&mut tx, i64, ROWS, id).await.expect("a count");
    (
        torrents,
        value!(&mut tx, i64, ENGINES, id).await.expect("a count"),
    )
}

/// An engine as the list of engines shows it; `None` while it is not listed.
async fn shown(api: &Api, id: &str) -> Option<Value> {
    let engines = api.send("GET", "/api/engines", None).await.json();
    let engines = engines.as_array().cloned().unwrap_or_default();
    engines.into_iter().find(|engine| engine["id"] == id)
}

both_databases! {
    async fn a_flood_is_held_at_its_limit_and_deleted_over_a_crash(db: &TestDb) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let installed = dir.path().join("plugins");
        std::fs::create_dir(&installed).expect("our own directory");
        plugins::install("misbehave.wasm", &installed);
        let mut server = Binary::start(dir.path(), db.url()).await;
        let api = server.admin().await;
        api.put("/api/settings/engine.maxTorrents", json!({ "value": LIMIT })).await;
        let flood = json!({ "mode": "ever_new", "count": 2500 });
        let id = api.add_engine("flood", "misbehave", flood.clone()).await;
        let limited = until("the flood to be held", || async {
            shown(&api, &id).await.filter(|engine| engine["state"] == "limited")
        })
        .await;
        let reason = limited["stateReason"].as_str().unwrap_or_default();
        assert!(reason.contains("engine.maxTorrents"), "{limited}");
        let health = api.send("GET", &format!("/api/engines/health?engineId={id}"), None).await.json();
        assert_eq!((&health["online"], &health["limited"]), (&json!(true), &limited["stateReason"]), "{health}");
        let list = api.send("GET", &format!("/api/torrents?engineId={id}&pageSize=1"), None).await.json();
        assert_eq!(list["total"], LIMIT);

        let database = Db::open(db.url()).await.expect("the database opens");
        assert_eq!(rows(&database, &id).await, (LIMIT, 1));
        let deleted = api.send("DELETE", &format!("/api/engines/{id}"), None).await;
        assert_eq!(deleted.status, 200, "{}", deleted.text());
        server.kill();
        let (left, engines) = rows(&database, &id).await;
        assert!(left > 0 && engines == 1, "{left} rows are left to the next start");

        let mut server = Binary::start(dir.path(), db.url()).await;
        let api = server.admin().await;
        assert!(shown(&api, &id).await.is_none());
        let again = api.add_engine("flood", "misbehave", flood).await;
        until_true("the rows to go", || async { rows(&database, &id).await == (0, 0) }).await;
        until_true("the new engine's torrents to be shown", || async {
            let list = api.send("GET", &format!("/api/torrents?engineId={again}&pageSize=1"), None).await;
            list.json()["total"].as_u64().is_some_and(|total| total > 0)
        })
        .await;
        database.close().await;
        server.stop().await;
    }
}
