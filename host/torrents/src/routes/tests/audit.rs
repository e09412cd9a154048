//! Every change leaves its audit row, and what was refused leaves none that tells of a change.

use super::*;
use crate::testing::{Audited, audited};

/// A change: who asks for what, and the row it leaves (action, object type, object id, metadata).
struct Change<'a> {
    method: &'a str,
    path: String,
    body: Option<Value>,
    row: (&'a str, &'a str, String, Value),
}

fn change<'a>(
    method: &'a str,
    path: &str,
    body: Option<Value>,
    row: (&'a str, &'a str, &str, Value),
) -> Change<'a> {
    let (action, kind, id, metadata) = row;
    Change {
        method,
        path: path.into(),
        body,
        row: (action, kind, id.into(), metadata),
    }
}

/// The rows that are in `after` and not in `before`.
fn new_rows(before: &[Audited], after: Vec<Audited>) -> Vec<Audited> {
    let known = |row: &Audited| before.iter().any(|old| old.id == row.id);
    after.into_iter().filter(|row| !known(row)).collect()
}

async fn check(site: &Site, db: &Db, change: Change<'_>) -> Value {
    let Change {
        method,
        path,
        body,
        row,
    } = change;
    let before = audited(db).await;
    let answer = site.ask("ADMINISTRATOR", method, &path, body).await;
    assert!(answer.status < 300, "{method} {path}: {}", answer.body);
    let rows = new_rows(&before, audited(db).await);
    assert_eq!(rows.len(), 1, "{method} {path}");
    let (action, kind, id, metadata) = row;
    let id = if id == "created" {
        answer.body["id"].as_str().unwrap().to_owned()
    } else {
        id
    };
    assert_eq!(
        (rows[0].action.as_str(), rows[0].result.as_str()),
        (action, "success"),
        "{method} {path}"
    );
    assert_eq!(rows[0].object(), (kind, id.as_str()), "{method} {path}");
    let told = rows[0]
        .metadata
        .as_ref()
        .map_or(Value::Null, |metadata| metadata.0.clone());
    assert_eq!(told, metadata, "{method} {path}");
    assert!(rows[0].ip_address.is_some());
    answer.body
}

db_test! {
    async fn every_change_of_a_torrent_is_audited_once(db: Db) {
        let site = Site::new(&db).await;
        let client = site.house.kinds.engine("a");
        let engine = site.house.torrents.resolve(None).unwrap().id.to_string();
        // The fake renames what has files.
        client.files.lock().unwrap().push(qm_ports::engine::File { index: 0, path: "a".into(), size: 1, downloaded: 0, progress: 0.0, availability: None, priority: 1 });
        site.ask("USER", "GET", "/api/torrents", None).await;
        let one = hash(1).to_string();
        let path = |rest: &str| format!("/api/torrents/{}{rest}", one.to_uppercase());
        let told = |more: Value| {
            let mut told = json!({ "engineId": engine, "name": "torrent 1" });
            told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            told
        };
        let plain = || told(json!({}));
        for (method, rest, body, action, metadata) in [
            ("POST", "/start", None, "torrents.start", plain()),
            ("POST", "/stop", None, "torrents.stop", plain()),
            ("POST", "/pause", None, "torrents.pause", plain()),
            ("POST", "/resume", None, "torrents.resume", plain()),
            ("POST", "/recheck", None, "torrents.recheck", plain()),
            ("POST", "/move", Some(json!({ "destination": "/downloads/a/" })), "torrents.move", told(json!({ "destination": "/downloads/a" }))),
            ("POST", "/limits/upload", Some(json!({ "bytesPerSec": 7 })), "torrents.manage_limits", told(json!({ "uploadBytesPerSec": 7 }))),
            ("POST", "/limits/download", Some(json!({ "bytesPerSec": 0 })), "torrents.manage_limits", told(json!({ "downloadBytesPerSec": 0 }))),
            ("POST", "/files/priority", Some(json!({ "fileIndex": 3, "priority": 2 })), "torrents.manage_files",
                told(json!({ "fileIndex": 3, "priority": 2 }))),
            ("POST", "/trackers", Some(json!({ "url": "http://t/passkey/announce" })), "torrents.manage_trackers", told(json!({ "change": "added" }))),
            ("DELETE", "/trackers", Some(json!({ "url": "http://t/passkey/announce" })), "torrents.manage_trackers",
                told(json!({ "change": "removed" }))),
            ("POST", "/rename", Some(json!({ "name": "torrent one" })), "torrents.rename", told(json!({ "newName": "torrent one" }))),
        ] {
            check(&site, &db, change(method, &path(rest), body, (action, "torrent", &one, metadata))).await;
        }
        let removed = |n: u8| json!({ "engineId": engine, "name": format!("torrent {n}") });
        for (n, rest, action) in [(2, "", "torrents.delete"), (3, "/data", "torrents.delete_data")] {
            let path = format!("/api/torrents/{}{rest}", hash(n));
            check(&site, &db, change("DELETE", &path, None, (action, "torrent", &hash(n), removed(n)))).await;
        }
        let magnet = json!({ "magnet": format!("magnet:?xt=urn:btih:{}&dn=A+film", hash(9)) });
        let added = json!({ "engineId": engine, "name": "A film" });
        check(&site, &db, change("POST", "/api/torrents", Some(magnet), ("torrents.add", "torrent", &hash(9), added))).await;
        site.house.torrents.shutdown().await;
    }

    async fn every_change_of_an_engine_and_of_the_taxonomy_is_audited_once(db: Db) {
        let site = Site::new(&db).await;
        let named = |name: &str| json!({ "name": name, "kind": "fake" });
        let new = json!({ "name": "second", "kind": "fake", "config": { "host": "b", "password": "hush" } });
        let created = check(&site, &db, change("POST", "/api/engines", Some(new), ("engines.create", "torrent_engine", "created", named("second")))).await;
        let id = created["id"].as_str().unwrap();
        let path = format!("/api/engines/{id}");
        let update = change("PATCH", &path, Some(json!({ "name": "third" })), ("engines.update", "torrent_engine", id, named("third")));
        check(&site, &db, update).await;
        let test = json!({ "kind": "fake", "config": { "host": "b" }, "engineId": id });
        let tested = json!({ "kind": "fake" });
        check(&site, &db, change("POST", "/api/engines/test", Some(test), ("engines.test", "torrent_engine", id, tested))).await;
        check(&site, &db, change("DELETE", &path, None, ("engines.delete", "torrent_engine", id, named("third")))).await;
        let new = json!({ "name": "tv", "savePath": "/downloads/tv" });
        let category = check(&site, &db, change("POST", "/api/categories", Some(new.clone()), ("categories.create", "torrent_category", "created", new))).await;
        let id = category["id"].as_str().unwrap();
        let metadata = json!({ "name": "tv" });
        let path = format!("/api/categories/{id}");
        check(&site, &db, change("DELETE", &path, None, ("categories.delete", "torrent_category", id, metadata.clone()))).await;
        let tag = check(&site, &db, change("POST", "/api/tags", Some(metadata.clone()), ("tags.create", "torrent_tag", "created", metadata.clone()))).await;
        let id = tag["id"].as_str().unwrap();
        check(&site, &db, change("DELETE", &format!("/api/tags/{id}"), None, ("tags.delete", "torrent_tag", id, metadata))).await;
        site.house.torrents.shutdown().await;
    }

    async fn a_change_is_done_and_audited_though_its_caller_hangs_up(db: Db) {
        let site = Site::new(&db).await;
        let client = site.house.kinds.engine("a");
        client.delay.store(100, std::sync::atomic::Ordering::SeqCst);
        let path = format!("/api/torrents/{}", hash(1));
        let patience = std::time::Duration::from_millis(10);
        let asked = tokio::time::timeout(patience, site.ask("ADMINISTRATOR", "DELETE", &path, None)).await;
        assert!(asked.is_err(), "gone before the client was done");
        eventually("the client has done it", || client.torrent(&hash(1)).is_none()).await;
        for _ in 0..6000 {
            if audited(&db).await.iter().any(|row| row.action == "torrents.delete") {
                break;
            }
            tokio::time::sleep(patience).await;
        }
        let rows = audited(&db).await;
        assert_eq!(rows.iter().filter(|row| row.action == "torrents.delete").count(), 1);
        site.house.torrents.shutdown().await;
    }

    async fn what_was_refused_changed_nothing_and_is_told_only_where_it_matters(db: Db) {
        let site = Site::new(&db).await;
        let before = audited(&db).await;
        let one = hash(1);
        for (role, method, path, body) in [
            ("READ_ONLY", "POST", format!("/api/torrents/{one}/stop"), None),
            ("ADMINISTRATOR", "DELETE", format!("/api/torrents/{}", hash(8)), None),
            ("ADMINISTRATOR", "POST", format!("/api/torrents/{one}/rename"), Some(json!({ "name": "n" }))),
            ("ADMINISTRATOR", "POST", format!("/api/torrents/{one}/move"), Some(json!({ "destination": "/etc" }))),
            ("ADMINISTRATOR", "POST", "/api/torrents".into(), Some(json!({ "magnet": "magnet:?" }))),
            ("ADMINISTRATOR", "PATCH", "/api/engines/x".into(), Some(json!({ "name": "n" }))),
            ("ADMINISTRATOR", "DELETE", "/api/engines/x".into(), None),
            ("ADMINISTRATOR", "POST", "/api/categories".into(), Some(json!({ "name": "x", "savePath": "/etc" }))),
            ("ADMINISTRATOR", "DELETE", "/api/tags/x".into(), None),
        ] {
            assert!(site.ask(role, method, &path, body).await.status >= 400, "{method} {path}");
        }
        assert_eq!(new_rows(&before, audited(&db).await).len(), 0);
        site.house.kinds.engine("a").fail(Some(EngineError::Unreachable("refused".into())));
        let test = json!({ "kind": "fake", "config": { "host": "a" } });
        assert_eq!(site.ask("ADMINISTRATOR", "POST", "/api/engines/test", Some(test)).await.status, 201);
        let rows = new_rows(&before, audited(&db).await);
        let told: Vec<_> = rows.iter().map(|row| (row.action.as_str(), row.result.as_str(), row.metadata.as_ref().unwrap().0.clone())).collect();
        let failed = json!({ "kind": "fake", "message": "The engine cannot be reached: refused" });
        assert_eq!(told, [("engines.test", "failure", failed)]);
        site.house.torrents.shutdown().await;
    }
}
