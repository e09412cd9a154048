use std::time::Duration;

use qm_db::{Db, db_test};
use serde_json::{Value, json};

use super::{START_MS, Site, request};
use qm_kernel::Timestamp;

impl Site {
    /// Deletes a file into the trash; answers its id there.
    async fn trashed(&self, file: &str) -> String {
        self.done("/api/files/delete", json!({ "path": file })).await;
        self.trash().await[0]["id"].as_str().unwrap().to_owned()
    }
}

db_test! {
    async fn what_was_deleted_is_listed_and_put_back(db: Db) {
        let site = Site::new(&db).await;
        site.put("show/s1/a.mkv", "12345");
        let id = site.trashed("/show/s1/a.mkv").await;
        let listed = site.trash().await;
        let deleted_at = Timestamp::from_ms(START_MS);
        let expires_at = deleted_at.plus(Duration::from_hours(30 * 24));
        let expected = json!({
            "id": id, "name": "a.mkv", "originalPath": "/show/s1/a.mkv", "isDirectory": false, "size": 5,
            "deletedAt": deleted_at, "deletedBy": "u", "expiresAt": expires_at,
        });
        assert_eq!(listed, [expected]);
        assert!(site.payloads()[0].starts_with(&format!("{id}__a.mkv")));
        std::fs::remove_dir_all(site.path_to("show")).unwrap();
        site.heard.take_payloads();
        let restored = site.done("/api/files/trash/restore", json!({ "id": id })).await;
        assert_eq!(restored, json!({ "path": "/show/s1/a.mkv" }));
        assert_eq!((site.read("show/s1/a.mkv").as_deref(), site.trash().await.len()), (Some("12345"), 0));
        let moved = site.heard.take_payloads();
        assert_eq!(moved[0].0, "file.moved");
        assert!(moved[0].1["from"].as_str().unwrap().contains(".quartermaster-trash"));
        assert_eq!(site.post("/api/files/trash/restore", json!({ "id": id })).await.refusal(), (404, "Trash item not found".into()));
        assert!(site.audited().await.contains(&"file.restore success".to_owned()));
    }

    async fn a_place_that_is_taken_is_given_up_only_when_asked(db: Db) {
        let site = Site::new(&db).await;
        site.put("a.txt", "old");
        let id = site.trashed("/a.txt").await;
        site.put("a.txt", "new");
        let taken = site.post("/api/files/trash/restore", json!({ "id": id })).await;
        assert_eq!(taken.refusal(), (409, "An item already exists at the original location".into()));
        assert_eq!(site.read("a.txt").as_deref(), Some("new"));
        site.done("/api/files/trash/restore", json!({ "id": id, "overwrite": true })).await;
        assert_eq!(site.read("a.txt").as_deref(), Some("old"));
    }

    async fn of_several_who_put_an_item_back_one_succeeds(db: Db) {
        let site = Site::new(&db).await;
        site.put("a.txt", "1");
        let id = site.trashed("/a.txt").await;
        let body = json!({ "id": id });
        let restore = || site.post("/api/files/trash/restore", body.clone());
        let (one, other, third) = tokio::join!(restore(), restore(), restore());
        let mut statuses = [one.status, other.status, third.status];
        statuses.sort_unstable();
        assert_eq!(statuses[0], 201, "{statuses:?}");
        assert!(statuses[1..].iter().all(|status| matches!(status, 404 | 409)), "{statuses:?}");
        assert_eq!((site.read("a.txt").as_deref(), site.trash().await.len()), (Some("1"), 0));
    }

    async fn purging_and_emptying_are_for_good(db: Db) {
        let site = Site::new(&db).await;
        for name in ["a", "b", "c"] {
            site.put(name, "123");
            site.trashed(&format!("/{name}")).await;
            site.clock.advance(Duration::from_secs(1));
        }
        let id = site.trash().await[0]["id"].clone();
        assert_eq!(site.trash().await[0]["name"], "c", "the latest first");
        assert_eq!(site.done("/api/files/trash/purge", json!({ "id": id })).await, json!({ "ok": true }));
        assert_eq!(site.post("/api/files/trash/purge", json!({ "id": id })).await.status, 404);
        assert_eq!(site.post("/api/files/trash/purge", json!({})).await.status, 400);
        assert_eq!(site.payloads().len(), 2);
        assert_eq!(site.done("/api/files/trash/empty", json!({})).await, json!({ "removed": 2, "bytes": 6 }));
        let nothing = site.send(request("ADMINISTRATOR", "POST", "/api/files/trash/empty", None)).await;
        assert_eq!(nothing.json(), json!({ "removed": 0, "bytes": 0 }));
        assert!(site.payloads().is_empty() && site.trash().await.is_empty());
        let rows = site.audit().await;
        let purged = rows.iter().find(|row| row.metadata()["from"] == "trash").unwrap();
        assert_eq!(purged.metadata(), json!({ "mode": "permanent", "from": "trash", "bytes": 3 }));
    }

    async fn what_has_lain_long_enough_goes_and_zero_is_for_ever(db: Db) {
        let site = Site::new(&db).await;
        site.put("a", "123");
        site.trashed("/a").await;
        site.set("files.trashRetentionDays", json!(0.5)).await;
        site.clock.advance(Duration::from_hours(11));
        assert_eq!(site.files.sweep_trash().await.unwrap().removed, 0);
        site.clock.advance(Duration::from_hours(1));
        site.set("files.trashRetentionDays", json!(0)).await;
        assert_eq!(site.trash().await[0]["expiresAt"], Value::Null);
        assert_eq!(site.files.sweep_trash().await.unwrap().removed, 0, "for ever");
        site.set("files.trashRetentionDays", json!("nonsense")).await;
        assert_eq!(site.files.sweep_trash().await.unwrap().removed, 0, "thirty days");
        site.set("files.trashRetentionDays", json!(0.5)).await;
        let swept = site.files.sweep_trash().await.unwrap();
        assert_eq!((swept.removed, swept.bytes), (1, 3));
        assert!(site.payloads().is_empty());
        let rows = site.audit().await;
        let pruned = rows.iter().find(|row| row.action == "file.trash_prune").unwrap();
        assert_eq!(pruned.metadata(), json!({ "removed": 1, "bytes": 3, "retentionDays": 0.5 }));
        assert_eq!(site.trash().await.len(), 0);
    }

    async fn items_of_another_root_are_still_restored(db: Db) {
        let site = Site::new(&db).await;
        site.put("tv/a.txt", "1");
        let root = site.path_to("tv").canonicalize().unwrap();
        site.set("fileManager.defaultRootPath", json!(root)).await;
        let id = site.trashed("/a.txt").await;
        assert!(site.path_to("tv/.quartermaster-trash").is_dir(), "the trash of the root in effect");
        site.set("fileManager.defaultRootPath", json!("")).await;
        let restored = site.done("/api/files/trash/restore", json!({ "id": id })).await;
        assert_eq!((restored["path"].as_str(), site.read("tv/a.txt").as_deref()), (Some("/a.txt"), Some("1")));
    }
}
