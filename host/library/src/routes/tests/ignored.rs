//! Files that people have had forgotten, libraries that are gone, and those that lie in each other.

use qm_db::{Db, db_test};
use qm_media::model::library::Kind;
use serde_json::json;

use super::bulk::{ids, shelf};
use crate::testing::audited;

db_test! {
    async fn what_was_forgotten_stays_so_until_somebody_wants_it(db: Db) {
        let files = ["films/Ox (2013)/Ox (2013) - 4K.mkv", "films/Ox (2013)/Ox (2013) - 720p.mkv", "films/Boat (2001).mkv"];
        let (site, made) = shelf(&db, &files, &[("films", Kind::Movie)]).await;
        let known = ids(&site).await;
        let body = json!({ "itemIds": [known[files[0]]] });
        assert_eq!(site.admin("POST", "/items/bulk/remove", Some(body)).await.0, 201);
        for _ in 0..2 {
            let (_, done) = site.house.scans(&made[0]).await;
            assert_eq!((&done["skipped"], &done["added"]), (&json!(2), &json!(0)), "{done}");
            assert_eq!(site.get("/items").await["total"], 1);
        }
        let page = site.get("/ignored").await;
        let paths: Vec<&str> = page["items"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect();
        assert_eq!((page["total"].as_i64(), paths), (Some(2), vec![&*site.path(files[0]), &*site.path(files[1])]));
        for one in page["items"].as_array().unwrap() {
            let (status, told) = site.admin("DELETE", &format!("/ignored/{}", one["id"].as_str().unwrap()), None).await;
            assert_eq!((status, &told), (200, one));
        }
        site.house.scans(&made[0]).await;
        assert_eq!(site.get("/items").await["total"], 2, "found anew");
        // A folder, with what lies below it, and only within the library.
        let body = |path: &str| Some(json!({ "libraryId": made[0].id, "path": path }));
        let (status, told) = site.admin("POST", "/ignored", body(&site.path("films/Ox (2013)"))).await;
        assert_eq!((status, &told["path"]), (201, &json!(site.path("films/Ox (2013)"))), "{told}");
        let (status, again) = site.admin("POST", "/ignored", body(&site.path("films/Ox (2013)/"))).await;
        assert_eq!((status, &again), (201, &told), "once");
        site.house.scans(&made[0]).await;
        assert_eq!(site.get("/items").await["total"], 1);
        for (path, code) in [("films", "bad_request.outside_library"), ("elsewhere/x", "bad_request.outside_library"), ("films/../x", "bad_request.outside_library")] {
            let (status, refused) = site.admin("POST", "/ignored", body(&site.path(path))).await;
            assert_eq!((status, &refused["code"]), (400, &json!(code)), "{path}");
        }
        let nowhere = Some(json!({ "libraryId": "nobody", "path": "/x" }));
        assert_eq!(site.admin("POST", "/ignored", nowhere).await.0, 404);
        assert_eq!(site.admin("POST", "/ignored", Some(json!({}))).await.0, 400);
        assert_eq!(site.admin("DELETE", "/ignored/nobody", None).await.1["code"], "not_found.media_ignored");
        assert_eq!(site.ask("READ_ONLY", "POST", "/ignored", body("/x")).await.0, 403);
        assert_eq!(audited(&db, "media.ignored.add").await.len(), 2);
        assert_eq!(audited(&db, "media.ignored.remove").await.len(), 2);
        site.house.stops().await;
    }

    async fn the_last_file_of_a_library_goes_and_a_disk_that_is_gone_takes_nothing(db: Db) {
        let (site, made) = shelf(&db, &["films/Boat (2001).mkv"], &[("films", Kind::Movie)]).await;
        let scanned_at = || async { site.get("/libraries").await[0]["lastScanAt"].clone() };
        assert_eq!(site.get("/health").await["problems"], json!([]));
        let before = scanned_at().await;
        assert!(before.is_string());
        std::fs::rename(site.path("films"), site.path("away")).unwrap();
        let (status, _) = site.house.scans(&made[0]).await;
        assert_eq!(status, "completed_with_warnings");
        assert_eq!(scanned_at().await, before, "it was not scanned");
        let problems = site.get("/health").await["problems"].to_string();
        assert!(problems.contains("`films`") && problems.contains(&site.path("films")), "{problems}");
        // Another directory in its place, as of a disk that is not mounted.
        std::fs::create_dir(site.path("films")).unwrap();
        site.house.scans(&made[0]).await;
        assert_eq!(site.get("/items").await["total"], 1);
        std::fs::remove_dir(site.path("films")).unwrap();
        std::fs::rename(site.path("away"), site.path("films")).unwrap();
        std::fs::remove_file(site.path("films/Boat (2001).mkv")).unwrap();
        let (_, done) = site.house.scans(&made[0]).await;
        assert_eq!((&done["removed"], &site.get("/items").await["total"]), (&json!(1), &json!(0)), "{done}");
        site.house.stops().await;
    }

    async fn a_directory_is_one_library_and_one_within_is_told(db: Db) {
        let (site, made) = shelf(&db, &["films/a/b.2001.mkv"], &[("films", Kind::Movie)]).await;
        let new = |path: &str| Some(json!({ "name": "new", "kind": "movie", "path": site.path(path) }));
        let (status, refused) = site.admin("POST", "/libraries", new("films")).await;
        assert_eq!((status, &refused["code"]), (409, &json!("conflict.library_path")), "{refused}");
        let (status, told) = site.admin("POST", "/libraries", new("films/a")).await;
        assert_eq!(status, 201);
        let warnings = told["warnings"].to_string();
        assert!(warnings.contains("inside of library `films`"), "{warnings}");
        let id = told["id"].as_str().unwrap();
        let (status, refused) = site.admin("PATCH", &format!("/libraries/{id}"), new("films")).await;
        assert_eq!((status, &refused["code"]), (409, &json!("conflict.library_path")));
        let (status, same) = site.admin("PATCH", &format!("/libraries/{}", made[0].id), new("films")).await;
        assert_eq!((status, &same["warnings"]), (200, &json!([])), "its own directory");
        let (status, told) = site.admin("PATCH", &format!("/libraries/{id}"), new("other")).await;
        assert_eq!((status, &told["warnings"]), (200, &json!([])));
        site.house.stops().await;
    }
}
