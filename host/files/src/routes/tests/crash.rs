//! What a crash leaves between the steps of a delete or a restore, and what the next start makes of it.

use qm_db::{Db, db_test};
use serde_json::json;

use super::Site;

qm_db::sql! {
    MARK_PENDING = "UPDATE file_trash SET pending = $1";
    FORGET = "DELETE FROM file_trash";
}

impl Site {
    async fn run(&self, statement: qm_db::Statement) {
        let mut tx = self.db.begin_write().await.unwrap();
        if statement.text == MARK_PENDING.text {
            qm_db::exec!(&mut tx, MARK_PENDING, true)
                .await
                .unwrap()
                .exactly(1)
                .unwrap();
        } else {
            qm_db::exec!(&mut tx, FORGET).await.unwrap().exactly(1).unwrap();
        }
        tx.commit_quiet().await.unwrap();
    }

    /// Deletes a file into the trash; answers its payload's real path.
    async fn delete_one(&self) -> std::path::PathBuf {
        self.put("show/a.txt", "123");
        self.done("/api/files/delete", json!({ "path": "/show/a.txt" }))
            .await;
        self.at(".quartermaster-trash").join(&self.payloads()[0])
    }
}

db_test! {
    async fn after_the_move_and_before_the_record_was_settled(db: Db) {
        let site = Site::new(&db).await;
        site.delete_one().await;
        site.run(MARK_PENDING).await;
        assert!(site.trash().await.is_empty());
        let site = site.restarted();
        site.files.recover().await.unwrap();
        let listed = site.trash().await;
        assert_eq!(listed[0]["originalPath"], "/show/a.txt");
        site.done("/api/files/trash/restore", json!({ "id": listed[0]["id"] })).await;
        assert_eq!(site.read("show/a.txt").as_deref(), Some("123"));
        assert!(site.audit().await.iter().any(|row| row.metadata()["recovered"] == true));
        let told = site.heard.take();
        let place = site.at("show/a.txt").canonicalize().unwrap();
        assert_eq!(told[0], ("file.deleted", json!({ "path": place })), "subscribers hear of it at last");
    }

    async fn before_the_move(db: Db) {
        let site = Site::new(&db).await;
        let payload = site.delete_one().await;
        site.run(MARK_PENDING).await;
        std::fs::rename(payload, site.at("show/a.txt")).unwrap();
        let site = site.restarted();
        site.files.recover().await.unwrap();
        assert!(site.trash().await.is_empty());
        assert_eq!(site.read("show/a.txt").as_deref(), Some("123"));
        site.done("/api/files/delete", json!({ "path": "/show/a.txt" })).await;
        assert_eq!(site.trash().await.len(), 1);
    }

    async fn after_a_restore_and_before_its_record_went(db: Db) {
        let site = Site::new(&db).await;
        let payload = site.delete_one().await;
        std::fs::rename(payload, site.at("show/a.txt")).unwrap();
        let site = site.restarted();
        site.files.recover().await.unwrap();
        assert!(site.trash().await.is_empty());
    }

    async fn an_item_without_a_record_is_not_lost(db: Db) {
        let site = Site::new(&db).await;
        site.delete_one().await;
        site.run(FORGET).await;
        let site = site.restarted();
        site.files.recover().await.unwrap();
        let listed = site.trash().await;
        assert_eq!((listed[0]["name"].as_str(), listed[0]["size"].as_u64()), (Some("a.txt"), Some(3)));
        let restored = site.done("/api/files/trash/restore", json!({ "id": listed[0]["id"] })).await;
        assert_eq!((restored["path"].as_str(), site.read("a.txt").as_deref()), (Some("/a.txt"), Some("123")));
    }

    async fn a_disk_that_is_not_there_loses_no_record(db: Db) {
        let site = Site::new(&db).await;
        site.delete_one().await;
        let trash = site.at(".quartermaster-trash");
        let elsewhere = site.outside("unplugged");
        std::fs::rename(&trash, &elsewhere).unwrap();
        let site = site.restarted();
        site.files.recover().await.unwrap();
        let id = site.trash().await[0]["id"].clone();
        assert_eq!(site.post("/api/files/trash/restore", json!({ "id": id })).await.status, 409);
        assert_eq!(site.done("/api/files/trash/empty", json!({})).await["removed"], 0);
        std::fs::rename(&elsewhere, &trash).unwrap();
        site.done("/api/files/trash/restore", json!({ "id": id })).await;
        assert_eq!(site.read("show/a.txt").as_deref(), Some("123"));
    }

    async fn a_trash_that_was_removed_by_hand_gives_its_records_up(db: Db) {
        let site = Site::new(&db).await;
        site.delete_one().await;
        std::fs::remove_dir_all(site.at(".quartermaster-trash")).unwrap();
        let id = site.trash().await[0]["id"].clone();
        assert_eq!(site.post("/api/files/trash/purge", json!({ "id": id })).await.status, 404);
        assert!(site.trash().await.is_empty());
    }
}
