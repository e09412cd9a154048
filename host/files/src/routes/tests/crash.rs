//! States that a crash leaves between the steps of a delete or a restore, and their repair at the next start.

use std::time::Duration;

use qm_db::{Db, FromRow, db_test};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Site;

qm_db::sql! {
    MARK_PENDING = "UPDATE file_trash SET pending = $1";
    FORGET = "DELETE FROM file_trash";
    NOTED = "SELECT storage_root, directory FROM file_temporaries ORDER BY directory";
    NOTE = "INSERT INTO file_temporaries (id, storage_root, directory, whole_tree, noted_at) VALUES ($1, $2, $3, $4, $5)";
}

#[derive(FromRow)]
struct Noted {
    directory: String,
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
        tx.commit().await.unwrap();
    }

    /// Writes the note of a process that was killed while it made temporaries there.
    async fn note(&self, root: &str, directory: &str, whole_tree: bool) {
        let id = format!("{root}{directory}");
        let mut tx = self.db.begin_write().await.unwrap();
        let noted = qm_db::exec!(&mut tx, NOTE, id, root, directory, whole_tree, super::START_MS);
        noted.await.unwrap().exactly(1).unwrap();
        tx.commit().await.unwrap();
    }

    /// The directories noted.
    async fn noted(&self) -> Vec<String> {
        let mut tx = self.db.begin_read().await.unwrap();
        let rows = qm_db::all!(&mut tx, Noted, NOTED).await.unwrap();
        rows.into_iter().map(|row| row.directory).collect()
    }

    /// Waits until nothing is noted: that is struck in the background.
    async fn until_nothing_is_noted(&self) {
        for _ in 0..6000 {
            if self.noted().await.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("still noted: {:?}", self.noted().await);
    }

    async fn sweep(&self) -> u64 {
        self.files
            .sweep_temporaries(&CancellationToken::new())
            .await
            .unwrap()
    }

    /// Deletes a file into the trash; answers its payload's real path.
    async fn delete_one(&self) -> std::path::PathBuf {
        self.put("show/a.txt", "123");
        self.done("/api/files/delete", json!({ "path": "/show/a.txt" }))
            .await;
        self.path_to(".quartermaster-trash").join(&self.payloads()[0])
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
        let told = site.heard.take_payloads();
        let place = site.path_to("show/a.txt").canonicalize().unwrap();
        assert_eq!(told[0], ("file.deleted", json!({ "path": place })), "subscribers hear of it at last");
    }

    async fn before_the_move(db: Db) {
        let site = Site::new(&db).await;
        let payload = site.delete_one().await;
        site.run(MARK_PENDING).await;
        std::fs::rename(payload, site.path_to("show/a.txt")).unwrap();
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
        std::fs::rename(payload, site.path_to("show/a.txt")).unwrap();
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

    async fn an_item_without_a_record_is_found_below_a_default_root_too(db: Db) {
        let site = Site::new(&db).await;
        site.put("films/b.txt", "12345");
        let films = site.path_to("films").canonicalize().unwrap();
        site.set("fileManager.defaultRootPath", json!(films)).await;
        site.done("/api/files/delete", json!({ "path": "/b.txt" })).await;
        site.run(FORGET).await;
        let site = site.restarted();
        site.files.recover().await.unwrap();
        let listed = site.trash().await;
        assert_eq!(listed.len(), 1);
        site.done("/api/files/trash/restore", json!({ "id": listed[0]["id"] })).await;
        assert_eq!(site.read("films/b.txt").as_deref(), Some("12345"));
    }

    async fn temporaries_are_removed_where_they_were_noted(db: Db) {
        let site = Site::new(&db).await;
        let left = ".quartermaster-tmp-0000000100000001";
        for directory in ["a", "b/c", "not noted", "away"] {
            site.put(&format!("{directory}/{left}"), "half a copy");
            site.put(&format!("{directory}/kept"), "kept");
        }
        let root = site.path_to("").canonicalize().unwrap();
        let root = root.to_str().unwrap().trim_end_matches('/');
        site.note(root, "/a", false).await;
        site.note(root, "/b", true).await;
        site.note(root, "/gone", false).await;
        site.note(root, "/away", false).await;
        site.note("/nobody/knows", "/", false).await;
        // As a mount point looks whose disk is away.
        std::fs::rename(site.path_to("away"), site.outside("disk")).unwrap();
        std::fs::create_dir(site.path_to("away")).unwrap();
        let site = site.restarted();
        assert_eq!(site.sweep().await, 2);
        assert_eq!(site.read(&format!("a/{left}")), None);
        assert_eq!(site.read(&format!("b/c/{left}")), None);
        assert!(site.read(&format!("not noted/{left}")).is_some());
        assert_eq!(site.noted().await, ["/", "/away"]);
        std::fs::remove_dir(site.path_to("away")).unwrap();
        std::fs::rename(site.outside("disk"), site.path_to("away")).unwrap();
        assert_eq!(site.sweep().await, 1);
        assert_eq!(site.noted().await, ["/"]);
        site.clock.advance(Duration::from_hours(90 * 24));
        assert_eq!((site.sweep().await, site.noted().await), (0, vec![]), "not for ever");
        for directory in ["a", "b/c", "away"] {
            assert_eq!(site.read(&format!("{directory}/kept")).as_deref(), Some("kept"));
        }
    }

    async fn a_replacement_across_file_systems_that_is_cancelled_leaves_the_old_file(db: Db) {
        let site = Site::spanning(&db).await;
        let far = site.far.as_ref().unwrap().path().to_path_buf();
        std::fs::write(far.join("film.mkv"), "old").unwrap();
        let size = 256 << 20;
        site.put("film.mkv", vec![7; size]);
        let body = json!({
            "operation": "move",
            "destination": "/far",
            "items": [{ "source": "/film.mkv", "resolution": "replace", "targetPath": "/far/film.mkv" }],
        });
        let temporaries = || {
            let names = std::fs::read_dir(&far).unwrap().map(|entry| entry.unwrap().file_name());
            names.filter(|name| name.to_string_lossy().starts_with(".quartermaster-tmp-")).count()
        };
        let old = || std::fs::read_to_string(far.join("film.mkv")).unwrap();
        let stopped = async {
            while temporaries() == 0 {
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
            assert_eq!((old().as_str(), site.noted().await.len()), ("old", 1), "while the copy is made");
            site.files.stop();
        };
        let (answer, ()) = tokio::join!(site.done("/api/files/resolve-conflicts", body.clone()), stopped);
        assert_eq!((&answer["failed"], &answer["results"][0]["message"]), (&json!(1), &json!("Cancelled")));
        assert_eq!((old().as_str(), temporaries()), ("old", 0));
        assert_eq!(site.path_to("film.mkv").metadata().unwrap().len(), size as u64);
        assert!(site.trash().await.is_empty());
        site.until_nothing_is_noted().await;
        let answer = site.done("/api/files/resolve-conflicts", body).await;
        assert_eq!(answer["succeeded"], 1, "{answer}");
        assert_eq!(far.join("film.mkv").metadata().unwrap().len(), size as u64);
        assert!(!site.path_to("film.mkv").exists());
        let trashed = site.trash().await;
        assert_eq!((trashed.len(), &trashed[0]["size"]), (1, &json!(3)));
        site.until_nothing_is_noted().await;
    }

    async fn a_disk_that_is_not_there_loses_no_record(db: Db) {
        let site = Site::new(&db).await;
        site.delete_one().await;
        let trash = site.path_to(".quartermaster-trash");
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
        std::fs::remove_dir_all(site.path_to(".quartermaster-trash")).unwrap();
        let id = site.trash().await[0]["id"].clone();
        assert_eq!(site.post("/api/files/trash/purge", json!({ "id": id })).await.status, 404);
        assert!(site.trash().await.is_empty());
    }
}
