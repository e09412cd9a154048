//! Tests of the routes, on both databases.

use std::fs;
use std::ops::Deref;
use std::sync::Arc;

use qm_db::{Db, db_test};
use qm_kernel::Ctx;
use qm_platform::AuditTrail;
use qm_ports::engine::Torrent;
use qm_test_base::Visitor;
use serde_json::{Value, json};

use super::routes;
use crate::model::MAX_PRESETS;
use crate::testing::{House, One};

mod runs;

struct Site {
    visitor: Visitor,
    house: House,
}

impl Deref for Site {
    type Target = House;

    fn deref(&self) -> &House {
        &self.house
    }
}

impl Site {
    fn new(db: &Db) -> Self {
        let house = House::new(db);
        let routes = routes().with_state(house.app.clone());
        Self {
            visitor: Visitor::new("/api/media", routes, Ctx::system()),
            house,
        }
    }

    async fn send(&self, role: &str, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        self.visitor.ask(role, method, path, body).await.status_and_json()
    }

    /// Sends it as an administrator; the answer must have this status.
    async fn ask(&self, status: u16, method: &str, path: &str, body: Option<Value>) -> Value {
        let (found, said) = self.send("ADMINISTRATOR", method, path, body).await;
        assert_eq!(found, status, "{method} {path}: {said}");
        said
    }

    /// Status, code and message of a refused preview.
    async fn refusal(&self, body: Value) -> String {
        let answer = self.visitor.ask("USER", "POST", "/preview", Some(body)).await;
        let (status, code, message) = answer.refusal();
        format!("{status} {code} {message}")
    }

    async fn preview(&self, body: Value) -> Value {
        let (status, said) = self.send("USER", "POST", "/preview", Some(body)).await;
        assert_eq!(status, 201, "{said}");
        said
    }
}

/// Destinations of the items that have one, and reasons of the others.
fn outcomes(plan: &Value) -> Vec<&str> {
    let items = plan["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| item["destination"].as_str().or(item["reason"].as_str()).unwrap())
        .collect()
}

db_test! {
    async fn presets_are_stored_changed_and_deleted(db: Db) {
        let site = Site::new(&db);
        let built_in = site.ask(200, "GET", "/presets", None).await;
        assert_eq!(built_in["emby"]["movie"], "{Movie Title} ({year})/{Movie Title} ({year}).{ext}");
        assert_eq!(built_in.as_object().unwrap().len(), 4);

        let movie = "{Movie Title}/{Movie Title} {Edition}.{ext}";
        let body = json!({ "name": " Mine ", "base": "kodi", "movie": movie, "tv": " " });
        let mine = site.ask(201, "POST", "/presets", Some(body.clone())).await;
        assert_eq!((&mine["name"], &mine["base"], &mine["movie"], &mine["tv"]), (&json!("Mine"), &json!("kodi"), &json!(movie), &Value::Null));
        let again = site.ask(409, "POST", "/presets", Some(body)).await;
        assert_eq!(again["code"], "conflict.preset_name");
        let id = mine["id"].as_str().unwrap();
        assert_eq!(site.ask(200, "GET", "/presets/stored", None).await["items"], json!([mine]));

        // It names files, and explains how.
        let names = ["Tide.1999.Final.Cut.1080p.mkv", "Show.S01E02.mkv"];
        let plan = site.preview(json!({ "names": names, "preset": id })).await;
        assert_eq!(outcomes(&plan), ["Show/Season 1/Show S01E02.mkv", "Tide/Tide Final Cut.mkv"]);
        let path = format!("/presets/{id}/explain?name=Tide.1999.Final.Cut.1080p.mkv");
        let explained = site.ask(200, "GET", &path, None).await;
        assert_eq!((&explained["destination"], &explained["template"]), (&json!("Tide/Tide Final Cut.mkv"), &json!(movie)));

        let changed = site.ask(200, "PUT", &format!("/presets/{id}"), Some(json!({ "name": "Other" }))).await;
        assert_eq!((&changed["name"], &changed["base"], &changed["movie"]), (&json!("Other"), &json!("plex"), &Value::Null));
        let wrong = json!({ "name": "Other", "anime": "../{General}.{ext}" });
        let wrong = site.ask(400, "PUT", &format!("/presets/{id}"), Some(wrong)).await;
        assert_eq!(wrong["code"], "bad_request.template");
        assert_eq!(wrong["message"], "anime: the folder `..` would leave the library's directory: write the name of a folder");
        let _ = site.ask(200, "DELETE", &format!("/presets/{id}"), None).await;
        for (method, body) in [("PUT", Some(json!({ "name": "x" }))), ("DELETE", None)] {
            let gone = site.ask(404, method, &format!("/presets/{id}"), body).await;
            assert_eq!(gone["code"], "not_found.name_preset");
        }
        let gone = site.refusal(json!({ "names": ["a.mkv"], "preset": id })).await;
        assert_eq!(gone, "404 not_found.name_preset Preset not found");

        let (status, _) = site.send("USER", "POST", "/presets", Some(json!({ "name": "x" }))).await;
        assert_eq!(status, 403, "a viewer stores none");
        let rows = AuditTrail::newest(&mut db.begin_read().await.unwrap(), 10).await.unwrap();
        let actions: Vec<&str> = rows.iter().map(|row| &*row.action).collect();
        assert_eq!(actions, ["media.namePreset.delete", "media.namePreset.update", "media.namePreset.create"]);
    }

    async fn presets_are_bounded(db: Db) {
        let site = Site::new(&db);
        for number in 0..MAX_PRESETS {
            let _ = site.ask(201, "POST", "/presets", Some(json!({ "name": number.to_string() }))).await;
        }
        let more = site.ask(409, "POST", "/presets", Some(json!({ "name": "more" }))).await;
        assert_eq!(more["code"], "conflict.too_many_presets");
    }

    async fn settings_are_merged_and_audited(db: Db) {
        let site = Site::new(&db);
        let cleanup = site.ask(200, "GET", "/settings/cleanup", None).await;
        let expected = json!({
            "enabled": false, "deleteGlobs": [], "subtitleKeepLanguages": [], "pruneEmptyDirs": false,
            "removeLeftoverTorrent": false,
        });
        assert_eq!(cleanup, expected);
        let change = json!({ "enabled": true, "deleteGlobs": [" *.txt ", " "], "subtitleKeepLanguages": ["EN"] });
        let _ = site.ask(200, "PATCH", "/settings/cleanup", Some(change)).await;
        let merged = site.ask(200, "PATCH", "/settings/cleanup", Some(json!({ "pruneEmptyDirs": true }))).await;
        let expected = json!({
            "enabled": true, "deleteGlobs": ["*.txt"], "subtitleKeepLanguages": ["en"], "pruneEmptyDirs": true,
            "removeLeftoverTorrent": false,
        });
        assert_eq!(merged, expected);
        assert_eq!(site.ask(200, "GET", "/settings/cleanup", None).await, expected);

        assert_eq!(site.ask(200, "GET", "/settings/seeding-torrent", None).await, json!({ "action": "remove" }));
        let _ = site.ask(200, "PATCH", "/settings/seeding-torrent", Some(json!({ "action": "ignore" }))).await;
        assert_eq!(site.ask(200, "GET", "/settings/seeding-torrent", None).await, json!({ "action": "ignore" }));
        let wrong = site.ask(400, "PATCH", "/settings/seeding-torrent", Some(json!({ "action": "burn" }))).await;
        assert!(wrong["message"].to_string().contains("remove, report, ignore"), "{wrong}");
        for (path, body) in [("/settings/cleanup", json!({})), ("/settings/seeding-torrent", json!({ "action": "report" }))] {
            assert_eq!(site.send("USER", "PATCH", path, Some(body)).await.0, 403, "{path}");
        }
        let rows = AuditTrail::newest(&mut db.begin_read().await.unwrap(), 10).await.unwrap();
        let actions: Vec<&str> = rows.iter().map(|row| &*row.action).collect();
        assert_eq!(actions, ["media.seedingTorrent.updated", "media.cleanup.updated", "media.cleanup.updated"]);

        // What is to be deleted is shown where files would move, and only there.
        let names = json!(["Tide.1999/Tide.1999.mkv", "Tide.1999/read.TXT"]);
        let plan = site.preview(json!({ "names": names, "mode": "rename_move" })).await;
        assert_eq!((&plan["items"][0]["action"], &plan["items"][1]["action"]), (&json!("delete"), &json!("move")));
        let plan = site.preview(json!({ "names": names, "mode": "hardlink" })).await;
        assert_eq!((&plan["items"][0]["action"], &plan["items"][1]["action"]), (&json!("hardlink"), &json!("skip")));
    }

    async fn files_of_folders_and_torrents_are_planned(db: Db) {
        let site = Site::new(&db);
        for name in ["Show.S01.1080p/Show.S01E01.mkv", "Show.S01.1080p/Show.S01E01.en.srt", "Show.S01.1080p/a.txt"] {
            site.write(&format!("dl/{name}"), "x");
        }
        site.write("tv/the.wire/the.wire.s01e02.mkv", "x");
        fs::create_dir(site.root.join("empty")).unwrap();
        let tv = site.place_of("tv");
        let plan = site.preview(json!({ "libraryPath": tv, "path": site.place_of("dl/Show.S01.1080p"), "mode": "copy" })).await;
        assert_eq!((&plan["kind"], &plan["mode"], &plan["preset"], &plan["libraryPath"]), (&json!("tv"), &json!("copy"), &json!("plex"), &json!(tv)));
        assert_eq!(plan["parsed"]["title"], "Show");
        let show = |name: &str| site.place_of(&format!("tv/Show/Season 1/{name}"));
        assert_eq!(outcomes(&plan), [show("Show - S01E01.mkv"), show("Show - S01E01.en.srt"), "non-media file".to_owned()]);
        assert_eq!(plan["items"][0]["source"], site.place_of("dl/Show.S01.1080p/Show.S01E01.mkv"));

        // The library gives title and year of its show; a file alone is named too.
        let file = site.place_of("tv/the.wire/the.wire.s01e02.mkv");
        let plan = site.preview(json!({ "libraryPath": tv, "path": file })).await;
        assert_eq!(outcomes(&plan), [site.place_of("tv/The Wire (2002)/Season 1/The Wire - S01E02.mkv")]);
        let plan = site.preview(json!({ "libraryPath": tv, "path": file, "mode": "rename_in_place" })).await;
        assert_eq!(outcomes(&plan), [site.place_of("tv/the.wire/Season 1/The Wire - S01E02.mkv")]);

        let torrent = Torrent { name: "Show S01 1080p".into(), content_path: site.place_of("dl/Show.S01.1080p"), ..qm_test_base::blank::torrent(1) };
        let hash = torrent.hash.to_string();
        site.around.lists.lock().unwrap().push(Arc::new(One(torrent)));
        let plan = site.preview(json!({ "libraryPath": tv, "hash": hash.to_uppercase(), "engineId": "e" })).await;
        assert_eq!(outcomes(&plan)[0], show("Show - S01E01.mkv"));
        assert_eq!(plan["parsed"]["title"], "Show");
        for body in [json!({ "hash": hash, "engineId": "other" }), json!({ "hash": "none" })] {
            let mut body = body;
            body["libraryPath"] = json!(tv);
            assert_eq!(site.refusal(body).await, "400 bad_request.torrent Torrent not found");
        }
        let plan = site.preview(json!({ "libraryPath": tv, "path": site.place_of("empty") })).await;
        assert_eq!((&plan["items"], &plan["warnings"]), (&json!([]), &json!(["No renamable media files were found."])));
        assert!(site.root.join("dl/Show.S01.1080p/Show.S01E01.mkv").exists() && !site.root.join("tv/Show").exists(), "nothing was changed");
    }

    async fn bad_requests_are_refused_clearly(db: Db) {
        let site = Site::new(&db);
        let outside = site.root.parent().unwrap().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("a.mkv"), "x").unwrap();
        std::os::unix::fs::symlink(&outside, site.root.join("out")).unwrap();
        let tv = site.place_of("tv");
        for (body, expected) in [
            (json!({}), "400 bad_request.library_path libraryPath is required"),
            (json!({ "libraryPath": "  " }), "400 bad_request.library_path libraryPath is required"),
            (json!({ "libraryPath": "tv", "names": ["a.mkv"] }), "400 bad_request.library_path libraryPath must be absolute, and without ..: \"tv\" is not"),
            (json!({ "libraryPath": "/a/../b", "names": ["a.mkv"] }), "400 bad_request.library_path libraryPath must be absolute, and without ..: \"/a/../b\" is not"),
            (json!({ "libraryPath": tv }), "400 bad_request.nothing_to_name Provide a torrent hash or a path"),
            (json!({ "libraryPath": tv, "path": site.place_of("none") }), "400 bad_request.path Path does not exist"),
            (json!({ "libraryPath": tv, "path": outside }), "400 bad_request.outside Path is outside the allowed storage roots"),
            (json!({ "libraryPath": tv, "path": "/etc/passwd" }), "400 bad_request.outside Path is outside the allowed storage roots"),
            (json!({ "names": ["a.mkv"], "template": "/{General}.{ext}" }), "400 bad_request.template template: the template begins with a slash: names are below the library's directory, so begin with a name"),
        ] {
            assert_eq!(site.refusal(body.clone()).await, expected, "{body}");
        }
        let told = site.refusal(json!({ "libraryPath": tv, "path": site.place_of("out") })).await;
        assert!(told.starts_with("400 "), "a link out of the roots: {told}");
        let huge = "{year}".repeat(100_000);
        let told = site.refusal(json!({ "names": ["a.mkv"], "template": huge })).await;
        assert!(told.starts_with("400 ") && told.contains("template") && told.contains("2000"), "{}", &told[..told.len().min(300)]);
        let told = site.refusal(json!({ "names": vec!["a.mkv"; 1001] })).await;
        assert!(told.starts_with("400 ") && told.contains("names"), "{told}");
        let told = site.refusal(json!({ "names": ["a.mkv"], "mode": "burn" })).await;
        assert!(told.starts_with("400 ") && told.contains("rename_in_place"), "{told}");
        let missing = site.ask(404, "GET", "/presets/none/explain?name=a.mkv", None).await;
        assert_eq!(missing["code"], "not_found.name_preset");
        let _ = site.ask(400, "GET", "/presets/plex/explain", None).await;
    }

    async fn an_explanation_shows_each_token(db: Db) {
        let site = Site::new(&db);
        let found = site.ask(200, "GET", "/presets/jellyfin/explain?name=The.Wire.S01E02.The.Detail.1080p.mkv&kind=tv", None).await;
        assert_eq!(found["destination"], "The Wire/Season 1/The Wire S01E02 The Detail.mkv");
        let tokens = found["tokens"].as_array().unwrap();
        let episode = tokens.iter().find(|token| token["token"] == "episode").unwrap();
        let expected = json!({
            "token": "episode", "value": "2", "used": true,
            "from": { "place": "name", "token": "S01E02", "rule": "season and episode" },
        });
        assert_eq!(*episode, expected);
        assert!(found["parts"].as_array().unwrap().iter().any(|part| part["takenFor"] == "resolution"));
        let refused = site.ask(200, "GET", "/presets/plex/explain?name=a.mkv&kind=tv", None).await;
        assert_eq!((&refused["destination"], &refused["refusal"]), (&Value::Null, &json!("its name says no episode and no day")));
    }
}
