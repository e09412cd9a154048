//! The routes as a client sees them.

mod beside;
mod bulk;
mod copies;
mod cross;
mod fetch;
mod ignored;
mod metadata;
mod refresh;
mod renames;
mod repair;
mod series;
mod shelves;
mod titles;

use qm_db::{Db, db_test};
use qm_kernel::Ctx;
use qm_media::model::library::Kind;
use qm_test_base::Visitor;
use serde_json::{Value, json};

use super::all;
use crate::testing::House;

struct Site {
    house: House,
    visitor: Visitor,
}

impl Site {
    async fn new(db: &Db) -> Self {
        let site = Self::idle(db);
        site.house.starts_jobs().await;
        site
    }

    /// No job begins.
    fn idle(db: &Db) -> Self {
        let house = House::new(db);
        let visitor = Visitor::new("/api/media", all(&house.app), Ctx::system());
        Self { house, visitor }
    }

    async fn ask(&self, role: &str, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        self.visitor.ask(role, method, path, body).await.status_and_json()
    }

    /// A GET whose answer is no JSON: with its headers, as one text.
    async fn text(&self, role: &str, path: &str) -> (u16, String, String) {
        let answer = self.visitor.ask(role, "GET", path, None).await;
        let headers = format!("{:?}", answer.headers);
        (answer.status, headers, String::from_utf8(answer.bytes).unwrap())
    }

    async fn admin(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        self.ask("ADMINISTRATOR", method, path, body).await
    }

    async fn get(&self, path: &str) -> Value {
        let (status, value) = self.ask("READ_ONLY", "GET", path, None).await;
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    fn path(&self, name: &str) -> String {
        self.house.root.join(name).to_str().unwrap().to_owned()
    }
}

db_test! {
    async fn libraries_are_kept(db: Db) {
        let site = Site::new(&db).await;
        let body = json!({ "name": "Shows", "path": site.path("tv"), "unknown": 1 });
        let (status, made) = site.admin("POST", "/libraries", Some(body)).await;
        assert_eq!(status, 201, "{made}");
        for (name, value) in [
            ("kind", json!("tv")), ("preset", json!("plex")), ("mode", json!("hardlink")), ("autoOrganize", json!(false)),
            ("isEnabled", json!(true)), ("scanIntervalMinutes", Value::Null), ("watchEnabled", json!(false)),
            ("scanOnStartup", json!(false)), ("nfoEnabled", json!(false)), ("artworkEnabled", json!(true)),
            ("template", Value::Null), ("lastScanAt", Value::Null), ("path", json!(site.path("tv"))),
        ] {
            assert_eq!(made[name], value, "{name}");
        }
        let one = format!("/libraries/{}", made["id"].as_str().unwrap());
        // A directory that is not there costs nothing and says so.
        let (ended, summary) = site.house.ended(made["scanJobId"].as_str().unwrap()).await;
        assert_eq!((&*ended, &summary["scanned"]), ("completed_with_warnings", &json!(0)));
        let change = json!({ "kind": "anime", "scanIntervalMinutes": 60, "template": "x", "mode": "copy" });
        let (status, changed) = site.admin("PATCH", &one, Some(change)).await;
        assert_eq!((status, &changed["kind"], &changed["scanIntervalMinutes"], &changed["name"]),
            (200, &json!("anime"), &json!(60), &json!("Shows")));
        let (_, changed) = site.admin("PATCH", &one, Some(json!({ "scanIntervalMinutes": null, "template": null }))).await;
        assert_eq!((&changed["scanIntervalMinutes"], &changed["template"]), (&Value::Null, &Value::Null));
        let listed = site.get("/libraries").await;
        assert_eq!((listed.as_array().unwrap().len(), &listed[0]["mode"]), (1, &json!("copy")));
        let (status, _) = site.admin("DELETE", &one, None).await;
        assert_eq!(status, 200);
        assert_eq!(site.get("/libraries").await, json!([]));
        for (method, path) in [("PATCH", one.clone()), ("DELETE", one.clone())] {
            let (status, body) = site.admin(method, &path, (method == "PATCH").then(|| json!({}))).await;
            assert_eq!((status, &body["message"], &body["code"]),
                (404, &json!("Library not found"), &json!("not_found.media_library")), "{method}");
        }
        let (status, asked) = site.admin("POST", &format!("{one}/scan"), None).await;
        assert_eq!(status, 201);
        assert_eq!(site.house.ended(asked["jobId"].as_str().unwrap()).await.0, "failed");
        site.house.stops().await;
    }

    async fn what_makes_no_library_is_refused(db: Db) {
        let site = Site::new(&db).await;
        let good = site.path("tv");
        for (body, status, code) in [
            (json!({ "path": good }), 400, "bad_request.library_name_and_path"),
            (json!({ "name": " ", "path": good }), 400, "bad_request.library_name_and_path"),
            (json!({ "name": "a" }), 400, "bad_request.library_name_and_path"),
            (json!({ "name": "a", "path": " " }), 400, "bad_request.path"),
            (json!({ "name": "a", "path": good, "mode": "preview" }), 400, "bad_request.library_mode"),
            (json!({ "name": "a", "path": good, "mode": "magic" }), 400, "bad_request.library_mode"),
            (json!({ "name": "a", "path": good, "kind": "films" }), 400, "bad_request.validation"),
            (json!({ "name": "a", "path": good, "isEnabled": "perhaps" }), 400, "bad_request.validation"),
            (json!({ "name": "a", "path": "/etc" }), 403, "forbidden.protected_path"),
            (json!({ "name": "a", "path": "/nowhere/tv" }), 403, "forbidden.outside_roots"),
            (json!({ "name": "a", "path": site.path("own/tv") }), 403, "forbidden.outside_roots"),
        ] {
            let (got, answer) = site.admin("POST", "/libraries", Some(body.clone())).await;
            assert_eq!(got, status, "{body}: {answer}");
            if status != 400 || !code.ends_with("validation") {
                assert_eq!(answer["code"], code, "{body}");
            }
        }
        assert_eq!(site.get("/libraries").await, json!([]));
        for (method, path) in [("POST", "/libraries"), ("PATCH", "/libraries/x"), ("DELETE", "/libraries/x"), ("POST", "/libraries/x/scan")] {
            assert_eq!(site.ask("READ_ONLY", method, path, None).await.0, 403, "{method} {path}");
        }
        site.house.stops().await;
    }

    async fn items_are_listed_counted_and_shown(db: Db) {
        let site = Site::new(&db).await;
        for (path, size) in [
            ("tv/The Wire/Season 1/The.Wire.S01E01.1080p.BluRay.x265.DTS-GRP.mkv", 5_000_000_000),
            ("tv/12 Monkeys/12.Monkeys.S01E01.mkv", 1), ("tv/holiday.mkv", 2), ("tv/100%_real.mkv", 3),
        ] {
            site.house.file(path, size);
        }
        let (tv, job) = site.house.library("tv", qm_media::model::library::Kind::Tv).await;
        site.house.ended(&job).await;
        assert_eq!(site.house.scans(&tv).await.0, "completed");
        let page = site.get("/items").await;
        assert_eq!((&page["total"], &page["page"], &page["pageSize"]), (&json!(4), &json!(1), &json!(60)));
        let titles = |page: &Value| -> Vec<String> {
            page["items"].as_array().unwrap().iter().map(|item| item["title"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(titles(&page)[3], "The Wire");
        let wire = &page["items"][3];
        assert_eq!((&wire["matchStatus"], &wire["confidence"], &wire["season"], &wire["locked"]),
            (&json!("matched"), &json!(1.0), &json!(1), &json!(false)));
        let file = &wire["files"][0];
        assert_eq!((&file["size"], &file["quality"], &file["container"], &file["techSource"]),
            (&json!("5000000000"), &json!("BluRay 1080p"), &json!("mkv"), &json!("filename")));
        assert_eq!((&wire["metadata"], &wire["artwork"], &wire["externalIds"]), (&Value::Null, &json!([]), &json!([])));
        let count = |page: Value| page["total"].as_u64().unwrap();
        for (query, expected) in [
            ("search=WIRE", 1), ("search=00%25", 1), ("search=1%25m", 0), ("title=The%20Wire", 1), ("title=wire", 0),
            ("startsAt=T", 1), ("issue=unmatched", 2), ("matchStatus=matched", 2), ("issue=duplicate", 0),
            ("issue=missing_artwork", 4), ("mediaType=movie", 0), ("libraryId=x", 0), ("pageSize=2&page=2", 4),
        ] {
            assert_eq!(count(site.get(&format!("/items?{query}")).await), expected, "{query}");
        }
        for sort in ["title", "title_desc", "added_desc", "added_asc", "year_desc", "year_asc", "updated_desc"] {
            assert_eq!(titles(&site.get(&format!("/items?sort={sort}")).await).len(), 4, "{sort}");
        }
        let mut back = titles(&site.get("/items?sort=title_desc").await);
        back.reverse();
        assert_eq!(back, titles(&page));
        for bad in ["issue=odd", "sort=odd"] {
            assert_eq!(site.ask("READ_ONLY", "GET", &format!("/items?{bad}"), None).await.0, 400, "{bad}");
        }
        let letters = site.get("/items/alphabet").await;
        let letters = letters.as_array().unwrap();
        assert_eq!((letters.len(), &letters[0], &letters[20]),
            (27, &json!({ "letter": "#", "count": 2 }), &json!({ "letter": "T", "count": 1 })));
        let issues = json!({ "unmatched": 2, "missing_artwork": 4, "missing_subtitles": 4, "duplicate": 0 });
        assert_eq!(site.get("/items/issues").await, issues);
        let health = site.get("/health").await;
        assert_eq!(health, json!({
            "total": 4, "byMediaType": { "tv": 4 }, "unmatched": 2, "lowConfidence": 2, "missingArtwork": 4,
            "missingSubtitles": 4, "recentlyAdded": 4, "duplicateGroups": 0, "failedJobs": 0, "problems": [],
        }));
        let dashboard = site.get("/dashboard").await;
        assert_eq!((&dashboard["health"], &dashboard["libraries"][0]["itemCount"]), (&health, &json!(4)));
        let detail = site.get(&format!("/items/{}", wire["id"].as_str().unwrap())).await;
        assert_eq!((&detail["breadcrumb"]["showTitle"], &detail["library"]["id"], &detail["nfoFiles"]),
            (&json!("The Wire"), &json!(tv.id), &json!([])));
        let (status, missing) = site.ask("READ_ONLY", "GET", "/items/x", None).await;
        assert_eq!((status, &missing["message"]), (404, &json!("Item not found")));
        site.house.stops().await;
    }

    async fn people_say_what_an_item_is(db: Db) {
        let site = Site::new(&db).await;
        site.house.file("films/Tide.2003.1080p.mkv", 1);
        let (films, job) = site.house.library("films", Kind::Movie).await;
        site.house.ended(&job).await;
        let items = site.get("/items").await;
        let id = items["items"][0]["id"].as_str().unwrap().to_owned();
        let of = |verb: &str| format!("/items/{id}{verb}");
        let (status, edited) = site.admin("PATCH", &of(""), Some(json!({
            "title": " The Tide ", "sortTitle": "Tide", "year": null, "season": 1, "episode": 2, "mediaType": "tv", "whatever": 1,
        }))).await;
        assert_eq!((status, &edited["title"], &edited["sortTitle"], &edited["year"]),
            (200, &json!("The Tide"), &json!("Tide"), &json!(null)), "{edited}");
        assert!(edited.get("files").is_none(), "a row alone");
        assert_eq!(site.get("/items?search=tide&mediaType=tv").await["total"], 1, "it is found as what it is now");
        assert_eq!(site.get("/items/alphabet").await[20], json!({ "letter": "T", "count": 1 }));
        // By hand: what is not said stays, also where null says it.
        let (status, matched) = site.admin("POST", &of("/match"), Some(json!({ "year": 2003, "season": null }))).await;
        assert_eq!((status, &matched["matchStatus"], &matched["confidence"]), (201, &json!("manual"), &json!(1.0)), "{matched}");
        assert_eq!((&matched["year"], &matched["season"], &matched["title"]), (&json!(2003), &json!(1), &json!("The Tide")));
        site.house.scans(&films).await;
        assert_eq!(site.get(&of("")).await["title"], "The Tide", "no scan says otherwise");
        let (_, unmatched) = site.admin("POST", &of("/unmatch"), None).await;
        assert_eq!((&unmatched["matchStatus"], &unmatched["confidence"], &unmatched["year"]), (&json!("unmatched"), &json!(0.0), &json!(2003)));
        // Nothing said: the name is read again.
        for body in [None, Some(json!({}))] {
            let (_, read) = site.admin("POST", &of("/match"), body).await;
            assert_eq!((&read["title"], &read["matchStatus"], &read["mediaType"]), (&json!("Tide"), &json!("matched"), &json!("movie")), "{read}");
            assert_eq!((&read["season"], &read["sortTitle"]), (&json!(null), &json!("Tide")));
        }
        for _ in 0..2 {
            let (status, locked) = site.admin("POST", &of("/lock"), None).await;
            assert_eq!((status, &locked["locked"]), (201, &json!(true)));
        }
        for (method, verb, body) in [("PATCH", "", Some(json!({ "title": "x" }))), ("POST", "/match", None), ("POST", "/unmatch", None)] {
            let (status, refused) = site.admin(method, &of(verb), body).await;
            assert_eq!((status, &refused["message"]), (409, &json!("Item is locked: unlock it first")), "{verb}");
        }
        assert_eq!(site.admin("POST", &of("/unlock"), None).await.1["locked"], false);
        for body in [json!({ "title": "" }), json!({ "year": "late" }), json!({ "season": -1 }), json!({ "mediaType": "song" })] {
            let (status, refused) = site.admin("PATCH", &of(""), Some(body)).await;
            assert_eq!(status, 400, "{refused}");
        }
        for (method, verb) in [("PATCH", ""), ("POST", "/match"), ("POST", "/unmatch"), ("POST", "/lock"), ("POST", "/unlock")] {
            let body = (method == "PATCH").then(|| json!({}));
            assert_eq!(site.admin(method, &format!("/items/nobody{verb}"), body.clone()).await.0, 404, "{verb}");
            assert_eq!(site.ask("READ_ONLY", method, &of(verb), body).await.0, 403, "{verb}");
        }
        site.house.stops().await;
    }

    async fn a_job_of_the_area_is_asked_to_end(db: Db) {
        let site = Site::idle(&db);
        let (_, job) = site.house.library("tv", qm_media::model::library::Kind::Tv).await;
        let foreign = site.house.foreign_job().await;
        let cancel = async |role: &str, id: &str| site.ask(role, "POST", &format!("/jobs/{id}/cancel"), None).await;
        assert_eq!(cancel("READ_ONLY", &job).await.0, 403);
        for (id, requested) in [(&*foreign, false), ("nobody", false), (&*job, true), (&*job, false)] {
            let (status, answer) = cancel("ADMINISTRATOR", id).await;
            assert_eq!((status, answer), (201, json!({ "requested": requested })), "{id}");
        }
        assert_eq!(site.house.ended(&job).await.0, "cancelled", "it waited, and never begins");
        site.house.stops().await;
    }
}
