//! Renames over their routes: applied, shown, undone.

use super::*;

/// Result of a rename, without its plan.
fn counts(said: &Value) -> Value {
    json!([
        said["applied"],
        said["skipped"],
        said["failed"],
        said["duplicates"],
        said["deleted"]
    ])
}

db_test! {
    async fn a_rename_is_applied_shown_and_undone(db: Db) {
        let heard = Arc::new(qm_test_base::Heard::default());
        let db = db.telling(heard.clone());
        let site = Site::new(&db);
        for name in ["Show.S01E01.mkv", "Show.S01E01.en.srt", "Show.S01E02.mkv", "readme.txt"] {
            site.write(&format!("dl/Show.S01/{name}"), name);
        }
        let before = site.inventory();
        let mut body = json!({ "libraryPath": site.place_of("tv"), "path": site.place_of("dl/Show.S01") });
        let nothing = site.ask(201, "POST", "/apply", Some(body.clone())).await;
        assert_eq!((counts(&nothing), &nothing["runId"]), (json!([0, 4, 0, 0, 0]), &Value::Null), "the mode is preview");
        body["mode"] = json!("rename_move");
        body["dryRun"] = json!(true);
        let nothing = site.ask(201, "POST", "/apply", Some(body.clone())).await;
        assert_eq!((counts(&nothing), &nothing["plan"]["mode"]), (json!([0, 4, 0, 0, 0]), &json!("rename_move")));
        assert_eq!(site.inventory(), before);
        assert_eq!(site.ask(200, "GET", "/rename/undoable", None).await, json!([]));

        body["dryRun"] = json!(false);
        body["label"] = json!("by hand");
        let done = site.ask(201, "POST", "/apply", Some(body.clone())).await;
        assert_eq!(counts(&done), json!([3, 1, 0, 0, 0]), "{done}");
        assert_eq!((&done["cancelled"], &done["problems"], &done["torrentsOrphaned"]), (&json!(false), &json!([]), &json!(0)));
        let run = done["runId"].as_str().unwrap();
        for (name, content) in [("Show - S01E01.mkv", "Show.S01E01.mkv"), ("Show - S01E01.en.srt", "Show.S01E01.en.srt"), ("Show - S01E02.mkv", "Show.S01E02.mkv")] {
            assert_eq!(fs::read_to_string(site.root.join("tv/Show/Season 1").join(name)).unwrap(), content);
        }
        assert!(!site.root.join("dl/Show.S01/Show.S01E01.mkv").exists() && site.root.join("dl/Show.S01/readme.txt").exists());
        let told = heard.take_payloads();
        let first = json!({ "from": site.place_of("dl/Show.S01/Show.S01E01.mkv"), "to": site.place_of("tv/Show/Season 1/Show - S01E01.mkv") });
        let moved: Vec<&Value> = told.iter().filter(|(key, _)| *key == "file.moved").map(|(_, payload)| payload).collect();
        assert_eq!((moved.len(), moved[0]), (3, &first));

        let runs = site.ask(200, "GET", "/rename/undoable", None).await;
        assert_eq!((&runs[0]["runId"], &runs[0]["operations"], &runs[0]["mode"]), (&json!(run), &json!(3), &json!("rename_move")));
        let steps = site.ask(200, "GET", &format!("/rename/undoable/{run}"), None).await;
        assert_eq!((&steps["total"], &steps["truncated"]), (&json!(3), &json!(false)));
        let step = &steps["operations"][0];
        assert_eq!((&step["source"], &step["action"], &step["kind"], &step["status"], &step["undoneAt"]),
            (&first["from"], &json!("move"), &json!("tv"), &json!("success"), &Value::Null));
        let unknown = site.ask(200, "GET", "/rename/undoable/none", None).await;
        assert_eq!(unknown, json!({ "total": 0, "truncated": false, "operations": [] }));
        let history = site.ask(200, "GET", "/history?pageSize=2", None).await;
        assert_eq!((&history["total"], &history["pageSize"], history["items"].as_array().unwrap().len()), (&json!(3), &json!(2), 2));
        assert_eq!(history["items"][1]["runId"], json!(run));
        site.around.items.lock().unwrap().push(qm_ports::shelves::ShelfItem {
            id: "i".to_owned(), path: site.place_of("tv/Show/Season 1/Show - S01E01.mkv"), title: "Show".to_owned(), year: None,
        });
        let about = site.ask(200, "GET", "/history?itemId=i", None).await;
        assert_eq!(about["total"], json!(2), "the file and its subtitle: {about}");
        assert_eq!(site.ask(200, "GET", "/history?itemId=none", None).await["items"], json!([]));

        let missing = site.ask(400, "POST", "/rename/undo", Some(json!({}))).await;
        assert_eq!((&missing["code"], &missing["message"]), (&json!("bad_request.run_id"), &json!("A runId is required.")));
        let undone = site.ask(201, "POST", "/rename/undo", Some(json!({ "runId": run }))).await;
        assert_eq!(undone, json!({ "runId": run, "undone": 3, "skipped": [], "failed": 0 }));
        assert_eq!(site.inventory(), before);
        assert!(!site.root.join("tv/Show").exists(), "folders that the run made are gone");
        assert_eq!(heard.take_payloads().iter().filter(|(key, _)| *key == "file.moved").count(), 3);
        let again = site.ask(404, "POST", "/rename/undo", Some(json!({ "runId": run }))).await;
        assert_eq!(again["message"], json!("Nothing to undo for that run."));
        let rows = AuditTrail::newest(&mut db.begin_read().await.unwrap(), 10).await.unwrap();
        let actions: Vec<&str> = rows.iter().map(|row| &*row.action).collect();
        assert_eq!(actions, ["media.rename.undo", "media.rename"]);
        for (method, path, sent) in [("POST", "/apply", Some(body)), ("GET", "/rename/undoable", None), ("POST", "/rename/undo", Some(json!({ "runId": run })))] {
            assert_eq!(site.send("USER", method, path, sent).await.0, 403, "{path}");
        }
    }

    async fn what_was_shown_is_what_is_applied(db: Db) {
        let site = Site::new(&db);
        for name in ["Show.S01E01.mkv", "Show.S01E02.mkv", "Show.S01E03.mkv"] {
            site.write(&format!("dl/Show/{name}"), name);
        }
        let mut body = json!({ "libraryPath": site.place_of("tv"), "path": site.place_of("dl/Show"), "mode": "hardlink" });
        let viewed = site.preview(body.clone()).await;
        assert_eq!(viewed["planId"], Value::Null, "a viewer cannot apply it");
        let shown = site.ask(201, "POST", "/preview", Some(body.clone())).await;
        body["planId"] = shown["planId"].clone();
        site.write("dl/Show/Show.S01E02.mkv", "other content");
        fs::remove_file(site.root.join("dl/Show/Show.S01E03.mkv")).unwrap();
        site.write("dl/Show/Show.S01E04.mkv", "came later");
        let done = site.ask(201, "POST", "/apply", Some(body.clone())).await;
        assert_eq!(counts(&done), json!([1, 2, 0, 0, 0]), "{done}");
        let problems = done["problems"].as_array().unwrap();
        let of = |at: usize| (problems[at]["source"].as_str().unwrap(), problems[at]["message"].as_str().unwrap());
        assert_eq!(of(0), (&*site.place_of("dl/Show/Show.S01E02.mkv"), "it was changed since the plan was made: plan it again"));
        assert_eq!(of(1), (&*site.place_of("dl/Show/Show.S01E03.mkv"), "it is not there any more"));
        assert_eq!(done["plan"]["items"], shown["items"]);
        body["mode"] = json!("copy");
        let other = site.ask(409, "POST", "/apply", Some(body.clone())).await;
        assert_eq!(other["code"], "conflict.plan_mode");
        body["planId"] = json!("none");
        let gone = site.ask(409, "POST", "/apply", Some(body)).await;
        assert_eq!(gone["code"], "conflict.plan_gone");
    }

    async fn bad_renames_are_refused_clearly(db: Db) {
        let site = Site::new(&db);
        site.write("dl/Show.S01E01.mkv", "x");
        let (file, outside) = (site.place_of("dl/Show.S01E01.mkv"), site.root.parent().unwrap().join("outside"));
        for (body, status, code) in [
            (json!({ "path": file, "mode": "copy" }), 400, "bad_request.library_path"),
            (json!({ "libraryPath": outside, "path": file, "mode": "copy" }), 400, "bad_request.outside"),
            (json!({ "libraryPath": site.place_of("dl/Show.S01E01.mkv"), "path": file, "mode": "copy" }), 400, "bad_request.library_unusable"),
            (json!({ "libraryPath": site.place_of("tv"), "names": ["a.mkv"], "mode": "copy" }), 400, "bad_request.nothing_to_name"),
            (json!({ "libraryPath": site.place_of("tv"), "path": file, "mode": "copy", "template": "../{General}.{ext}" }), 400, "bad_request.template"),
        ] {
            let refused = site.ask(status, "POST", "/apply", Some(body.clone())).await;
            assert_eq!(refused["code"], code, "{body}: {refused}");
        }
        assert!(!outside.exists());
    }

    async fn a_library_is_organized_where_nothing_is_in_doubt(db: Db) {
        let site = Site::new(&db);
        site.write("tv/Show/Show.S01E01.mkv", "1");
        site.write("tv/Show/Show.S01E01.nfo", "n");
        site.write("tv/Show/Season 1/Show.S01E02.mkv", "2");
        site.write("tv/Loose.S01E01.mkv", "3");
        for (id, path) in [("a", "Show/Show.S01E01.mkv"), ("b", "Show/Season 1/Show.S01E02.mkv"), ("c", "Loose.S01E01.mkv")] {
            let title = if id == "c" { "Loose" } else { "Show" };
            site.around.items.lock().unwrap().push(qm_ports::shelves::ShelfItem {
                id: id.to_owned(), path: site.place_of(&format!("tv/{path}")), title: title.to_owned(), year: None,
            });
        }
        let missing = site.ask(400, "POST", "/libraries/none/organize", None).await;
        assert_eq!((&missing["code"], &missing["message"]), (&json!("bad_request.library"), &json!("Library not found")));
        let dry = site.ask(201, "POST", "/libraries/tv/organize?dryRun=1", None).await;
        assert_eq!((&dry["eligible"], &dry["dryRun"], &dry["applied"]), (&json!(true), &json!(true), &json!(0)));
        let place = |path: &str| site.place_of(&format!("tv/{path}"));
        let expected = json!([
            { "itemId": "a", "from": place("Show/Show.S01E01.mkv"), "to": place("Show/Season 1/Show - S01E01.mkv") },
            { "itemId": "a", "from": place("Show/Show.S01E01.nfo"), "to": place("Show/Season 1/Show - S01E01.nfo") },
        ]);
        assert_eq!(dry["moves"], expected);
        assert_eq!((&dry["needsReview"][0]["itemId"], dry["needsReview"].as_array().unwrap().len()), (&json!("c"), 1));
        let done = site.ask(201, "POST", "/libraries/tv/organize", None).await;
        assert_eq!((&done["applied"], &done["failed"], &done["moves"]), (&json!(2), &json!(0), &expected));
        assert!(site.root.join("tv/Show/Season 1/Show - S01E01.nfo").exists() && site.root.join("tv/Loose.S01E01.mkv").exists());
        site.around.shelf.lock().unwrap().mode = "hardlink".to_owned();
        let not = site.ask(201, "POST", "/libraries/tv/organize", None).await;
        assert_eq!((&not["eligible"], &not["moves"], &not["mode"]), (&json!(false), &json!([]), &json!("hardlink")));
    }
}
