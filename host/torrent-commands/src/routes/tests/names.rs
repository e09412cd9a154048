//! New names of files and folders, trackers of a host, and the look for data.

use qm_db::{Db, db_test};
use qm_ports::engine::{File, Torrent, capability};
use qm_test_base::blank::{hash, torrent};
use serde_json::json;

use super::able;
use super::house::{House, item};

fn file(index: u32, path: &str) -> File {
    File {
        index,
        path: path.into(),
        size: 5,
        progress: 1.0,
        ..File::default()
    }
}

/// The torrent in the list, whose data lies at this path.
async fn place(house: &House, engine: &str, client: &str, n: u8, path: &str) {
    let placed = Torrent {
        content_path: path.into(),
        downloaded: 10,
        progress: 1.0,
        ..torrent(n)
    };
    house.client(client).put(placed);
    let patience = std::time::Duration::from_mins(1);
    house.loaded(engine).refresh_exactly(patience).await.unwrap();
}

db_test! {
    async fn files_and_folders_are_renamed_where_nothing_is_lost(db: Db) {
        let (house, engine) = able(&db).await;
        place(&house, &engine, "a", 1, "/downloads/Show").await;
        house.client("a").files.lock().unwrap().extend([file(0, "Show/S01/e1.mkv"), file(1, "Show/S01/e2.mkv")]);
        let path = |rest: &str| format!("/{}/{rest}", hash(1));
        let told = |house: &House| house.client("a").commands().iter().map(|(_, command)| format!("{command:?}")).collect::<Vec<_>>();
        let rename = async |body| house.post(&path("files/rename"), body).await;
        let folder = async |body| house.post(&path("folders/rename"), body).await;

        for name in ["../x", "/etc/passwd", "a//b", "a\nb", ".", &"x".repeat(256)] {
            let (status, code, _) = rename(json!({ "fileIndex": 0, "name": name })).await.refusal();
            assert_eq!((status, code.as_str()), (400, "bad_request.file_name"), "{name}");
        }
        let (status, code, _) = rename(json!({ "fileIndex": 7, "name": "x" })).await.refusal();
        assert_eq!((status, code.as_str()), (404, "not_found.file"));
        let (status, code, why) = folder(json!({ "path": "Show/S02", "newPath": "Show/x" })).await.refusal();
        assert_eq!((status, code.as_str()), (404, "not_found.folder"), "{why}");

        house.disk.files.lock().unwrap().insert("/downloads/Show/S01/e3.mkv".into());
        let (status, code, why) = rename(json!({ "fileIndex": 0, "name": "e3.mkv" })).await.refusal();
        assert_eq!((status, code.as_str()), (409, "conflict.exists"), "{why}");
        assert!(why.contains("/downloads/Show/S01/e3.mkv"), "{why}");
        house.disk.files.lock().unwrap().insert("/downloads/Film/e2.mkv".into());
        let (status, code, _) = folder(json!({ "path": "Show/S01", "newPath": "Film" })).await.refusal();
        assert_eq!((status, code.as_str()), (409, "conflict.exists"));
        // Another torrent's data will be there, though nothing is yet.
        place(&house, &engine, "a", 2, "/downloads/Later").await;
        let (status, code, _) = folder(json!({ "path": "Show", "newPath": "Later" })).await.refusal();
        assert_eq!((status, code.as_str()), (409, "conflict.exists"));
        assert!(told(&house).is_empty() && house.audited().await.is_empty());

        assert_eq!(rename(json!({ "fileIndex": 1, "name": "e2.mkv" })).await.status, 201, "it is called so");
        assert!(told(&house).is_empty());
        assert_eq!(rename(json!({ "fileIndex": 1, "name": "e4.mkv" })).await.status, 201);
        assert_eq!(folder(json!({ "path": "Show/S01", "newPath": "Show/Season 1" })).await.status, 201);
        assert_eq!(told(&house), [
            "RenameFile { index: 1, name: \"e4.mkv\" }",
            "RenameFolder { old_path: \"Show/S01\", new_path: \"Show/Season 1\" }",
        ]);
        house.close().await;
    }

    async fn files_that_others_use_keep_their_names(db: Db) {
        let (house, engine) = able(&db).await;
        place(&house, &engine, "a", 1, "/downloads/Show").await;
        house.client("a").files.lock().unwrap().extend([file(0, "Show/e1.mkv"), file(1, "Show/e2.mkv")]);
        house.client("b").files.lock().unwrap().push(file(0, "Show/e1.mkv"));
        let second = house.engine("second", "b").await;
        place(&house, &second, "b", 3, "/downloads/Show").await;
        for (rest, body) in [
            ("files/rename", json!({ "fileIndex": 0, "name": "x.mkv" })),
            ("folders/rename", json!({ "path": "Show", "newPath": "Other" })),
        ] {
            let (status, code, why) = house.post(&format!("/{}/{rest}?engineId={engine}", hash(1)), body.clone()).await.refusal();
            assert_eq!((status, code.as_str()), (409, "conflict.shared_data"), "{why}");
            assert!(why.contains("torrent 3 (second)") && why.contains("keep their names"), "{why}");
            let action = if rest == "files/rename" { "renameFile" } else { "renameFolder" };
            let many = json!({ "items": [{ "engineId": engine, "hash": *hash(1) }], "action": action, "params": body });
            let many = house.post("/bulk", many).await.json();
            assert_eq!((&many["failed"], &many["results"][0]["code"]), (&json!(1), &json!("conflict.shared_data")), "{many}");
        }
        assert!(house.client("a").commands().is_empty());
        // The torrent itself may be called otherwise.
        let renamed = json!({ "items": [{ "engineId": engine, "hash": *hash(1) }], "action": "rename", "params": { "name": "new" } });
        assert_eq!(house.post("/bulk", renamed).await.json()["succeeded"], json!(1));
        house.close().await;
    }

    async fn data_that_others_use_is_not_moved_along(db: Db) {
        let (house, engine) = able(&db).await;
        house.client("a").offer(capability::MOVES_DATA);
        for client in ["a", "b"] {
            house.client(client).files.lock().unwrap().push(file(0, "Show/e1.mkv"));
        }
        place(&house, &engine, "a", 1, "/downloads/Show").await;
        place(&house, &engine, "a", 4, "/downloads/Film").await;
        house.client("a").change(&hash(1), |torrent| torrent.auto_managed = Some(true));
        let second = house.engine("second", "b").await;
        place(&house, &second, "b", 3, "/downloads/Show").await;
        place(&house, &engine, "a", 5, "/downloads/Other").await;
        for (rest, action, body, params) in [
            ("download-path", "downloadPath", json!({ "path": "/downloads/part" }), json!({ "downloadPath": "/downloads/part" })),
            ("auto-manage", "autoManage", json!({ "enabled": true }), json!({ "enabled": true })),
            ("category", "setCategory", json!({ "category": "tv" }), json!({ "category": "tv" })),
        ] {
            let before = house.client("a").commands().len();
            let (status, code, why) = house.post(&format!("/{}/{rest}?engineId={engine}", hash(1)), body.clone()).await.refusal();
            assert_eq!((status, code.as_str()), (409, "conflict.shared_data"), "{rest}: {why}");
            assert!(why.contains("torrent 3 (second)") && why.contains("not moved"), "{why}");
            assert_eq!(house.client("a").commands().len(), before, "the client is not asked");
            let items: Vec<_> = [1, 4, 5].iter().map(|n| item(&engine, &hash(*n))).collect();
            let many = house.post("/bulk", json!({ "items": items, "action": action, "params": params })).await.json();
            assert_eq!((&many["succeeded"], &many["results"][0]["code"]), (&json!(2), &json!("conflict.shared_data")), "{many}");
            assert_eq!(house.post(&format!("/{}/{rest}?engineId={engine}", hash(4)), body).await.status, 201, "{rest}");
        }
        house.close().await;
    }

    async fn trackers_of_a_host_are_replaced_and_others_stay(db: Db) {
        let (house, engine) = able(&db).await;
        let of = |n: u8, host: &str, count: u32| Torrent { tracker_host: Some(host.into()), trackers_count: Some(count), ..torrent(n) };
        house.client("a").clear();
        for torrent in [of(1, "old.example", 1), of(2, "other.example", 1), of(3, "other.example", 2)] {
            house.client("a").put(torrent);
        }
        house.loaded(&engine).refresh_exactly(std::time::Duration::from_mins(1)).await.unwrap();
        let urls = ["http://old.example:80/key/announce", "udp://other.example:1"].map(str::to_owned);
        *house.client("a").trackers.lock().unwrap() = urls.to_vec();
        let answer = house.post("/trackers/replace-host", json!({ "host": "OLD.example", "newHost": "new.example" })).await;
        assert_eq!(answer.status, 201, "{}", answer.json());
        let body = answer.json();
        assert_eq!((&body["succeeded"], &body["failed"]), (&json!(2), &json!(0)), "{body}");
        let told = house.client("a").commands();
        let mut hashes: Vec<&str> = told.iter().map(|(hash, _)| hash.as_str()).collect();
        hashes.sort_unstable();
        assert_eq!(hashes, [&*hash(1), &*hash(3)], "the one with one tracker elsewhere is not asked");
        let expected = "ReplaceTracker { old_url: \"http://old.example:80/key/announce\", new_url: \"http://new.example:80/key/announce\" }";
        assert!(told.iter().all(|(_, command)| format!("{command:?}") == expected), "{told:?}");
        let rows = house.audited().await;
        let metadata = &rows[0].metadata.as_ref().unwrap().0;
        assert_eq!((&metadata["host"], &metadata["newHost"], &metadata["count"]), (&json!("OLD.example"), &json!("new.example"), &json!(2)));
        assert!(!metadata.to_string().contains("key"));
        let nobody = house.post("/trackers/replace-host", json!({ "host": "gone.example", "newUrl": "udp://new.example:1" })).await;
        assert_eq!(nobody.json()["results"], json!([]));
        let vague = house.post("/trackers/replace-host", json!({ "host": "gone.example" })).await;
        assert_eq!(vague.refusal().0, 400);
        house.close().await;
    }

    async fn data_is_looked_for_where_the_client_says(db: Db) {
        let (house, engine) = able(&db).await;
        let check = async || house.ask("POWER_USER", "POST", &format!("/{}/location/check", hash(1)), None).await.json();
        place(&house, &engine, "a", 1, "/downloads/torrent 1").await;
        let missing = check().await;
        assert_eq!((&missing["state"], &missing["found"]), (&json!("missing"), &json!(0)), "{missing}");
        house.disk.files.lock().unwrap().insert("/downloads/torrent 1".into());
        let there = check().await;
        assert_eq!(there, json!({
            "savePath": "/downloads", "contentPath": "/downloads/torrent 1", "state": "present", "found": 1, "missing": 0,
        }));
        place(&house, &engine, "a", 1, "/elsewhere/torrent 1").await;
        assert_eq!(check().await["state"], json!("unseen"));
        assert_eq!(house.ask("POWER_USER", "POST", &format!("/{}/location/check", hash(9)), None).await.status, 404);
        assert_eq!(house.ask("USER", "POST", &format!("/{}/location/check", hash(1)), None).await.status, 403);
        house.close().await;
    }
}
