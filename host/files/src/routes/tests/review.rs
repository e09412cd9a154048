use qm_db::{Db, db_test};
use serde_json::{Value, json};

use super::{Site, payload};

db_test! {
    async fn a_bulk_preview_of_more_paths_than_there_are_handles(db: Db) {
        let site = Site::new(&db).await;
        site.put("show/a.mkv", "12345");
        let mut paths = vec!["/show/a.mkv"; 25_000];
        paths.push("/show");
        let bulk = site.done("/api/files/bulk/delete-preview", json!({ "paths": paths })).await;
        assert_eq!((&bulk["paths"], &bulk["sizeBytes"]), (&json!(25_001), &json!(5)));
    }

    async fn delete_previews_measure_and_name_torrents(db: Db) {
        let site = Site::new(&db).await;
        site.put("show/a.mkv", "12345");
        site.put("show/b.mkv", "678");
        std::fs::hard_link(site.path_to("show/b.mkv"), site.path_to("copy.mkv")).unwrap();
        let root = site.path_to("").canonicalize().unwrap();
        site.torrents.all.lock().unwrap().push(payload("aa", &root.join("show")));
        let preview = async |path: &str| site.done("/api/files/delete/preview", json!({ "path": path, "permanent": true })).await;
        let folder = preview("/show").await;
        assert_eq!((&folder["sizeBytes"], &folder["freesBytes"], &folder["links"]), (&json!(8), &json!(5), &json!(1)));
        assert_eq!(folder["path"], json!(root.join("show")));
        let linked = json!({
            "torrentHash": "aa", "engineId": "e", "name": "show", "sourcePath": root.join("show"), "state": "seeding",
            "sizeBytes": 0, "itemIds": [], "live": true,
        });
        assert_eq!((&folder["torrents"], &folder["torrent"]), (&json!([linked]), &linked));
        let file = preview("/show/b.mkv").await;
        assert_eq!((&file["links"], &file["freesBytes"], file["torrents"].as_array().map(Vec::len)), (&json!(2), &json!(0), Some(1)));
        let none = preview("/none").await;
        assert_eq!((&none["exists"], &none["links"], &none["torrent"]), (&json!(false), &json!(0), &Value::Null));
        assert_eq!(site.post("/api/files/delete/preview", json!({ "path": "../x" })).await.status, 403);
        let paths = json!({ "paths": ["/show", "/show/b.mkv", "/copy.mkv", "/none", "../x"] });
        let bulk = site.done("/api/files/bulk/delete-preview", paths).await;
        assert_eq!((&bulk["paths"], &bulk["sizeBytes"], &bulk["freesBytes"]), (&json!(3), &json!(8), &json!(8)));
        assert_eq!(bulk["torrents"].as_array().map(Vec::len), Some(1));
        assert!(site.path_to("show/a.mkv").exists());
    }

    async fn conflicts_are_told_by_content_release_and_name(db: Db) {
        let site = Site::new(&db).await;
        site.put("in/Harbor.Nine.S01E01.2160p.WEB-DL-TIDE.mkv", "new");
        site.put("in/same.mkv", "equal");
        site.put("in/notes.txt", "mine");
        site.put("in/free.txt", "x");
        site.put("tv/Harbor.Nine.S01E01.720p.HDTV-DESK.mkv", "old one");
        site.put("tv/same.mkv", "equal");
        site.put("tv/notes.txt", "yours");
        let sources = ["/in/Harbor.Nine.S01E01.2160p.WEB-DL-TIDE.mkv", "/in/same.mkv", "/in/notes.txt", "/in/free.txt", "/in/none"];
        let body = json!({ "operation": "move", "sources": sources, "destination": "/tv" });
        let report = site.done("/api/files/move-conflicts", body).await;
        assert_eq!((&report["destination"], &report["clean"]), (&json!("/tv"), &json!(["/in/free.txt", "/in/none"])));
        let told: Vec<_> = report["conflicts"].as_array().unwrap().iter()
            .map(|c| [&c["kind"], &c["verdict"], &c["recommended"]].map(|v| v.as_str().unwrap().to_owned()).join(" "))
            .collect();
        assert_eq!(told, ["same_episode source_better replace", "identical equivalent delete_source", "name_clash equivalent skip"]);
        let first = &report["conflicts"][0];
        assert_eq!((&first["source"]["season"], &first["target"]["resolution"]), (&json!(1), &json!("720p")));
        assert_eq!(first["verdictReasons"][0], "resolution 2160p > 720p");
        assert_eq!(report["conflicts"][1]["identityBasis"], "size+partial-hash");
        for (sources, destination, status) in [(vec!["/in/a"], "/none", 400), (vec!["/in/a"], "/tv/same.mkv", 400), (vec!["../x"], "/tv", 403), (vec![], "/tv", 400)] {
            let body = json!({ "operation": "copy", "sources": sources, "destination": destination });
            assert_eq!(site.post("/api/files/move-conflicts", body).await.status, status, "{destination}");
        }
    }

    async fn what_is_clean_can_be_transferred_and_what_is_not_cannot(db: Db) {
        let site = Site::new(&db).await;
        for (path, content) in [
            ("in/folder/a", "a"), ("in/file", "b"), ("in/over a folder", "c"), ("in/over a link", "d"), ("in/twin", "e"), ("in/free", "f"),
            ("tv/folder/z", "z"), ("tv/over a folder/z", "z"), ("tv/file/z", "z"), ("tv/own", "o"), ("tv/own folder/z", "z"),
        ] {
            site.put(path, content);
        }
        std::fs::hard_link(site.path_to("in/twin"), site.path_to("tv/twin")).unwrap();
        for name in ["in/dangling", "tv/dangling", "tv/over a link"] {
            std::os::unix::fs::symlink("nowhere", site.path_to(name)).unwrap();
        }
        let sources = [
            "/in/folder", "/in/file", "/in/over a folder", "/in/over a link", "/in/twin", "/in/free", "/in/dangling", "/tv/own", "/tv/own folder", "/in/none",
        ];
        for operation in ["copy", "move"] {
            let body = json!({ "operation": operation, "sources": sources, "destination": "/tv" });
            let report = site.done("/api/files/move-conflicts", body).await;
            assert_eq!(report["clean"], json!(["/in/free", "/in/none"]), "{operation}");
            let offered = |source: &str| {
                let all = report["conflicts"].as_array().unwrap();
                let one = all.iter().find(|conflict| conflict["source"]["path"] == source).unwrap();
                assert_eq!(one["target"]["name"], one["source"]["name"]);
                let allowed: Vec<&str> = one["allowed"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
                format!("{} {}: {}", one["kind"].as_str().unwrap(), one["recommended"].as_str().unwrap(), allowed.join(" "))
            };
            assert_eq!(offered("/in/folder"), "name_clash skip: keep_both delete_source skip");
            assert_eq!(offered("/in/over a link"), "name_clash skip: replace keep_both delete_source skip");
            assert_eq!(offered("/in/twin"), "identical delete_source: delete_source replace skip");
            let own = if operation == "copy" { "name_clash skip: keep_both skip" } else { "name_clash skip: skip" };
            assert_eq!((offered("/tv/own").as_str(), offered("/tv/own folder").as_str()), (own, own));
            for source in sources {
                let body = json!({ "source": source, "destination": "/tv" });
                let expected = match source {
                    "/in/free" if operation == "copy" => continue,
                    "/in/free" => 201,
                    "/in/none" => 404,
                    _ => 409,
                };
                let answer = site.post(&format!("/api/files/{operation}"), body).await;
                assert_eq!(answer.status, expected, "{operation} {source}");
            }
        }
        let both = json!({ "operation": "copy", "destination": "/tv", "items": [{ "source": "/tv/own", "resolution": "keep_both" }, { "source": "/in/folder", "resolution": "keep_both" }] });
        let result = site.done("/api/files/resolve-conflicts", both).await;
        assert_eq!((&result["failed"], site.read("tv/own (2)").as_deref()), (&json!(0), Some("o")), "{result}");
    }

    async fn conflicts_are_looked_for_among_a_thousand_sources_at_most(db: Db) {
        let site = Site::new(&db).await;
        site.put("tv/a", "x");
        let body = |sources: Vec<String>| json!({ "operation": "copy", "sources": sources, "destination": "/tv" });
        let mut sources: Vec<String> = (0..1000).map(|number| format!("/in/{number}")).collect();
        // The same one again is no other one.
        sources.extend(sources.clone());
        let report = site.done("/api/files/move-conflicts", body(sources.clone())).await;
        assert_eq!(report["clean"].as_array().map(Vec::len), Some(1000));
        sources.push("/in/one more".into());
        let (status, message) = site.post("/api/files/move-conflicts", body(sources)).await.refusal();
        assert_eq!((status, message.as_str()), (400, "sources must contain no more than 1000 different elements"));
    }

    async fn conflicts_are_resolved_one_by_one_and_lose_nothing(db: Db) {
        let site = Site::new(&db).await;
        for (name, content) in [("in/a.mkv", "new"), ("in/b.mkv", "b"), ("in/c.mkv", "c"), ("in/d.mkv", "d"), ("tv/a.mkv", "old"), ("tv/b.mkv", "other"), ("tv/b (2).mkv", "third")] {
            site.put(name, content);
        }
        let body = json!({
            "operation": "move", "destination": "/tv",
            "items": [
                { "source": "/in/a.mkv", "resolution": "replace", "targetPath": "/tv/a.mkv" },
                { "source": "/in/b.mkv", "resolution": "keep_both" },
                { "source": "/in/c.mkv", "resolution": "delete_source" },
                { "source": "../nonsense", "resolution": "skip" },
                { "source": "/in/d.mkv", "resolution": "replace" },
                { "source": "/in/d.mkv", "resolution": "replace", "targetPath": "/in/b.mkv" },
                { "source": "/in/none", "resolution": "replace", "targetPath": "/tv/b.mkv" },
            ],
        });
        let result = site.done("/api/files/resolve-conflicts", body).await;
        let ok: Vec<bool> = result["results"].as_array().unwrap().iter().map(|item| item["ok"] == true).collect();
        assert_eq!(ok, [true, true, true, true, false, false, false], "{result}");
        assert_eq!(result["results"][4]["message"], "targetPath is required to replace");
        assert_eq!(site.read("tv/a.mkv").as_deref(), Some("new"));
        assert_eq!((site.read("tv/b.mkv").as_deref(), site.read("tv/b (3).mkv").as_deref()), (Some("other"), Some("b")));
        assert_eq!((site.read("in/c.mkv"), site.read("in/d.mkv").as_deref()), (None, Some("d")));
        let mut trashed: Vec<String> = site.trash().await.iter().map(|item| item["originalPath"].as_str().unwrap().to_owned()).collect();
        trashed.sort();
        assert_eq!(trashed, ["/in/c.mkv", "/tv/a.mkv"]);
        let rows = site.audit().await;
        let resolved = rows.iter().find(|row| row.action == "file.resolve.move").unwrap();
        assert_eq!((resolved.metadata()["failed"].clone(), resolved.result.as_str()), (json!(3), "failure"));
        assert!(rows.iter().any(|row| row.metadata()["reason"] == "conflict_resolution"));
        let permanent = json!({
            "operation": "copy", "destination": "/tv", "permanent": true,
            "items": [{ "source": "/in/d.mkv", "resolution": "replace", "targetPath": "/tv/b.mkv" }],
        });
        site.done("/api/files/resolve-conflicts", permanent).await;
        assert_eq!((site.read("tv/b.mkv"), site.read("tv/d.mkv").as_deref()), (None, Some("d")));
        assert_eq!(site.trash().await.len(), 2, "what went for good is not among them");
        for items in [json!([]), json!("x"), json!([{ "source": "/a", "resolution": "burn" }]), json!([{ "resolution": "skip" }])] {
            let body = json!({ "operation": "move", "destination": "/tv", "items": items });
            assert_eq!(site.post("/api/files/resolve-conflicts", body).await.status, 400);
        }
    }

    async fn a_replacement_that_fails_leaves_the_old_file_where_it_was(db: Db) {
        let site = Site::new(&db).await;
        site.put("in/a.mkv", "new");
        site.put("tv/old.mkv", "old");
        site.put("tv/a.mkv", "in the way");
        let body = json!({
            "operation": "move", "destination": "/tv",
            "items": [{ "source": "/in/a.mkv", "resolution": "replace", "targetPath": "/tv/old.mkv" }],
        });
        let result = site.done("/api/files/resolve-conflicts", body).await;
        assert_eq!(result["results"][0]["message"], "Destination already exists");
        assert_eq!((site.read("tv/old.mkv").as_deref(), site.read("in/a.mkv").as_deref()), (Some("old"), Some("new")));
        assert!(site.trash().await.is_empty());
    }

    async fn what_is_wrong_with_an_item_is_said_in_the_apis_words(db: Db) {
        let site = Site::new(&db).await;
        site.put("tv/a", "x");
        for (item, expected) in [
            (json!("x"), "items.0 must be an object"),
            (json!({ "source": "x", "resolution": "skip", "extra": 1 }), "items.0.property extra should not exist"),
            (json!({ "resolution": "skip" }), "items.0.source must be a string"),
            (json!({ "source": ["x"], "resolution": "skip" }), "items.0.source must be a string"),
            (json!({ "source": "x" }), "items.0.resolution must be one of the following values: replace, keep_both, delete_source, skip"),
            (json!({ "source": "x", "resolution": "skip", "targetPath": {} }), "items.0.targetPath must be a string"),
        ] {
            let body = json!({ "operation": "move", "destination": "/tv", "items": [item] });
            let answer = site.post("/api/files/resolve-conflicts", body).await;
            assert_eq!((answer.status, &answer.json()["message"]), (400, &json!([expected])));
        }
    }

    async fn a_cleanup_of_a_very_deep_tree_is_bounded(db: Db) {
        let site = Site::new(&db).await;
        std::fs::create_dir_all(site.path_to(&format!("deep{}", "/d".repeat(1500)))).unwrap();
        std::fs::create_dir_all(site.path_to(&format!("flat{}", "/d".repeat(200)))).unwrap();
        let preview = site.done("/api/files/cleanup-preview", json!({ "path": "/" })).await;
        let empty = preview["categories"][0]["items"].as_array().unwrap();
        assert_eq!((empty.len(), preview["totalItems"].as_u64()), (201, Some(201)), "what is not looked into stays");
        assert_eq!(empty[0]["path"], format!("/flat{}", "/d".repeat(200)));
        assert_eq!(empty[200]["path"], "/flat");
    }

    async fn a_cleanup_takes_nothing_that_was_not_chosen(db: Db) {
        let site = Site::new(&db).await;
        for permanent in [false, true] {
            site.put("dl/show/poster.jpg", "p");
            std::fs::create_dir_all(site.path_to("dl/show/extras")).unwrap();
            let preview = site.done("/api/files/cleanup-preview", json!({ "path": "/dl" })).await;
            let empty = &preview["categories"].as_array().unwrap().iter().find(|group| group["category"] == "empty_folders").unwrap()["items"];
            assert_eq!(
                empty.as_array().unwrap().iter().map(|item| [&item["path"], &item["reason"]].map(|v| v.as_str().unwrap())).collect::<Vec<_>>(),
                [["/dl/show/extras", "Nothing is in it"], ["/dl/show", "Empty once all that is listed in it has been removed"]],
            );
            let run = |paths: &[&str]| site.done("/api/files/cleanup-execute", json!({ "path": "/dl", "paths": paths, "permanent": permanent }));
            for chosen in [&["/dl/show"][..], &["/dl/show", "/dl/show/poster.jpg"], &["/dl/show"]] {
                let alone = run(chosen).await;
                assert_eq!(alone["failed"], 1, "{chosen:?}");
                assert!(site.path_to("dl/show/extras").is_dir(), "{chosen:?}");
            }
            let all = run(&["/dl/show", "/dl/show/extras"]).await;
            assert_eq!((&all["removed"], &all["failed"]), (&json!(2), &json!(0)));
            assert!(!site.path_to("dl/show").exists());
        }
    }

    async fn a_cleanup_shows_and_removes_what_is_chosen(db: Db) {
        let site = Site::new(&db).await;
        site.put("dl/film/film.mkv", "the film");
        site.put("dl/film/copy.mkv", "the film");
        site.put("dl/film/film-sample.mkv", "s");
        site.put("dl/film/film.nfo", "n");
        site.put("dl/art/poster.jpg", "p");
        site.put("dl/art/deep/zero.bin", "");
        site.put("dl/keep/readme.md", "m");
        std::fs::create_dir(site.path_to("dl/hollow")).unwrap();
        // The trash of another root: its folder only looks empty.
        site.put("dl/was-a-root/.quartermaster-trash/x__y", "y");
        std::os::unix::fs::symlink("nowhere", site.path_to("dl/keep/link")).unwrap();
        let preview = site.done("/api/files/cleanup-preview", json!({ "path": "/dl" })).await;
        let found = |category: &str| -> Vec<String> {
            let groups = preview["categories"].as_array().unwrap();
            let group = groups.iter().find(|group| group["category"] == category);
            let mut paths: Vec<String> = group.map(|group| group["items"].as_array().unwrap().iter()
                .map(|item| item["path"].as_str().unwrap().to_owned()).collect()).unwrap_or_default();
            paths.sort();
            paths
        };
        assert_eq!(found("sample_files"), ["/dl/film/film-sample.mkv"]);
        assert_eq!(found("duplicate_files"), ["/dl/film/film.mkv"], "the first by name is kept");
        assert_eq!(found("nfo_files"), ["/dl/film/film.nfo"]);
        assert_eq!(found("orphan_artwork"), ["/dl/art/poster.jpg"]);
        assert_eq!(found("zero_byte_files"), ["/dl/art/deep/zero.bin"]);
        assert_eq!(found("empty_folders"), ["/dl/art", "/dl/art/deep", "/dl/hollow"]);
        assert_eq!(preview["totalItems"], 8);
        assert_eq!(preview["estimatedSpaceSaved"], preview["totalSize"]);
        let some = site.done("/api/files/cleanup-preview", json!({ "path": "/dl", "categories": ["nfo_files"] })).await;
        assert_eq!((some["totalItems"].as_u64(), some["categories"].as_array().map(Vec::len)), (Some(1), Some(1)));
        for (body, message) in [
            (json!({ "path": "/dl", "categories": ["dust"] }), "categories"),
            (json!({ "path": "/dl/keep/readme.md" }), "Cleanup target must be a directory"),
            (json!({ "path": "/none" }), "Cleanup target must be a directory"),
        ] {
            let (status, text) = site.post("/api/files/cleanup-preview", body).await.refusal();
            assert!(status == 400 && text.contains(message), "{text}");
        }
        let run = json!({ "path": "/dl", "paths": ["/dl/art", "/dl/art/poster.jpg", "/dl/film/film.nfo", "/elsewhere"] });
        let result = site.done("/api/files/cleanup-execute", run).await;
        assert_eq!(result, json!({ "removed": 2, "failed": 2, "bytesReclaimed": 2, "mode": "trash" }));
        assert_eq!(site.read("dl/art/deep/zero.bin").as_deref(), Some(""), "nobody chose what is left in it");
        let rows = site.audit().await;
        let cleaned = rows.iter().find(|row| row.action == "file.cleanup_execute").unwrap();
        assert_eq!((cleaned.object_type.as_deref(), cleaned.object_id.as_deref(), cleaned.result.as_str()), (Some("folder"), Some("/dl"), "failure"));
    }
}
