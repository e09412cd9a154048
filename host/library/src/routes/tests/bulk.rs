//! Orders for many items at once.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use qm_db::{Db, db_test};
use qm_kernel::Permission;
use qm_media::model::library::{Kind, MediaLibrary};
use qm_ports::TorrentPayload;
use serde_json::{Value, json};

use super::Site;
use crate::testing::{House, audited, has_user};

/// A site with these files in libraries of these names, scanned.
pub(super) async fn shelf(db: &Db, files: &[&str], libraries: &[(&str, Kind)]) -> (Site, Vec<MediaLibrary>) {
    has_user(db).await;
    let site = Site::new(db).await;
    for file in files {
        site.house.file(file, 5);
    }
    let mut made = Vec::new();
    for (folder, kind) in libraries {
        let (library, job) = site.house.library(folder, *kind).await;
        site.house.ended(&job).await;
        made.push(library);
    }
    (site, made)
}

/// Ids by the whole paths below the root.
pub(super) async fn ids(site: &Site) -> BTreeMap<String, String> {
    let page = site.get("/items?pageSize=200").await;
    let items = page["items"].as_array().unwrap().iter();
    let root = site.path("");
    items
        .map(|item| {
            let path = item["path"].as_str().unwrap().strip_prefix(&root).unwrap();
            (path.to_owned(), item["id"].as_str().unwrap().to_owned())
        })
        .collect()
}

impl Site {
    /// Orders something, and waits for it: how it ended, and what it has to show.
    pub(super) async fn order(&self, verb: &str, body: Value) -> (String, Value) {
        let (status, asked) = self
            .admin("POST", &format!("/items/bulk/{verb}"), Some(body))
            .await;
        assert_eq!(status, 201, "{asked}");
        self.house.ended(asked["jobId"].as_str().unwrap()).await
    }

    fn is_there(&self, path: &str) -> bool {
        std::fs::symlink_metadata(self.path(path)).is_ok()
    }
}

fn torrent(site: &Site, hash: &str, path: &str) {
    site.house.around.torrents.lock().unwrap().push(TorrentPayload {
        engine_id: "engine".to_owned(),
        hash: hash.to_owned(),
        name: hash.to_owned(),
        path: site.path(path),
        state: "seeding",
        live: true,
    });
}

db_test! {
    async fn many_items_are_locked_and_forgotten_at_once(db: Db) {
        let files = ["films/A/a.2001.mkv", "films/B/b.2002.mkv", "films/C/c.2003.mkv"];
        let (site, _) = shelf(&db, &files, &[("films", Kind::Movie)]).await;
        let known = ids(&site).await;
        let (a, b) = (&known["films/A/a.2001.mkv"], &known["films/B/b.2002.mkv"]);
        let (status, done) = site.admin("POST", "/items/bulk/lock", Some(json!({ "itemIds": [a, 1, b, a, true, "nobody", "\0"] }))).await;
        assert_eq!((status, &done), (201, &json!({ "jobId": "", "accepted": 2, "missing": ["nobody", "\0"] })));
        assert_eq!(site.get(&format!("/items/{a}")).await["locked"], true);
        let (status, _) = site.admin("POST", "/items/bulk/unlock", Some(json!({ "itemIds": [a] }))).await;
        assert_eq!((status, &site.get(&format!("/items/{a}")).await["locked"]), (201, &json!(false)));
        let (status, done) = site.admin("POST", "/items/bulk/remove", Some(json!({ "itemIds": [a, b] }))).await;
        assert_eq!((status, &done), (201, &json!({ "jobId": "", "accepted": 2, "missing": [] })), "a locked one too");
        assert!(site.is_there("films/A/a.2001.mkv") && site.get("/items").await["total"] == 1);
        for (action, count) in [("media.bulk.lock", 2), ("media.bulk.unlock", 1), ("media.bulk.remove", 2)] {
            let rows = audited(&db, action).await;
            assert_eq!((rows.len(), &rows[0].1["count"]), (1, &json!(count)), "{action}: {rows:?}");
        }
        let many: Vec<String> = (0..1001).map(|n| n.to_string()).collect();
        for verb in ["lock", "unlock", "metadata", "remove", "delete-files", "move"] {
            let path = format!("/items/bulk/{verb}");
            for (body, code) in [
                (json!({}), "bad_request.no_items"), (json!({ "itemIds": [] }), "bad_request.no_items"),
                (json!({ "itemIds": [1, null, {}] }), "bad_request.no_items"),
                (json!({ "itemIds": many }), "bad_request.too_many_items"),
            ] {
                let (status, refused) = site.admin("POST", &path, Some(body)).await;
                assert_eq!((status, &refused["code"]), (400, &json!(code)), "{verb}: {refused}");
            }
            let (status, refused) = site.admin("POST", &path, Some(json!({ "itemIds": "1" }))).await;
            assert_eq!((status, &refused["message"]), (400, &json!(["itemIds must be an array"])), "{verb}");
            assert_eq!(site.ask("READ_ONLY", "POST", &path, Some(json!({ "itemIds": [a] }))).await.0, 403, "{verb}");
        }
        for (body, message) in [
            (json!({ "itemIds": [a] }), "targetLibraryId is required."),
            (json!({ "itemIds": [a], "targetLibraryId": "nowhere" }), "Target library not found."),
        ] {
            let (status, refused) = site.admin("POST", "/items/bulk/move", Some(body)).await;
            assert_eq!((status, &refused["message"]), (400, &json!(message)));
        }
        let body = json!({ "itemIds": [a], "torrentAction": "burn" });
        assert_eq!(site.admin("POST", "/items/bulk/delete-files", Some(body)).await.0, 400);
        assert_eq!(site.admin("POST", "/items/bulk/delete-files/preview", Some(json!({}))).await, (201, json!({ "torrents": [] })));
        assert_eq!(site.ask("POWER_USER", "POST", "/items/bulk/delete-files/preview", Some(json!({}))).await.0, 403);
        site.house.stops().await;
    }

    async fn files_are_deleted_with_folders_of_their_own(db: Db) {
        let files = [
            "films/A/a.2001.mkv", "films/A/a.srt", "films/A/extras/cover.jpg", "films/B/b.2002.mkv", "films/B/b2.2002.mkv",
            "films/B/b.nfo", "films/c.2003.mkv", "films/D/d.2004.mkv", "films/E/e.2005.mkv", "beside/kept.txt",
        ];
        let (site, _) = shelf(&db, &files, &[("films", Kind::Movie)]).await;
        let known = ids(&site).await;
        let id = |path: &str| known[&format!("films/{path}")].clone();
        std::os::unix::fs::symlink(site.path("beside"), site.path("films/A/link")).unwrap();
        // Not scanned yet, and so chosen by nobody.
        site.house.file("films/D/new.2004.mkv", 5);
        let chosen = [id("A/a.2001.mkv"), id("B/b.2002.mkv"), id("c.2003.mkv"), id("D/d.2004.mkv")];
        for (hash, path) in [("one", "films/A"), ("shared", "films/B"), ("other", "elsewhere/x")] {
            torrent(&site, hash, path);
        }
        let (_, preview) = site.admin("POST", "/items/bulk/delete-files/preview", Some(json!({ "itemIds": chosen }))).await;
        let torrents = preview["torrents"].as_array().unwrap();
        assert_eq!(torrents.len(), 2, "{preview}");
        assert_eq!(torrents[1], json!({
            "torrentHash": "shared", "engineId": "engine", "name": "shared", "sourcePath": site.path("films/B"), "state": "seeding",
            "sizeBytes": 15, "itemIds": [chosen[1]],
        }));
        let (status, done) = site.order("delete-files", json!({ "itemIds": chosen, "torrentAction": "stop_and_delete" })).await;
        assert_eq!(status, "completed_with_warnings", "{done}");
        assert_eq!(done, json!({
            "total": 4, "completed": 4, "failed": 0, "removedFiles": 7, "torrentAction": "stop_and_delete",
            "torrentsHandled": 1, "torrentsFailed": 1, "failures": [],
        }));
        assert_eq!(*site.house.around.removed.lock().unwrap(), [("one".to_owned(), true)], "not the data of what stays");
        for (path, stays) in [
            ("films/A", false), ("films/B/b.2002.mkv", false), ("films/B/b2.2002.mkv", true), ("films/B/b.nfo", true),
            ("films/c.2003.mkv", false), ("films/D/d.2004.mkv", false), ("films/D/new.2004.mkv", true), ("beside/kept.txt", true),
            ("films/E/e.2005.mkv", true),
        ] {
            assert_eq!(site.is_there(path), stays, "{path}");
        }
        assert_eq!(ids(&site).await.into_keys().collect::<Vec<_>>(), ["films/B/b2.2002.mkv", "films/E/e.2005.mkv"]);
        // A folder that cannot be emptied keeps its item; a disk that is gone keeps all.
        let (e, b2) = (id("E/e.2005.mkv"), id("B/b2.2002.mkv"));
        std::fs::rename(site.path("films"), site.path("away")).unwrap();
        let (_, done) = site.order("delete-files", json!({ "itemIds": [e, b2] })).await;
        assert_eq!((&done["completed"], &done["failed"], &done["failures"][0]["itemId"]), (&json!(0), &json!(2), &json!(e)), "{done}");
        assert_eq!(ids(&site).await.len(), 2);
        std::os::unix::fs::symlink(site.path("away"), site.path("films")).unwrap();
        let (_, done) = site.order("delete-files", json!({ "itemIds": [e] })).await;
        assert_eq!(done["failed"], 1, "a library that is a link by now is another place: {done}");
        std::fs::remove_file(site.path("films")).unwrap();
        std::fs::rename(site.path("away"), site.path("films")).unwrap();
        // Whoever may no more by the time it is done does not get it done.
        for (action, lost) in [("keep", Permission::MediaManagerDeleteFiles), ("stop", Permission::TorrentsDelete)] {
            *site.house.around.lost.lock().unwrap() = vec![lost];
            let (status, _) = site.order("delete-files", json!({ "itemIds": [e], "torrentAction": action })).await;
            assert_eq!((&*status, site.is_there("films/E/e.2005.mkv")), ("failed", true), "{action}");
        }
        site.house.stops().await;
    }

    async fn items_move_into_another_library(db: Db) {
        let files = [
            "films/A/a.2001.mkv", "films/A/a.srt", "films/B/b.2002.mkv", "films/B/b2.2002.mkv", "films/c.2003.mkv",
            "films/Wire/Season 1/Wire.S01E01.mkv", "films/Wire/Season 2/Wire.S02E01.mkv", "films/D/d.2004.mkv", "attic/D/x.txt",
            "films/E/Season 1/E.S01E01.mkv", "films/E/Season 2/E.S02E01.mkv",
        ];
        let (site, libraries) = shelf(&db, &files, &[("films", Kind::Movie), ("attic", Kind::Tv)]).await;
        let known = ids(&site).await;
        let id = |path: &str| known[&format!("films/{path}")].clone();
        let attic = &libraries[1].id;
        let chosen = [
            id("A/a.2001.mkv"), id("B/b.2002.mkv"), id("c.2003.mkv"), id("Wire/Season 1/Wire.S01E01.mkv"),
            id("Wire/Season 2/Wire.S02E01.mkv"), id("D/d.2004.mkv"), id("E/Season 1/E.S01E01.mkv"),
        ];
        let (status, done) = site.order("move", json!({ "itemIds": chosen, "targetLibraryId": attic })).await;
        assert_eq!(status, "completed_with_warnings", "{done}");
        assert_eq!((&done["total"], &done["completed"], &done["failed"], &done["renamed"]), (&json!(7), &json!(6), &json!(1), &json!(0)), "{done}");
        assert_eq!(done["failures"][0]["itemId"], chosen[5], "what is there is never replaced");
        let now = ids(&site).await;
        assert_eq!(now.keys().map(String::as_str).collect::<Vec<_>>(), [
            "attic/A/a.2001.mkv", "attic/E.S01E01.mkv", "attic/Wire/Season 1/Wire.S01E01.mkv", "attic/Wire/Season 2/Wire.S02E01.mkv",
            "attic/b.2002.mkv", "attic/c.2003.mkv", "films/B/b2.2002.mkv", "films/D/d.2004.mkv", "films/E/Season 2/E.S02E01.mkv",
        ]);
        assert!(now.keys().all(|path| site.is_there(path)), "no row without its file");
        assert!(site.is_there("attic/A/a.srt") && !site.is_there("films/A") && !site.is_there("films/Wire"));
        assert_eq!(now["attic/A/a.2001.mkv"], chosen[0], "it is the same item");
        assert_eq!(site.get("/series?search=wire").await["total"], 0, "a film stays one: {now:?}");
        // A scan finds all of it as it is written down.
        for library in &libraries {
            site.house.scans(library).await;
        }
        assert_eq!(ids(&site).await, now);
        let (_, done) = site.order("move", json!({ "itemIds": [chosen[0]], "targetLibraryId": attic })).await;
        assert_eq!((&done["completed"], &done["failed"]), (&json!(1), &json!(0)), "it is there already");
        // A move that fails leaves everything.
        site.house.around.before.store(true, Ordering::SeqCst);
        let (_, done) = site.order("move", json!({ "itemIds": [id("B/b2.2002.mkv")], "targetLibraryId": attic })).await;
        assert_eq!(done["failed"], 1, "{done}");
        assert!(done["failures"][0]["message"].as_str().unwrap().contains("the disk is full"), "{done}");
        assert_eq!(ids(&site).await, now);
        *site.house.around.lost.lock().unwrap() = vec![Permission::MediaManagerMoveFiles];
        let (status, _) = site.order("move", json!({ "itemIds": [id("B/b2.2002.mkv")], "targetLibraryId": attic })).await;
        assert_eq!((&*status, site.is_there("films/B/b2.2002.mkv")), ("failed", true));
        site.house.stops().await;
    }

    async fn items_that_move_are_named_by_the_library_they_come_to(db: Db) {
        let files = ["films/A/a.2001.mkv", "films/b.2002.mkv", "attic/c.2003.mkv"];
        let (site, libraries) = shelf(&db, &files, &[("films", Kind::Movie), ("attic", Kind::Movie)]).await;
        let helper = site.house.helped();
        let known = ids(&site).await;
        let chosen: Vec<&String> = files.iter().map(|path| &known[*path]).collect();
        *helper.keeps.lock().unwrap() = vec![chosen[1].clone()];
        let order = || json!({ "itemIds": chosen, "targetLibraryId": libraries[1].id });
        let (status, done) = site.order("move", order()).await;
        assert_eq!((&*status, &done["completed"], &done["renamed"]), ("completed_with_warnings", &json!(3), &json!(1)), "{done}");
        let asked = helper.take_asked();
        let expected = (site.house.principal.user_id.to_string(), "name 2 of nobody moving true".to_owned());
        assert_eq!(asked, [expected], "not the one that was there");
        let (status, done) = site.order("move", order()).await;
        assert_eq!((&*status, &done["renamed"], helper.take_asked().len()), ("completed", &json!(0), 0), "{done}");
        site.house.stops().await;
    }

    async fn a_move_that_was_cut_off_is_written_down(db: Db) {
        let (site, libraries) = shelf(&db, &["films/A/a.2001.mkv", "attic/x.2002.mkv"], &[("films", Kind::Movie), ("attic", Kind::Movie)]).await;
        let id = ids(&site).await["films/A/a.2001.mkv"].clone();
        site.house.around.after.store(true, Ordering::SeqCst);
        let body = json!({ "itemIds": [id], "targetLibraryId": libraries[1].id });
        let (_, asked) = site.admin("POST", "/items/bulk/move", Some(body)).await;
        for _ in 0..6000 {
            if site.is_there("attic/A/a.2001.mkv") {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert!(site.is_there("attic/A/a.2001.mkv"));
        assert_eq!(site.get(&format!("/items/{id}")).await["libraryId"], libraries[0].id, "not written down yet");
        site.house.stops().await;
        let next = House::over(&db, site.house.root.clone(), Default::default());
        next.starts_jobs().await;
        let (status, done) = next.ended(asked["jobId"].as_str().unwrap()).await;
        assert_eq!((&*status, &done["completed"], &done["failed"]), ("completed", &json!(1), &json!(0)), "{done}");
        let index = next.index(&libraries[1]).await;
        assert_eq!(index.into_keys().collect::<Vec<_>>(), ["A/a.2001.mkv", "x.2002.mkv"]);
        next.stops().await;
    }
}
