use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use qm_db::{Db, db_test};
use serde_json::{Value, json};

use super::{Site, names, path, request};

db_test! {
    async fn a_directory_is_listed_sorted_and_paged(db: Db) {
        let site = Site::new(&db).await;
        for name in ["b.txt", "B2.txt", "a.txt", ".dot"] {
            site.put(name, "12345");
        }
        std::fs::create_dir(site.path_to("zebra")).unwrap();
        symlink("a.txt", site.path_to("link")).unwrap();
        symlink("nowhere", site.path_to("dangling")).unwrap();
        let listing = site.get("/api/files").await.json();
        assert_eq!(names(&listing)[0], "zebra", "directories first");
        assert!(names(&listing).contains(&".dot"));
        let of = |name: &str| listing["items"].as_array().unwrap().iter().find(|item| item["name"] == name).unwrap().clone();
        assert_eq!((of("zebra")["isDirectory"].clone(), of("a.txt")["path"].clone()), (json!(true), json!("/a.txt")));
        assert_eq!((of("link")["isDirectory"].clone(), of("link")["size"].clone()), (json!(false), json!(5)));
        assert_eq!((of("dangling")["size"].clone(), of("dangling")["modifiedAt"].clone()), (json!(0), Value::Null));
        let position = |name: &str| names(&listing).iter().position(|n| *n == name).unwrap();
        assert!(position("a.txt") < position("b.txt") && position("b.txt") < position("B2.txt"));
        let page = site.get("/api/files?offset=1&limit=2").await.json();
        assert_eq!((names(&page), page["total"].clone()), (names(&listing)[1..3].to_vec(), json!(7)));
        assert_eq!(site.get("/api/files?path=/a.txt").await.refusal(), (400, "Not a directory".into()));
        assert_eq!(site.get("/api/files?path=/none").await.status, 404);
        assert_eq!(site.get("/api/files?path=../outside").await.refusal(), (403, "Path is outside the allowed roots".into()));
        assert_eq!(site.get("/api/files?path=%00").await.refusal(), (400, "Invalid path".into()));
    }

    async fn names_that_are_not_utf_8_are_shown_and_found_by_their_bytes(db: Db) {
        let site = Site::new(&db).await;
        let name = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
        std::fs::write(site.path_to("x").with_file_name(name), "12345").unwrap();
        let listing = site.get("/api/files").await.json();
        let item = &listing["items"][0];
        assert_eq!(item["name"], "caf\u{fffd}.txt");
        let raw = item["pathRaw"].as_str().expect("its bytes").to_owned();
        let query = format!("/api/files/properties?pathRaw={}", raw.replace('%', "%25"));
        assert_eq!(site.get(&query).await.json()["size"], 5);
        let renamed = site.done("/api/files/rename", json!({ "pathRaw": raw, "newName": "plain.txt" })).await;
        assert_eq!(renamed["path"], "/plain.txt");
        std::fs::rename(site.path_to("plain.txt"), site.path_to("x").with_file_name(name)).unwrap();
        site.done("/api/files/delete", json!({ "pathRaw": raw })).await;
        let trash = site.trash().await;
        assert_eq!((trash[0]["name"].as_str(), trash[0]["originalPathRaw"].as_str()), (Some("caf\u{fffd}.txt"), Some(raw.as_str())));
        site.done("/api/files/trash/restore", json!({ "id": trash[0]["id"] })).await;
        assert!(site.path_to("x").with_file_name(name).exists(), "restored to the same bytes");
    }

    async fn properties_measure_and_hash(db: Db) {
        let site = Site::new(&db).await;
        site.put("show/a.MKV", "abc");
        site.put("show/sub/b.txt", "de");
        let file = site.get("/api/files/properties?path=show/a.MKV").await.json();
        assert_eq!(file["hash"], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!((&file["extension"], &file["media"], file.get("itemCount")), (&json!("mkv"), &Value::Null, None));
        assert_eq!(file["absolutePath"].as_str(), site.path_to("show/a.MKV").canonicalize().unwrap().to_str());
        let folder = site.get("/api/files/properties?path=/show/").await.json();
        assert_eq!((&folder["size"], &folder["itemCount"], &folder["hash"]), (&json!(5), &json!(3), &Value::Null));
        assert_eq!(site.get("/api/files/properties?path=/none").await.status, 404);
    }

    async fn previews_show_texts_and_name_the_rest(db: Db) {
        let site = Site::new(&db).await;
        site.put("note.nfo", b"\xdb\xdb \xb0");
        site.put("empty.txt", "");
        site.put("blob.bin", b"a\0b");
        site.put("film.mkv", "x");
        site.put("pack.zip", "x");
        site.put("long.txt", vec![b'a'; 1024 * 1024 + 1]);
        let preview = async |query: &str| site.get(&format!("/api/files/preview?path={query}")).await.json();
        let nfo = preview("note.nfo").await;
        assert_eq!((&nfo["encoding"], &nfo["content"], &nfo["kind"]), (&json!("cp437"), &json!("██ ░"), &json!("nfo")));
        let override_ = preview("note.nfo&encoding=latin1").await;
        assert_eq!((&override_["encoding"], &override_["detectedEncoding"]), (&json!("latin1"), &json!("cp437")));
        assert_eq!(preview("note.nfo&encoding=klingon").await["encoding"], "cp437");
        let empty = preview("empty.txt").await;
        assert_eq!((&empty["content"], &empty["encoding"]), (&json!(""), &json!("utf-8")));
        let blob = preview("blob.bin").await;
        assert!(blob["content"].is_null() && blob["reason"].is_string());
        let film = preview("film.mkv").await;
        assert_eq!((&film["streamable"], &film["mime"], &film["content"]), (&json!(true), &json!("video/x-matroska"), &Value::Null));
        assert!(preview("pack.zip").await["reason"].is_string());
        let long = preview("long.txt").await;
        assert_eq!((long["content"].as_str().unwrap().len(), &long["truncated"]), (1024 * 1024, &json!(true)));
        assert_eq!(site.get("/api/files/preview?path=/").await.refusal(), (400, "Cannot preview a directory".into()));
        assert_eq!(site.get("/api/files/preview?path=/none").await.status, 404);
    }

    async fn the_default_root_narrows_and_is_audited(db: Db) {
        let site = Site::new(&db).await;
        site.put("tv/a.txt", "a");
        let hard = site.path_to("").canonicalize().unwrap().to_str().unwrap().trim_end_matches('/').to_owned();
        let before = site.get("/api/files/root").await.json();
        assert_eq!((&before["root"], &before["configured"], &before["writable"]), (&json!(hard), &Value::Null, &json!(true)));
        let put = |path: String| request("ADMINISTRATOR", "PUT", "/api/files/root", Some(json!({ "path": path })));
        let narrowed = site.send(put(format!("{hard}/tv/"))).await;
        assert_eq!((narrowed.status, &narrowed.json()["root"]), (200, &json!(format!("{hard}/tv"))));
        assert_eq!(names(&site.get("/api/files").await.json()), ["a.txt"]);
        assert_eq!(site.get("/api/files?path=..").await.status, 403);
        for refused in [String::new(), "/etc".into(), "/etc/x".into(), format!("{hard}/none"), format!("{hard}/tv/a.txt"), "tv".into()] {
            assert_eq!(site.send(put(refused.clone())).await.status, 400, "{refused}");
        }
        let rows = site.audit().await;
        assert_eq!(rows.len(), 7);
        let success = rows.iter().find(|row| row.result == "success").unwrap();
        assert_eq!(success.object_id.as_deref(), Some("fileManager.defaultRootPath"));
        assert_eq!(success.metadata(), json!({ "previous": "", "next": format!("{hard}/tv") }));
        site.set("fileManager.defaultRootPath", json!("/etc")).await;
        assert_eq!(site.get("/api/files/root").await.json()["root"], json!(hard), "a stored nonsense is passed over");
    }

    async fn absolute_paths_are_inspected_and_made(db: Db) {
        let site = Site::new(&db).await;
        let inspect = async |path: &str| site.get(&format!("/api/files/inspect?path={path}")).await;
        let inside = inspect(site.path_to("").to_str().unwrap()).await.json();
        assert_eq!((&inside["withinHardRoots"], &inside["isDirectory"], &inside["writable"]), (&json!(true), &json!(true), &json!(true)));
        let outside = inspect(site.outside("secret.txt").to_str().unwrap()).await.json();
        assert_eq!((&outside["withinHardRoots"], &outside["exists"]), (&json!(false), &json!(false)));
        assert_eq!(inspect("/etc").await.json()["isSystemDir"], true);
        assert_eq!(inspect("").await.status, 400);
        let wanted = site.path_to("new/deep");
        let made = site.done("/api/files/ensure-dir", path(wanted.to_str().unwrap())).await;
        assert!(made["exists"] == true && wanted.is_dir());
        site.done("/api/files/ensure-dir", path(wanted.to_str().unwrap())).await;
        site.put("file", "x");
        for (place, status) in [
            (String::new(), 400),
            (site.path_to("file").to_str().unwrap().to_owned(), 400),
            (site.path_to("file/below").to_str().unwrap().to_owned(), 400),
            (site.outside("new").to_str().unwrap().to_owned(), 403),
            ("/etc".into(), 403),
        ] {
            assert_eq!(site.post("/api/files/ensure-dir", path(&place)).await.status, status, "{place}");
        }
        assert!(!site.outside("new").exists());
        let audited = site.audited().await;
        assert_eq!(audited.iter().filter(|row| *row == "files.ensure_dir success").count(), 2);
        assert_eq!(audited.iter().filter(|row| *row == "files.ensure_dir failure").count(), 4);
    }

    async fn roles_may_what_the_catalogue_says(db: Db) {
        let site = Site::new(&db).await;
        for (role, method, path, status) in [
            ("", "GET", "/api/files", 401),
            ("READ_ONLY", "GET", "/api/files", 200),
            ("READ_ONLY", "POST", "/api/files/folders", 403),
            ("POWER_USER", "PUT", "/api/files/root", 403),
            ("USER", "POST", "/api/files/delete", 403),
            ("USER", "POST", "/api/files/resolve-conflicts", 403),
            ("USER", "GET", "/api/files/operations", 200),
            ("", "GET", "/api/files/stream?path=/a&ticket=x", 401),
        ] {
            let answer = site.send(request(role, method, path, None)).await;
            assert_eq!(answer.status, status, "{role} {method} {path}");
        }
    }
}
