//! Dashboard, search, categories and tags.

use super::*;

sql! {
    ADD_USER = "INSERT INTO users (id, username, email, display_name, password_hash, created_at, updated_at) \
        VALUES ('u', 'u', 'u@example.org', 'Ann', '', 0, 0)";
    ADD_LEDGER = "INSERT INTO transfer_ledger (engine_id, baseline_downloaded, baseline_uploaded, baseline_source, \
        baseline_at, accrued_downloaded, accrued_uploaded) VALUES ($1, 100, 50, 'engine_alltime', 0, 100, 250)";
}

async fn run(db: &Db, statement: qm_db::Statement) {
    let mut tx = db.begin_write().await.unwrap();
    qm_db::exec!(&mut tx, statement)
        .await
        .unwrap()
        .exactly(1)
        .unwrap();
    tx.commit().await.unwrap();
}

db_test! {
    async fn a_summary_counts_and_never_wants_for_an_engine(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let site = Site::over(house);
        let empty = json!({
            "engineOnline": false, "downloadRate": 0, "uploadRate": 0, "totalTorrents": 0, "downloading": 0, "paused": 0,
            "completed": 0, "seeding": 0, "errored": 0, "ratio": 0.0, "totalUploaded": 0, "totalDownloaded": 0,
        });
        for query in ["", "?engineId=nobody", "?engineId=all"] {
            let answer = site.ask("READ_ONLY", "GET", &format!("/api/dashboard/summary{query}"), None).await;
            assert_eq!((answer.status, &answer.body), (200, &empty));
        }
        let client = site.house.kinds.engine("a");
        let states = [
            TorrentState::Downloading, TorrentState::Seeding, TorrentState::Paused, TorrentState::Stopped,
            TorrentState::Error, TorrentState::Checking,
        ];
        for (n, state) in (1..).zip(states) {
            let progress = if state == TorrentState::Seeding { 1.0 } else { 0.5 };
            client.put(Torrent { state, progress, download_rate: 10, upload_rate: 1, downloaded: 1000, uploaded: 2000, ..torrent(n) });
        }
        let id = site.house.engine("seedbox", "a").await;
        site.ask("USER", "GET", "/api/torrents", None).await;
        let summary = |query: &'static str| site.ask("READ_ONLY", "GET", query, None);
        let counted = summary("/api/dashboard/summary").await.body;
        let expected = json!({
            "engineOnline": true, "downloadRate": 60, "uploadRate": 6, "totalTorrents": 6, "downloading": 1, "paused": 2,
            "completed": 1, "seeding": 1, "errored": 1, "ratio": 2.0, "totalUploaded": 12000, "totalDownloaded": 6000,
        });
        assert_eq!(counted, expected);
        assert_eq!(summary("/api/dashboard/summary?engineId=all").await.body, expected);
        let second = site.house.kinds.engine("b");
        second.put(Torrent { state: TorrentState::Seeding, progress: 1.0, uploaded: 3000, ..torrent(9) });
        let other = site.house.engine("second", "b").await;
        site.ask("USER", "GET", &format!("/api/torrents?engineId={other}"), None).await;
        let all = summary("/api/dashboard/summary").await.body;
        assert_eq!((&all["totalTorrents"], &all["seeding"], &all["totalUploaded"]), (&json!(7), &json!(2), &json!(15000)));
        let one = site.ask("READ_ONLY", "GET", &format!("/api/dashboard/summary?engineId={id}"), None).await.body;
        assert_eq!(one, expected, "one of them alone");
        client.fail(Some(EngineError::Unreachable("gone".into())));
        let engine = site.house.torrents.resolve(Some(&id)).unwrap();
        engine.poke();
        eventually("it is offline", || engine.status().is_some_and(|status| !status.online)).await;
        let offline = site.ask("READ_ONLY", "GET", &format!("/api/dashboard/summary?engineId={id}"), None).await.body;
        assert_eq!((&offline["engineOnline"], &offline["downloadRate"], &offline["totalTorrents"]), (&json!(true), &json!(0), &json!(6)));
        site.house.torrents.shutdown().await;
    }

    async fn bytes_in_all_are_the_ledger_s(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let site = Site::over(house);
        // A client that fails has a ledger of earlier days and no list.
        site.house.kinds.engine("a").fail(Some(EngineError::Unreachable("gone".into())));
        let id = site.house.engine("seedbox", "a").await;
        let mut tx = db.begin_write().await.unwrap();
        qm_db::exec!(&mut tx, ADD_LEDGER, &id).await.unwrap().exactly(1).unwrap();
        tx.commit().await.unwrap();
        let summary = site.ask("READ_ONLY", "GET", &format!("/api/dashboard/summary?engineId={id}"), None).await.body;
        assert_eq!((&summary["totalDownloaded"], &summary["totalUploaded"], &summary["ratio"]), (&json!(200), &json!(300), &json!(1.5)));
        site.house.torrents.shutdown().await;
    }

    async fn activity_tells_the_audit_trail(db: Db) {
        run(&db, ADD_USER).await;
        let site = Site::new(&db).await;
        // The names are those of the list.
        site.ask("USER", "GET", "/api/torrents", None).await;
        for n in 1..=3 {
            let answer = site.ask("POWER_USER", "POST", &format!("/api/torrents/{}/stop", hash(n)), None).await;
            assert_eq!(answer.status, 201);
        }
        let items = site.ask("READ_ONLY", "GET", "/api/dashboard/activity", None).await.body;
        assert_eq!(items.as_array().unwrap().len(), 2);
        let stops = items.as_array().unwrap().iter().find(|item| item["type"] == "torrents.stop").unwrap();
        // Which of them is the newest is open where they share a millisecond.
        let message = stops["message"].as_str().unwrap();
        assert!(message.starts_with("Torrents stop: torrent ") && message.ends_with(" +1 more · Ann"), "{message}");
        assert_eq!((&stops["detail"], &stops["level"]), (&json!("3 events"), &json!("info")));
        let mut members: Vec<&str> = stops["events"].as_array().unwrap().iter().map(|event| event["message"].as_str().unwrap()).collect();
        members.sort_unstable();
        assert_eq!(members, ["Torrents stop: torrent 1 · Ann", "Torrents stop: torrent 2 · Ann", "Torrents stop: torrent 3 · Ann"]);
        assert_eq!(stops["events"][0]["events"], Value::Null);
        assert_eq!(stops["id"], stops["events"][0]["id"]);
        assert!(stops["at"].as_str().unwrap().ends_with('Z'));
        let created = items.as_array().unwrap().iter().find(|item| item["type"] == "engines.create").unwrap();
        assert_eq!((&created["message"], &created["events"]), (&json!("Engines create: seedbox · Ann"), &Value::Null));
        site.house.torrents.shutdown().await;
    }

    async fn a_search_finds_parts_in_any_case_and_any_alphabet(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let site = Site::over(house);
        let client = site.house.kinds.engine("a");
        let named = |n, name: &str, label: Option<&str>, path: &str| Torrent {
            name: name.into(), label: label.map(Into::into), save_path: path.into(), size: 1 << 53, ..torrent(n)
        };
        client.put(named(1, "Amélie À Paris", Some("Films"), "/d/x"));
        client.put(named(2, "100% Wolf_pack", None, "/d/TV"));
        client.put(named(3, "1000 wolfxpack", Some("ÉTÉ"), "/d/y\\z"));
        client.put(named(4, "Ирония Судьбы", None, "/d/кино"));
        site.house.engine("seedbox", "a").await;
        let stored = async || site.house.torrents.search("d", 9).await.unwrap().len();
        for _ in 0..3000 {
            if stored().await == 4 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        for (query, found) in [
            ("am%C3%89LIE%20%C3%A0", vec![1]), ("wOLF", vec![2, 3]), ("0%25", vec![2]), ("F_P", vec![2]), ("z%5C", vec![]),
            ("Y%5CZ", vec![3]), ("%C3%A9t%C3%A9", vec![3]), ("films", vec![1]), ("%D1%81%D0%A3%D0%94%D1%8C%D0%B1", vec![4]),
            ("/D/%D0%9A%D0%98", vec![4]), ("0000000002", vec![2]), ("%20tv%20", vec![2]), ("%25", vec![2]), ("", vec![]),
            ("%20", vec![]), ("%00", vec![]), ("nothing", vec![]),
        ] {
            let answer = site.ask("READ_ONLY", "GET", &format!("/api/search?q={query}"), None).await;
            assert_eq!(answer.status, 200, "{query}");
            let mut hashes: Vec<&str> = answer.body["items"].as_array().unwrap().iter().map(|item| item["hash"].as_str().unwrap()).collect();
            hashes.sort_unstable();
            assert_eq!(hashes, found.iter().map(|n| hash(*n).to_string()).collect::<Vec<_>>(), "{query}");
        }
        for (limit, count) in [("0", 1), ("-1", 1), ("2", 2), ("999", 4)] {
            let answer = site.ask("READ_ONLY", "GET", &format!("/api/search?q=/d&limit={limit}"), None).await;
            assert_eq!(answer.body["items"].as_array().unwrap().len(), count, "{limit}");
        }
        let refused = site.ask("READ_ONLY", "GET", "/api/search?q=/d&limit=x", None).await;
        assert_eq!((refused.status, &refused.body["message"]), (400, &json!(["limit must be an integer number"])));
        let item = site.ask("READ_ONLY", "GET", "/api/search?q=wolf_", None).await.body["items"][0].clone();
        assert_eq!((&item["size"], &item["downloaded"], &item["downloadRate"]), (&json!("9007199254740992"), &json!("0"), &json!(0)));
        assert_eq!((&item["label"], &item["categoryId"], &item["addedAt"]), (&Value::Null, &Value::Null, &Value::Null));
        assert!(item["capturedAt"].as_str().unwrap().ends_with('Z'));
        let long = site.ask("READ_ONLY", "GET", &format!("/api/search?q={}", "a".repeat(257)), None).await;
        assert_eq!((long.status, &long.body["message"]), (400, &json!(["q must be shorter than or equal to 256 characters"])));
        site.house.torrents.shutdown().await;
    }

    async fn categories_and_tags_are_unique_and_confined(db: Db) {
        let site = Site::new(&db).await;
        let ask = async |role: &str, method: &str, path: &str, body: Option<Value>| {
            let answer = site.ask(role, method, path, body).await;
            (answer.status, answer.body)
        };
        let tv = json!({ "name": "tv", "color": "#fff", "savePath": "/downloads//tv/" });
        let (status, category) = ask("USER", "POST", "/api/categories", Some(tv.clone())).await;
        assert_eq!((status, &category["name"], &category["color"], &category["savePath"]), (201, &json!("tv"), &json!("#fff"), &json!("/downloads/tv")));
        let (status, tag) = ask("USER", "POST", "/api/tags", Some(json!({ "name": "tv" }))).await;
        assert_eq!((status, &tag["color"], tag.get("savePath")), (201, &Value::Null, None));
        ask("USER", "POST", "/api/categories", Some(json!({ "name": "Films", "color": "", "savePath": "" }))).await;
        for (path, body, status, message) in [
            ("/api/categories", tv, 409, json!("A category with that name already exists")),
            ("/api/tags", json!({ "name": "tv" }), 409, json!("A tag with that name already exists")),
            ("/api/categories", json!({ "name": "x", "savePath": "/etc" }), 400, json!("Path is a protected system directory.")),
            ("/api/categories", json!({ "name": "x", "savePath": "/downloads/../srv/x" }), 400,
                json!("Path is outside the allowed storage roots (/downloads).")),
            ("/api/categories", json!({ "name": "a\"b" }), 400, json!("Invalid category: illegal characters")),
            ("/api/categories", json!({ "name": "films/../x" }), 400,
                json!("Invalid category `films/../x`: it must not begin or end with `/`, nor contain `//`, `\\`, control characters, or `.` or `..` as a name; name it like `films` or `films/new`")),
            ("/api/tags", json!({ "name": "a\u{0}b" }), 400, json!("Invalid tag: illegal characters")),
            ("/api/tags", json!({ "name": "a".repeat(81) }), 400, json!(["name must be shorter than or equal to 80 characters"])),
            ("/api/tags", json!({ "name": "x", "savePath": "/downloads" }), 400, json!(["property savePath should not exist"])),
        ] {
            let (got, answer) = ask("USER", "POST", path, Some(body)).await;
            assert_eq!((got, &answer["message"]), (status, &message), "{path}");
        }
        let (_, listed) = ask("READ_ONLY", "GET", "/api/categories", None).await;
        let with_homes = |row: &Value| {
            let mut row = row.clone();
            (row["torrents"], row["engines"]) = (json!(0), json!([]));
            row
        };
        let is_server_s = |row: &&Value| !row["id"].is_null();
        let listed: Vec<Value> = listed.as_array().unwrap().iter().filter(is_server_s).cloned().collect();
        assert_eq!((&listed[0]["name"], &listed[1]), (&json!("Films"), &with_homes(&category)), "by name");
        assert_eq!((&listed[0]["color"], &listed[0]["savePath"]), (&Value::Null, &Value::Null));
        let tags = ask("READ_ONLY", "GET", "/api/tags", None).await.1;
        assert_eq!(tags.as_array().unwrap().iter().filter(is_server_s).cloned().collect::<Vec<_>>(), [with_homes(&tag)]);
        for (path, row) in [("categories", &category), ("tags", &tag)] {
            let path = format!("/api/{path}/{}", row["id"].as_str().unwrap());
            assert_eq!(ask("READ_ONLY", "DELETE", &path, None).await.0, 403);
            assert_eq!(ask("USER", "DELETE", &path, None).await, (200, row.clone()));
            assert_eq!(ask("USER", "DELETE", &path, None).await.0, 404);
        }
        site.house.torrents.shutdown().await;
    }
}
