//! Tests of the routes, with running jobs and an engine in memory.

mod site;

use std::fs;
use std::time::Duration;

use qm_db::{Db, db_test};
use qm_jobs::Ending;
use qm_kernel::Role;
use qm_metainfo::Metainfo;
use qm_ports::intake::IntakeError;
use qm_ports::seed::SeedWish;
use qm_test_base::{Hands, START_MS, principal};
use serde_json::{Value, json};

use crate::model::{KEPT, KEPT_FOR, MAX_ACTIVE};
use crate::service::SEED_ATTEMPTS;
use site::*;

qm_db::sql! {
    DELETE_ALL = "DELETE FROM created_torrents";
    DELETE_USER = "DELETE FROM users WHERE id = $1";
    SET_STATE = "UPDATE created_torrents SET state = $1";
    GIVE_AWAY = "UPDATE created_torrents SET user_id = 'other' WHERE id = $1";
    ADD_LEFT = "INSERT INTO created_torrents (id, user_id, job_id, state, name, root, path, format, is_private, created_at) \
        SELECT $1, 'other', 'gone', 'hashing', name, root, path, format, is_private, 0 FROM created_torrents \
        WHERE created_at > 0 LIMIT 1";
    COUNT_LEFT = "SELECT count(*) FROM created_torrents WHERE ended_at IS NULL";
    ADD_ENDED = "INSERT INTO created_torrents (id, user_id, job_id, state, name, root, path, format, is_private, created_at, \
        ended_at) SELECT $1, user_id, job_id, state, name, root, path, format, is_private, 0, CAST($2 AS BIGINT) FROM created_torrents \
        WHERE created_at > 0 LIMIT 1";
    RESULT = "SELECT result_summary FROM platform_jobs WHERE id = $1";
    COUNT_FILES = "SELECT count(*) FROM created_torrent_files";
    HIDDEN = "SELECT choices FROM created_torrents WHERE id = $1";
}

db_test! {
    async fn every_statement_is_accepted(db: Db) {
        qm_db::testing::prepare_all(&db).await;
    }

    async fn a_folder_becomes_a_file_that_its_user_downloads(db: Db) {
        let site = Site::started(&db).await;
        site.write("pack/film.mkv", &vec![7; 40_000]);
        site.write("pack/words \u{e9}.nfo", b"words");
        let wish = json!({
            "path": "/pack", "name": "My \"pack\" \u{e9}", "format": "hybrid", "pieceSize": 16384, "private": true, "source": "HERE",
            "trackers": [["http://one.example/secret/announce"], ["udp://two.example:1"]],
            "webSeeds": ["https://three.example/"], "comment": "made\nhere",
        });
        let created = site.create(wish).await;
        assert_eq!((&created["state"], &created["infoHash"], &created["seeding"]), (&json!("queued"), &Value::Null, &Value::Null));
        let made = site.ended(&created).await;
        assert_eq!(made["state"], "completed", "{made}");
        assert_eq!((&made["size"], &made["pieceSize"], &made["pieces"]), (&json!(40_005), &json!(16384), &json!(4)));

        let file = site.ask("GET", &format!("/{}/file", made["id"].as_str().unwrap()), None).await;
        assert_eq!(file.status, 200);
        assert_eq!(file.headers["content-type"], "application/x-bittorrent");
        assert_eq!(
            file.headers["content-disposition"],
            "attachment; filename=\"My _pack_ _.torrent\"; filename*=UTF-8''My%20%22pack%22%20%C3%A9.torrent"
        );
        let metainfo = Metainfo::parse(&file.bytes).unwrap();
        assert_eq!((&*metainfo.name, metainfo.size, metainfo.is_private), ("pack", 40_005, true));
        assert_eq!(made["infoHash"], json!(metainfo.v1.unwrap()));
        assert_eq!(made["infoHashV2"], json!(metainfo.v2.unwrap()));
        let text = String::from_utf8_lossy(&file.bytes);
        for part in ["one.example/secret", "two.example", "three.example", "made\nhere", "HERE", "Quartermaster"] {
            assert!(text.contains(part), "{part}");
        }
        // Masked members would tell nothing.
        let mut tx = db.begin_read().await.unwrap();
        let result = qm_db::value!(&mut tx, String, RESULT, made["jobId"].as_str().unwrap()).await.unwrap();
        let result: Value = serde_json::from_str(&result).unwrap();
        assert_eq!(result, json!({ "createdId": made["id"], "size": 40_005, "seeding": null }));
        drop(tx);
        // The wish is forgotten, and its addresses are shown nowhere.
        let mut tx = db.begin_read().await.unwrap();
        let hidden: Option<String> = qm_db::value!(&mut tx, Option<String>, HIDDEN, made["id"].as_str().unwrap()).await.unwrap();
        assert_eq!(hidden, None);
        assert!(!made.to_string().contains("example"), "{made}");

        let second = site.ended(&site.create(json!({ "path": "pack/film.mkv" })).await).await;
        let list = site.ask("GET", "?pageSize=1", None).await.json();
        assert_eq!((&list["total"], &list["items"]), (&json!(2), &json!([second])));
        assert_eq!((&second["name"], &second["format"], &second["infoHashV2"]), (&json!("film.mkv"), &json!("v1"), &Value::Null));

        // Who may add no more may still delete.
        let path = format!("/{}", made["id"].as_str().unwrap());
        assert_eq!(site.send("READ_ONLY", "POST", "", Some(json!({ "path": "pack" }))).await.status, 403);
        assert_eq!(site.send("READ_ONLY", "DELETE", &path, None).await.status, 200);
        for method in ["GET", "DELETE"] {
            assert_eq!(site.ask(method, &path, None).await.status, 404);
        }
        assert_eq!(fs::read(site.root.join("pack/film.mkv")).unwrap(), vec![7; 40_000]);
        let mut tx = db.begin_read().await.unwrap();
        assert_eq!(qm_db::value!(&mut tx, i64, COUNT_FILES).await.unwrap(), 1, "the file of the other torrent");
        drop(tx);
        assert_eq!(actions(&db).await, ["torrents.created.delete", "torrents.created.create", "torrents.created.create"]);
        site.stop().await;
    }

    async fn a_wish_is_judged_before_any_work(db: Db) {
        let site = Site::new(&db).await;
        site.write("pack/film.mkv", b"x");
        let with = |name: &str, value: Value| {
            let mut wish = json!({ "path": "/pack" });
            wish[name] = value;
            wish
        };
        for (wish, fault) in [
            (json!({}), "path must be a string"),
            (with("format", json!("v2")), "format must be one of the following values: v1, hybrid"),
            (with("pieceSize", json!(20_000)), "pieceSize: 20000 is no power of two"),
            (with("pieceSize", json!(1 << 30)), "pieceSize: 1073741824 is no power of two"),
            (with("name", json!("a\nb")), "must not contain control characters"),
            (with("source", json!("")), "source: it is empty"),
            (with("comment", json!("c".repeat(4097))), "comment must be shorter than or equal to 4096 characters"),
            (with("trackers", json!("http://one.example")), "trackers must be an array"),
            (with("trackers", json!(["http://one.example"])), "each value in trackers must be an array of strings"),
            (with("trackers", json!([["http://one.example", "gopher://secret"]])), "trackers[0][1]: it must begin with"),
            (with("trackers", json!([vec!["http://one.example"; 101]])), "trackers: 101 addresses, at most 100 are possible"),
            (with("trackers", json!(vec![vec!["http://one.example"; 51]; 2])), "trackers: 102 addresses, at most 100 are possible"),
            (with("trackers", json!(vec![vec!["http://one.example"; 51], vec!["2"; 50], vec![]])), "trackers: 101 addresses"),
            (with("webSeeds", json!(["nowhere"])), "webSeeds[0]: it must begin with"),
            (with("seed", json!("e")), "seed must be an object"),
            (with("seed", json!({})), "seed.engineId should not be empty"),
            (with("seed", json!({ "engineId": "e", "savePath": "/" })), "seed.property savePath should not exist"),
            (with("seed", json!({ "engineId": "e", "tags": [""] })), "seed.tags: each value must have 1 to 200 characters"),
            (with("seed", json!({ "engineId": "e", "startPaused": "maybe" })), "seed.startPaused must be a boolean"),
            (with("else", json!(1)), "property else should not exist"),
        ] {
            let said = site.refusal(wish).await;
            assert!(said.starts_with("400 ") && said.contains(fault), "{fault}: {said}");
            assert!(!said.contains("secret"), "{said}");
        }
        let seed = |engine: &str, category: &str, format: &str, path: &str| {
            json!({ "path": path, "format": format, "seed": { "engineId": engine, "category": category } })
        };
        for (wish, refusal) in [
            (json!({ "path": "/../pack" }), "403 forbidden.outside_roots"),
            (json!({ "pathRaw": "%2e%2e/pack" }), "403 forbidden.outside_roots"),
            (json!({ "path": "pack/none" }), "404 not_found.item"),
            (seed("none", "", "v1", "/pack"), "404 not_found.engine There is no engine with the id \"none\""),
            (seed("down", "", "v1", "/pack"), "503 unavailable.engine it starts"),
            (seed("e", "bad", "v1", "/pack"), "400 bad_request.seed seed: category has a quote in it"),
            (seed("r", "", "hybrid", "/pack"), "400 bad_request.hybrid_folder the old box does not complete hybrid"),
        ] {
            let said = site.refusal(wish).await;
            assert!(said.starts_with(refusal), "{refusal}: {said}");
        }
        // A place that no engine may be told of is refused before anything is queued.
        for folder in ["private", "asleep"] {
            site.write(&format!("{folder}/file"), b"x");
        }
        for (path, refusal) in [
            ("/", "400 bad_request.seed seed: / is a root of the files, and no engine can be told of the folder that holds it"),
            ("/private/file", "400 bad_request.seed seed: "),
            ("/asleep/file", "503 unavailable.engine the disk sleeps"),
        ] {
            let said = site.refusal(seed("e", "", "v1", path)).await;
            assert!(said.starts_with(refusal), "{refusal}: {said}");
            site.create(json!({ "path": path })).await;
        }
        assert_eq!(site.ask("GET", "", None).await.json()["total"], 3, "without an engine they may be made");
        for created in site.ask("GET", "", None).await.json()["items"].as_array().unwrap() {
            let path = format!("/{}", created["id"].as_str().unwrap());
            assert_eq!(site.ask("DELETE", &path, None).await.status, 200);
        }
        // A hybrid of one file has no padding, and version 1 has none anyway.
        for wish in [seed("r", "", "hybrid", "/pack/film.mkv"), seed("r", "", "v1", "/pack"), seed("e", "", "hybrid", "/pack")] {
            site.create(wish).await;
        }
        let reply = site.send("READ_ONLY", "POST", "", Some(json!({ "path": "/pack" }))).await;
        assert_eq!(reply.status, 403);
        site.stop().await;
    }

    async fn what_cannot_be_made_says_why(db: Db) {
        let site = Site::started(&db).await;
        site.write("empty/file", b"");
        fs::create_dir(site.root.join("none")).unwrap();
        site.write("linked/file", b"x");
        std::os::unix::fs::symlink("file", site.root.join("linked/link")).unwrap();
        for (path, why) in [
            ("empty", "There is nothing to share: all files are empty"),
            ("none", "There is nothing to share: all files are empty"),
            ("linked", "/linked/link is a symbolic link: remove it, or create a torrent of what it leads to"),
        ] {
            let created = site.create(json!({ "path": path, "seed": { "engineId": "e" } })).await;
            let failed = site.ended(&created).await;
            assert_eq!((&failed["state"], &failed["error"]), (&json!("failed"), &json!(why)));
            assert_eq!(failed["seeding"]["state"], "failed");
            let path = format!("/{}/file", created["id"].as_str().unwrap());
            let file = site.ask("GET", &path, None).await;
            assert_eq!((file.status, &file.json()["code"]), (409, &json!("conflict.not_made")));
        }
        assert!(site.engines.taken.lock().unwrap().is_empty());
        site.stop().await;
    }

    async fn a_job_judges_again(db: Db) {
        let site = Site::new(&db).await;
        site.write("pack/file", b"x");
        site.write("inner/pack/file", b"y");
        let gone = site.create(json!({ "path": "pack/file" })).await;
        let moved = site.create(json!({ "path": "pack" })).await;
        fs::remove_file(site.root.join("pack/file")).unwrap();
        *site.default_root.0.lock().unwrap() = Some(site.root.join("inner").display().to_string());
        let inner = site.create(json!({ "path": "pack" })).await;
        site.jobs.start().await.unwrap();
        let error = site.ended(&moved).await["error"].clone();
        assert!(error.as_str().unwrap().starts_with("The root of the files is no longer "), "{error}");
        assert_eq!(site.ended(&gone).await["state"], "failed");
        assert_eq!(site.ended(&inner).await["state"], "completed");
        // Nobody reads files for a user who may no longer see them.
        *site.powers.held.lock().unwrap() = few_powers();
        let denied = site.ended(&site.create(json!({ "path": "pack" })).await).await;
        assert_eq!((&denied["state"], &denied["error"]), (&json!("failed"), &json!("Missing permission(s): files.view")));
        site.stop().await;
    }

    async fn who_loses_a_right_meanwhile_gets_nothing_more(db: Db) {
        let hands = Hands::starting_at(START_MS);
        let site = Site::at_time(&db, hands.ctx()).await;
        site.write("file", b"x");
        fs::File::create(site.root.join("large")).unwrap().set_len(1 << 42).unwrap();
        site.jobs.start().await.unwrap();
        // Lost after the file was made: no engine gets it.
        *site.powers.looks_left.lock().unwrap() = Some(1);
        let seed = json!({ "engineId": "e" });
        let kept = site.ended(&site.create(json!({ "path": "file", "seed": seed })).await).await;
        assert_eq!((&kept["state"], &kept["seeding"]["error"]), (&json!("completed"), &json!("Missing permission(s): files.view")));
        assert!(site.engines.taken.lock().unwrap().is_empty());
        // Lost while the files are read.
        *site.powers.looks_left.lock().unwrap() = None;
        let reading = site.create(json!({ "path": "large" })).await;
        site.until(&reading, |created| created["state"] == "hashing").await;
        *site.powers.held.lock().unwrap() = few_powers();
        site.until(&reading, |created| {
            hands.advance(Duration::from_secs(1));
            created["state"] != "hashing"
        })
        .await;
        let denied = site.ended(&reading).await;
        assert_eq!((&denied["state"], &denied["error"]), (&json!("failed"), &json!("Missing permission(s): files.view")));
        site.stop().await;
    }

    async fn an_engine_gets_the_torrent_with_the_place_of_its_content(db: Db) {
        let site = Site::started(&db).await;
        site.write("shelf/pack/file", b"x");
        let seed = json!({ "engineId": "e", "category": "linux", "tags": ["one", "two"], "startPaused": true });
        let wish = json!({ "path": "shelf/pack", "seed": seed });
        let made = site.ended(&site.create(wish.clone()).await).await;
        assert_eq!((&made["state"], &made["seeding"]["state"], &made["seeding"]["hash"]), (&json!("completed"), &json!("added"), &made["infoHash"]));
        let taken = site.engines.taken.lock().unwrap().pop().unwrap();
        assert_eq!(taken.save_path, site.root.join("shelf").display().to_string());
        let asked = SeedWish {
            engine_id: "e".into(),
            category: Some("linux".into()),
            tags: vec!["one".into(), "two".into()],
            start_paused: true,
        };
        assert_eq!(taken.wish, asked);
        assert_eq!(actions(&db).await[0], "torrents.created.seed");

        site.engines.faults.lock().unwrap().push_back(IntakeError::Refused("it is full".to_owned()));
        let kept = site.ended(&site.create(wish.clone()).await).await;
        assert_eq!((&kept["state"], &kept["seeding"]["state"], &kept["seeding"]["error"]), (&json!("completed"), &json!("failed"), &json!("it is full")));
        assert_eq!(site.engines.taken.lock().unwrap().len(), 1, "a refusal is final");
        let path = format!("/{}/file", kept["id"].as_str().unwrap());
        assert_eq!(site.ask("GET", &path, None).await.status, 200);

        // A job that is stopped while the engine is asked leaves the file.
        *site.engines.hangs.lock().unwrap() = true;
        let hung = site.create(wish).await;
        site.until(&hung, |created| created["state"] == "seeding").await;
        let caller = principal(Role::Administrator);
        let client = qm_test_base::client();
        let caller = qm_kernel::Caller { principal: &caller, client: &client };
        let mut tx = db.begin_write().await.unwrap();
        let job = hung["jobId"].as_str().unwrap();
        assert!(site.jobs.cancel_of(&mut tx, caller, "torrents", job).await.unwrap());
        tx.commit().await.unwrap();
        let kept = site.ended(&hung).await;
        assert_eq!((&kept["state"], &kept["seeding"]["error"]), (&json!("completed"), &json!("Cancelled while it was being added: look whether the engine lists it")));
        site.stop().await;
    }

    async fn what_an_engine_took_is_written_down_when_the_torrent_is_deleted_meanwhile(db: Db) {
        let site = Site::started(&db).await;
        site.write("file", b"x");
        *site.engines.hangs.lock().unwrap() = true;
        let created = site.create(json!({ "path": "file", "seed": { "engineId": "e" } })).await;
        site.until(&created, |_| !site.engines.taken.lock().unwrap().is_empty()).await;
        let mut tx = db.begin_write().await.unwrap();
        qm_db::exec!(&mut tx, DELETE_ALL).await.unwrap().exactly(1).unwrap();
        tx.commit().await.unwrap();
        site.engines.go.notify_one();
        let ended = site.jobs.ended(created["jobId"].as_str().unwrap());
        assert_eq!(tokio::time::timeout(DEADLINE, ended).await.unwrap().unwrap(), Ending::Completed);
        assert_eq!(actions(&db).await, ["torrents.created.seed", "torrents.created.create"]);
        site.stop().await;
    }

    async fn an_engine_that_is_not_there_is_asked_again(db: Db) {
        let hands = Hands::starting_at(START_MS);
        let site = Site::at_time(&db, hands.ctx()).await;
        site.write("file", b"x");
        site.jobs.start().await.unwrap();
        let wish = json!({ "path": "file", "seed": { "engineId": "e" } });
        let off = |times: u64| {
            let mut faults = site.engines.faults.lock().unwrap();
            faults.clear();
            faults.extend((0..times).map(|_| IntakeError::Engine("it is off".to_owned())));
            site.engines.taken.lock().unwrap().clear();
        };
        for (faults, state, error) in [
            (SEED_ATTEMPTS - 1, "added", Value::Null),
            (SEED_ATTEMPTS, "failed", json!("it is off")),
        ] {
            off(faults);
            let created = site.create(wish.clone()).await;
            site.until(&created, |created| {
                // The pauses between attempts pass at once.
                hands.advance(Duration::from_secs(1));
                !created["endedAt"].is_null()
            })
            .await;
            let kept = site.ended(&created).await;
            assert_eq!((&kept["state"], &kept["seeding"]["state"], &kept["seeding"]["error"]), (&json!("completed"), &json!(state), &error));
            assert_eq!(site.engines.taken.lock().unwrap().len() as u64, SEED_ATTEMPTS);
            let path = format!("/{}/file", kept["id"].as_str().unwrap());
            assert_eq!(site.ask("GET", &path, None).await.status, 200);
        }
        site.stop().await;
    }

    async fn deleting_stops_the_job_of_a_large_file(db: Db) {
        let site = Site::started(&db).await;
        let file = fs::File::create(site.root.join("large")).unwrap();
        // Sparse: it takes no room, and longer to read than anybody waits.
        file.set_len(1 << 42).unwrap();
        let created = site.create(json!({ "path": "large" })).await;
        site.until(&created, |created| created["state"] == "hashing").await;
        let path = format!("/{}", created["id"].as_str().unwrap());
        assert_eq!(site.ask("DELETE", &path, None).await.status, 200);
        let ended = site.jobs.ended(created["jobId"].as_str().unwrap());
        assert_eq!(tokio::time::timeout(DEADLINE, ended).await.unwrap().unwrap(), Ending::Cancelled);
        assert_eq!(site.ask("GET", &path, None).await.status, 404);
        // The lane is free again.
        site.write("small", b"x");
        let small = site.ended(&site.create(json!({ "path": "small" })).await).await;
        assert_eq!(small["state"], "completed");
        site.stop().await;
    }

    async fn work_that_a_crash_cut_off_is_done_again(db: Db) {
        let site = Site::new(&db).await;
        site.write("pack/file", b"x");
        let created = site.create(json!({ "path": "pack" })).await;
        let mut tx = db.begin_write().await.unwrap();
        qm_db::exec!(&mut tx, SET_STATE, "hashing").await.unwrap().exactly(1).unwrap();
        tx.commit().await.unwrap();
        site.jobs.start().await.unwrap();
        assert_eq!(site.ended(&created).await["state"], "completed");
        site.stop().await;
    }

    async fn nobody_sees_the_torrents_of_others(db: Db) {
        let site = Site::started(&db).await;
        site.write("file", b"x");
        let theirs = site.ended(&site.create(json!({ "path": "file" })).await).await;
        let id = theirs["id"].as_str().unwrap();
        let mut tx = db.begin_write().await.unwrap();
        qm_db::exec!(&mut tx, GIVE_AWAY, id).await.unwrap().exactly(1).unwrap();
        tx.commit().await.unwrap();
        for (method, path) in [("GET", ""), ("GET", "/file"), ("DELETE", "")] {
            let reply = site.ask(method, &format!("/{id}{path}"), None).await;
            assert_eq!((reply.status, &reply.json()["code"]), (404, &json!("not_found.created_torrent")), "{method} {path}");
        }
        assert_eq!(site.ask("GET", "", None).await.json()["total"], 0);
        let mut tx = db.begin_write().await.unwrap();
        qm_db::exec!(&mut tx, DELETE_USER, "other").await.unwrap().exactly(1).unwrap();
        tx.commit().await.unwrap();
        let mut tx = db.begin_read().await.unwrap();
        assert!(crate::repo::find(&mut tx, id).await.unwrap().is_none());
        drop(tx);
        site.stop().await;
    }

    async fn few_are_made_at_once_and_few_are_kept(db: Db) {
        let hands = Hands::starting_at(START_MS);
        let site = Site::at_time(&db, hands.ctx()).await;
        site.write("file", b"x");
        let mut active = Vec::new();
        for _ in 0..MAX_ACTIVE {
            hands.advance(Duration::from_millis(1));
            active.push(site.create(json!({ "path": "file" })).await);
        }
        let said = site.refusal(json!({ "path": "file" })).await;
        assert!(said.starts_with("409 conflict.too_many_created 5 torrents of yours are being created"), "{said}");
        let path = format!("/{}", active[0]["id"].as_str().unwrap());
        assert_eq!(site.ask("DELETE", &path, None).await.status, 200);
        site.jobs.start().await.unwrap();
        for created in &active[1..] {
            assert_eq!(site.ended(created).await["state"], "completed");
        }
        for _ in MAX_ACTIVE..=KEPT + 2 {
            hands.advance(Duration::from_millis(1));
            let created = site.create(json!({ "path": "file" })).await;
            assert_eq!(site.ended(&created).await["state"], "completed");
        }
        let list = site.ask("GET", "", None).await.json();
        assert_eq!(list["total"], json!(KEPT), "{list}");
        let oldest = format!("/{}", active[1]["id"].as_str().unwrap());
        assert_eq!(site.ask("GET", &oldest, None).await.status, 404);

        // Torrents whose jobs are gone are ended, on whatever page they stand.
        let mut tx = db.begin_write().await.unwrap();
        for n in 0..101 {
            let id = format!("left {n}");
            qm_db::exec!(&mut tx, ADD_LEFT, &id).await.unwrap().exactly(1).unwrap();
        }
        tx.commit().await.unwrap();
        site.app.forget_old().await.unwrap();
        let mut tx = db.begin_read().await.unwrap();
        assert_eq!(qm_db::value!(&mut tx, i64, COUNT_LEFT).await.unwrap(), 0);
        drop(tx);

        // More than one transaction deletes are forgotten too, as after a change of the bound.
        let ended = hands.ctx().now();
        let mut tx = db.begin_write().await.unwrap();
        for n in 0..25 {
            qm_db::exec!(&mut tx, ADD_ENDED, &format!("old {n}"), ended.ms()).await.unwrap().exactly(1).unwrap();
        }
        tx.commit().await.unwrap();
        let one_more = site.create(json!({ "path": "file" })).await;
        assert_eq!(site.ended(&one_more).await["state"], "completed");
        assert_eq!(site.ask("GET", "", None).await.json()["total"], json!(KEPT));

        site.app.forget_old().await.unwrap();
        assert_eq!(site.ask("GET", "", None).await.json()["total"], json!(KEPT));
        hands.advance(KEPT_FOR + Duration::from_secs(1));
        site.app.forget_old().await.unwrap();
        assert_eq!(site.ask("GET", "", None).await.json()["total"], json!(0));
        site.stop().await;
    }
}
