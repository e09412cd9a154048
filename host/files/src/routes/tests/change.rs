use std::os::unix::fs::symlink;

use qm_db::{Db, db_test};
use serde_json::{Value, json};

use super::{AuditRow, Site, payload, request};

db_test! {
    async fn a_path_no_disk_could_hold_is_not_written_to_the_trail_whole(db: Db) {
        let site = Site::new(&db).await;
        let long = "x".repeat(1_000_000);
        assert_eq!(site.post("/api/files/delete", json!({ "path": long })).await.status, 400);
        let put = request("ADMINISTRATOR", "PUT", "/api/files/root", Some(json!({ "path": format!("/{long}") })));
        assert_eq!(site.send(put).await.status, 400);
        let rows = site.audit().await;
        assert_eq!(rows.len(), 2);
        for row in rows {
            let told = row.object_id.as_ref().map_or(0, String::len) + row.metadata().to_string().len();
            assert!(told < 200_000, "{} {told}", row.action);
        }
    }

    async fn folders_are_made_once(db: Db) {
        let site = Site::new(&db).await;
        let made = site.done("/api/files/folders", json!({ "path": "/", "name": "films" })).await;
        assert_eq!(made, json!({ "operation": "create_folder", "ok": true, "path": "/films" }));
        site.put("file", "x");
        let exists = "A file or folder with that name already exists";
        for (parent, name, status, message) in [
            ("/", "films", 409, exists),
            ("/none", "a", 404, ""),
            ("/file", "a", 400, ""),
            ("/", "a/b", 400, "Invalid folder name"),
            ("/", "..", 400, "Invalid folder name"),
            ("/", "", 400, "Invalid folder name"),
            ("/", "a\\b", 400, "Invalid folder name"),
            ("../outside", "a", 403, ""),
        ] {
            let (found, text) = site.post("/api/files/folders", json!({ "path": parent, "name": name })).await.refusal();
            assert!(found == status && text.contains(message), "{parent} {name}: {found} {text}");
        }
        assert_eq!(site.post("/api/files/folders", json!({ "path": "/", "name": "a", "mode": 7 })).await.status, 400);
        let rows = site.audit().await;
        let made = rows.iter().find(|row| row.action == "file.created_folder").unwrap();
        assert_eq!((made.object_type.as_deref(), made.object_id.as_deref()), (Some("file"), Some("/films")));
        assert!(rows.iter().any(|row| row.action == "file.operation_failed" && row.metadata()["intended"] == "file.created_folder"));
    }

    async fn renames_stay_in_their_directory(db: Db) {
        let site = Site::new(&db).await;
        site.put("a/one.txt", "1");
        site.put("a/two.txt", "2");
        let rename = |from: &str, to: &str, overwrite: bool| json!({ "path": from, "newName": to, "overwrite": overwrite });
        let done = site.done("/api/files/rename", rename("/a/one.txt", "three.txt", false)).await;
        assert_eq!((&done["operation"], &done["path"]), (&json!("rename"), &json!("/a/three.txt")));
        let root = site.path_to("").canonicalize().unwrap();
        let moved = json!({ "from": root.join("a/one.txt"), "to": root.join("a/three.txt") });
        assert_eq!(site.heard.take_payloads(), [("file.moved", moved)]);
        site.done("/api/files/rename", rename("/a/three.txt", "three.txt", false)).await;
        assert!(site.heard.take_payloads().is_empty(), "the same name is no move");
        assert_eq!(site.post("/api/files/rename", rename("/a/three.txt", "two.txt", false)).await.status, 409);
        site.done("/api/files/rename", rename("/a/three.txt", "two.txt", true)).await;
        assert_eq!(site.read("a/two.txt").as_deref(), Some("1"));
        for (from, to, status) in [("/none", "x", 404), ("/a/two.txt", "../x", 400), ("/", "x", 403), ("/a/two.txt", "", 400)] {
            assert_eq!(site.post("/api/files/rename", rename(from, to, false)).await.status, status, "{from} {to}");
        }
    }

    async fn moves_and_copies_keep_the_name(db: Db) {
        let site = Site::new(&db).await;
        site.put("a/one.txt", "12345");
        site.put("a/sub/two.txt", "67");
        let transfer = |from: &str, to: &str| json!({ "source": from, "destination": to });
        let copied = site.done("/api/files/copy", transfer("/a", "/b/c")).await;
        assert_eq!(copied, json!({ "operation": "copy", "ok": true, "path": "/b/c/a", "itemCount": 1, "bytes": 7 }));
        assert_eq!((site.read("b/c/a/sub/two.txt").as_deref(), site.read("a/one.txt").as_deref()), (Some("67"), Some("12345")));
        assert!(site.heard.take_payloads().is_empty(), "a copy publishes nothing");
        let moved = site.done("/api/files/move", transfer("/a/one.txt", "b")).await;
        assert_eq!((&moved["path"], &moved["bytes"]), (&json!("/b/one.txt"), &json!(5)));
        assert_eq!(site.heard.take_payloads()[0].0, "file.moved");
        site.put("one.txt", "new");
        for (route, from, to, status, message) in [
            ("move", "/b", "/b/c", 400, "Cannot move or copy an item into itself"),
            ("copy", "/b", "/b", 400, "Cannot move or copy an item into itself"),
            ("move", "/one.txt", "/b", 409, "Destination already exists"),
            ("copy", "/one.txt", "/b", 409, "Destination already exists"),
            ("move", "/none", "/b", 404, ""),
            ("move", "/one.txt", "/../outside", 403, "Path is outside the allowed roots"),
            ("move", "/", "/b", 403, ""),
        ] {
            let (found, text) = site.post(&format!("/api/files/{route}"), transfer(from, to)).await.refusal();
            assert!(found == status && text.contains(message), "{route} {from} {to}: {found} {text}");
        }
        let over = json!({ "source": "/one.txt", "destination": "/b", "overwrite": true, "verify": true });
        site.done("/api/files/move", over).await;
        assert_eq!((site.read("b/one.txt").as_deref(), site.read("one.txt")), (Some("new"), None));
        let rows = site.audit().await;
        let of_source = |row: &&AuditRow| row.object_id.as_deref() == Some("/a/one.txt") && row.result == "success";
        let moved = rows.iter().find(of_source).unwrap();
        let metadata = json!({ "source": "/a/one.txt", "destination": "/b/one.txt", "bytes": 5, "itemCount": 1 });
        assert_eq!((moved.action.as_str(), moved.metadata()), ("file.moved", metadata));
    }

    async fn a_transfer_in_the_background_is_answered_at_once_and_told_of_later(db: Db) {
        let site = Site::new(&db).await;
        site.put("a.txt", "1");
        let body = json!({ "source": "/a.txt", "destination": "/b", "background": true });
        let accepted = site.done("/api/files/move", body).await;
        assert!(accepted["operationId"].is_string() && accepted["ok"] == true);
        site.files.shutdown().await;
        assert!(site.files.list_operations().await.unwrap().is_empty());
        // It was either done or cancelled, never both and never neither.
        assert!(site.read("a.txt").is_some() != site.read("b/a.txt").is_some());
        assert_eq!(site.audited().await.len(), 1);
        let gone = site.send(request("ADMINISTRATOR", "DELETE", "/api/files/operations/x", None)).await;
        assert_eq!(gone.refusal(), (404, "Operation not found".into()));
    }

    async fn a_link_is_changed_itself_and_never_leads_out(db: Db) {
        let site = Site::new(&db).await;
        site.put("inside.txt", "in");
        symlink(site.outside(""), site.path_to("out")).unwrap();
        symlink(site.outside("secret.txt"), site.path_to("leak.txt")).unwrap();
        symlink("inside.txt", site.path_to("near.txt")).unwrap();
        let escapes = (403, "Resolved path escapes the allowed roots".to_owned());
        for query in ["preview?path=leak.txt", "download?path=out/secret.txt", "properties?path=leak.txt"] {
            assert_eq!(site.get(&format!("/api/files/{query}")).await.refusal(), escapes, "{query}");
        }
        assert_eq!(site.get("/api/files?path=out").await.refusal(), escapes);
        assert_eq!(site.post("/api/files/folders", json!({ "path": "/out", "name": "x" })).await.refusal(), escapes);
        assert_eq!(site.post("/api/files/copy", json!({ "source": "/inside.txt", "destination": "/out/new" })).await.refusal(), escapes);
        assert_eq!(site.get("/api/files/preview?path=near.txt").await.json()["content"], "in");
        site.done("/api/files/delete", json!({ "path": "/leak.txt", "permanent": true })).await;
        site.done("/api/files/delete", json!({ "path": "/near.txt", "permanent": true })).await;
        site.done("/api/files/delete", json!({ "path": "/out" })).await;
        assert_eq!(std::fs::read_to_string(site.outside("secret.txt")).unwrap(), "secret");
        assert_eq!(site.read("inside.txt").as_deref(), Some("in"));
        assert_eq!(std::fs::read_dir(site.outside("")).unwrap().count(), 1);
    }

    async fn deletes_go_to_the_trash_or_for_good(db: Db) {
        let site = Site::new(&db).await;
        site.put("show/a.mkv", "12345");
        site.put("b.txt", "1");
        let trashed = site.done("/api/files/delete", json!({ "path": "/show" })).await;
        assert_eq!(trashed, json!({ "operation": "delete", "ok": true, "path": "/show", "bytes": 5, "message": "moved to trash" }));
        assert!(!site.path_to("show").exists());
        let gone = site.done("/api/files/delete", json!({ "path": "/b.txt", "permanent": true })).await;
        assert_eq!((&gone["message"], &gone["bytes"]), (&json!("permanently deleted"), &json!(1)));
        assert_eq!(site.payloads().len(), 1);
        let root = site.path_to("").canonicalize().unwrap();
        let paths: Vec<Value> = site.heard.take_payloads().into_iter().map(|(_, payload)| payload["path"].clone()).collect();
        assert_eq!(paths, [json!(root.join("show")), json!(root.join("b.txt"))]);
        for (path, status, message) in [
            ("/none", 404, "Item not found"),
            ("/", 403, "protected"),
            ("/.quartermaster-trash", 403, "protected"),
            ("/../outside/secret.txt", 403, "outside"),
        ] {
            let (found, text) = site.post("/api/files/delete", json!({ "path": path })).await.refusal();
            assert!(found == status && text.contains(message), "{path}: {found} {text}");
        }
        let inside = format!("/.quartermaster-trash/{}", site.payloads()[0]);
        assert_eq!(site.post("/api/files/delete", json!({ "path": inside })).await.refusal(), (400, "Item is already in the trash".into()));
        let rows = site.audit().await;
        let deleted: Vec<Value> = rows.iter().filter(|row| row.action == "file.deleted").map(AuditRow::metadata).collect();
        assert!(deleted.contains(&json!({ "mode": "trash", "isDirectory": true, "bytes": 5 })));
        assert!(deleted.contains(&json!({ "mode": "permanent", "bytes": 1 })));
        assert_eq!(rows.iter().filter(|row| row.action == "file.operation_failed").count(), 5, "failed deletes always are");
    }

    async fn torrents_are_ended_after_the_delete_by_those_who_may(db: Db) {
        let site = Site::new(&db).await;
        site.put("show/a.mkv", "1");
        site.put("other.mkv", "1");
        let root = site.path_to("").canonicalize().unwrap();
        site.torrents.all.lock().unwrap().extend([
            payload("aa", &root.join("show/a.mkv")),
            payload("bb", &root.join("other.mkv")),
        ]);
        let delete = |role: &str, action: &str| {
            let body = json!({ "path": "/show", "torrentAction": action });
            request(role, "POST", "/api/files/delete", Some(body))
        };
        let refused = site.send(delete("POWER_USER", "stop_and_delete")).await;
        assert_eq!(refused.refusal(), (403, "Deleting the source payload requires torrents.delete_data".into()));
        assert!(site.path_to("show").exists() && site.torrents.removed.lock().unwrap().is_empty());
        assert_eq!(site.send(delete("POWER_USER", "explode")).await.status, 400);
        let deleted = site.send(delete("POWER_USER", "stop")).await;
        assert_eq!(deleted.status, 201, "what the engine says changes nothing");
        assert_eq!(*site.torrents.removed.lock().unwrap(), [("aa".to_owned(), false)]);
    }

    async fn an_item_stays_whose_torrents_share_other_data(db: Db) {
        let site = Site::new(&db).await;
        site.put("show/a.mkv", "1");
        let root = site.path_to("").canonicalize().unwrap();
        site.torrents.all.lock().unwrap().push(payload("aa", &root.join("show")));
        let why = "Other torrents use the data too: b (second)".to_owned();
        site.torrents.shared.lock().unwrap().insert("aa".into(), why.clone());
        let mut body = json!({ "path": "/show/a.mkv", "torrentAction": "stop_and_delete" });
        let refused = site.post("/api/files/delete", body.clone()).await;
        assert_eq!(refused.refusal(), (409, why));
        assert!(site.path_to("show/a.mkv").exists() && site.torrents.removed.lock().unwrap().is_empty());
        body["keepShared"] = true.into();
        assert_eq!(site.post("/api/files/delete", body).await.status, 201);
        assert_eq!(*site.torrents.removed.lock().unwrap(), [("aa".to_owned(), true)]);
    }

    async fn bulk_does_each_by_itself(db: Db) {
        let site = Site::new(&db).await;
        for name in ["a", "b", "c"] {
            site.put(name, "1");
        }
        std::fs::create_dir(site.path_to("to")).unwrap();
        let moved = site.done("/api/files/bulk", json!({ "operation": "move", "paths": ["/a", "/none", "/b"], "destination": "/to" })).await;
        assert_eq!((&moved["total"], &moved["succeeded"], &moved["failed"]), (&json!(3), &json!(2), &json!(1)));
        assert_eq!((&moved["results"][0], &moved["results"][1]["ok"]), (&json!({ "path": "/a", "ok": true }), &json!(false)));
        let nowhere = site.done("/api/files/bulk", json!({ "operation": "copy", "paths": ["/c"] })).await;
        assert_eq!(nowhere["results"][0]["message"], "destination is required for copy");
        site.done("/api/files/bulk", json!({ "operation": "cleanup", "paths": ["/c"] })).await;
        assert_eq!((site.trash().await.len(), site.read("to/a").as_deref()), (1, Some("1")));
        for body in [json!({ "operation": "burn", "paths": ["/c"] }), json!({ "operation": "delete", "paths": [] }), json!({ "operation": "delete", "paths": "x" })] {
            assert_eq!(site.post("/api/files/bulk", body).await.status, 400);
        }
        let rows = site.audit().await;
        let of = |action: &str| rows.iter().find(|row| row.action == action).unwrap();
        assert_eq!((of("file.bulk.move").result.as_str(), of("file.bulk.cleanup").result.as_str()), ("failure", "success"));
        assert_eq!(of("file.bulk.move").metadata(), json!({ "total": 3, "succeeded": 2, "failed": 1 }));
    }
}
