//! Series, shows, what is missing on a disk, and the table of items.

use qm_db::{Db, db_test};
use qm_media::model::library::Kind;
use qm_media::model::series::Key;
use serde_json::{Value, json};

use super::Site;
use crate::testing::audited;

async fn shelf(db: &Db) -> Site {
    let site = Site::new(db).await;
    for (path, size) in [
        ("tv/The Wire/Season 1/The.Wire.S01E01.1080p.x265-GRP.mkv", 10),
        ("tv/The Wire/Season 1/The.Wire.S01E02.1080p.x265-GRP.mkv", 20),
        ("tv/The Wire/Season 2/The.Wire.2003.S02E01.mkv", 30),
        ("tv/The Wire/Specials/The.Wire.S00E01.mkv", 5),
        (
            "tv/The Wire/The.Wire.S03E01.1080p.WEB-DL-GRP/The.Wire.S03E01.1080p.WEB-DL-GRP.mkv",
            7,
        ),
        ("tv/Ebb/Ebb.S01E01.mkv", 1),
        ("tv/Ebb, old/Ebb.S01E01.mkv", 1),
        ("tv/Alone.S01E01.mkv", 2),
        ("tv/Alone.S01E02.mkv", 2),
        ("films/=Tide.2003.mkv", 9),
    ] {
        site.house.file(path, size);
    }
    for (folder, kind) in [("tv", Kind::Tv), ("films", Kind::Movie)] {
        let (library, job) = site.house.library(folder, kind).await;
        site.house.ended(&job).await;
        assert_eq!(site.house.scans(&library).await.0, "completed");
    }
    site
}

fn titles(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["title"].as_str().unwrap()).collect()
}

db_test! {
    async fn series_are_browsed(db: Db) {
        let site = shelf(&db).await;
        let page = site.get("/series").await;
        assert_eq!((&page["total"], &page["page"], &page["pageSize"]), (&json!(4), &json!(1), &json!(30)));
        assert_eq!(titles(&page), ["Alone", "Ebb", "Ebb, old", "The Wire"], "a film is none");
        let wire = &page["items"][3];
        assert_eq!((&wire["episodeCount"], &wire["seasonCount"], &wire["year"], &wire["poster"], &wire["seriesTitledbId"]),
            (&json!(5), &json!(4), &json!(2003), &Value::Null, &Value::Null), "{wire}");
        for (query, expected) in [
            ("search=WIRE", 1), ("search=alo", 1), ("search=%25", 0), ("mediaType=anime", 0), ("matchStatus=manual", 0),
            ("matchStatus=matched", 4), ("libraryId=nowhere", 0), ("sort=title_desc", 4), ("sort=year_asc", 4),
        ] {
            assert_eq!(site.get(&format!("/series?{query}")).await["total"], expected, "{query}");
        }
        assert_eq!(site.ask("READ_ONLY", "GET", "/series?sort=odd", None).await.0, 400);
        assert_eq!(titles(&site.get("/series?sort=year_desc&pageSize=2").await), ["The Wire", "Alone"], "no year comes last");
        assert_eq!(titles(&site.get("/series?pageSize=3&page=2").await), ["The Wire"]);
        assert_eq!(titles(&site.get("/series?pageSize=3&page=9").await), Vec::<&str>::new());
        let key = wire["key"].as_str().unwrap();
        let found = site.get(&format!("/series/episodes?key={key}")).await;
        assert_eq!(found["key"], key);
        let seasons: Vec<_> = found["seasons"].as_array().unwrap().iter()
            .map(|season| (season["seasonNumber"].as_i64().unwrap(), season["episodeCount"].as_i64().unwrap())).collect();
        assert_eq!(seasons, [(1, 2), (2, 1), (3, 1), (0, 1)], "season 0 comes last");
        let first = &found["seasons"][0]["episodes"][0];
        assert_eq!((&first["episode"], &first["files"][0]["size"], &first["_count"], &first["artwork"]),
            (&json!(1), &json!("10"), &json!({ "subtitles": 0 }), &json!([])), "{first}");
        let detail = site.get(&format!("/items/{}", first["id"].as_str().unwrap())).await;
        assert_eq!(detail["breadcrumb"]["showKey"], key, "an item leads to its series");
        let alone = page["items"][0]["key"].as_str().unwrap();
        assert_eq!(site.get(&format!("/series/episodes?key={alone}")).await["seasons"][0]["episodeCount"], 2);
        assert_eq!(site.get(&format!("/series/episodes?key={alone}&matchStatus=manual")).await["seasons"], json!([]));
        // A name another one begins with is another series, and what lies elsewhere is nobody's.
        let ebb = page["items"][1]["key"].as_str().unwrap();
        assert_eq!(site.get(&format!("/series/episodes?key={ebb}")).await["seasons"][0]["episodeCount"], 1);
        for key in [Key::Folder("/etc".into()), Key::Title("nobody\0".into()), Key::Folder(site.path("tv"))] {
            assert_eq!(site.get(&format!("/series/episodes?key={}", key.text())).await["seasons"], json!([]), "{key:?}");
        }
        for path in ["/series/episodes?key=x", "/series/episodes?key=", "/series/episodes", "/series/health?key=!"] {
            let (status, refused) = site.ask("READ_ONLY", "GET", path, None).await;
            assert_eq!(status, 400, "{path}: {refused}");
        }
        let (_, refused) = site.ask("READ_ONLY", "GET", "/series/episodes?key=x", None).await;
        assert_eq!(refused["message"], "Invalid series key");
        site.house.stops().await;
    }

    async fn series_are_judged_and_shows_are_found(db: Db) {
        let site = shelf(&db).await;
        let page = site.get("/series").await;
        let key = page["items"][3]["key"].as_str().unwrap();
        let health = site.get(&format!("/series/health?key={key}")).await;
        assert_eq!((&health["score"], &health["status"]), (&json!(43), &json!("problem")), "{health}");
        assert_eq!(health["totals"], json!({ "episodes": 5, "seasons": 4, "bytes": "72" }));
        assert_eq!(health["seasons"][2], json!({
            "seasonNumber": 3, "episodes": 1, "score": 35, "status": "problem", "reasonCounts": {
                "missing_artwork": 1, "missing_metadata": 1, "missing_subtitles": 1, "not_analyzed": 1, "unorganised_path": 1,
            },
        }));
        assert_eq!((&health["episodes"][0]["score"], &health["episodes"][0]["reasons"]),
            (&json!(45), &json!(["missing_metadata", "missing_artwork", "not_analyzed", "missing_subtitles"])));
        let nothing = site.get(&format!("/series/health?key={key}&libraryId=nowhere")).await;
        assert_eq!((&nothing["score"], &nothing["status"], &nothing["totals"]["bytes"]), (&json!(0), &json!("unknown"), &json!("0")));
        let show = site.get(&format!("/shows/by-key?key={key}")).await;
        assert_eq!((&show["title"], &show["path"], &show["episodeCount"], &show["canonicalKey"], &show["providerAId"]),
            (&json!("The Wire"), &json!(site.path("tv/The Wire")), &json!(5), &json!("the wire"), &Value::Null), "{show}");
        let detail = site.get(&format!("/shows/{}", show["id"].as_str().unwrap())).await;
        assert_eq!(detail, json!({ "show": show, "metadata": null, "seasons": [], "extras": [], "artwork": [], "suggestions": [] }));
        let by_title = Key::Title("Ebb, old".to_owned()).text();
        assert_eq!(site.get(&format!("/shows/by-key?key={by_title}")).await["title"], "Ebb, old");
        for (path, message) in [
            ("/shows/nobody".to_owned(), "Show not found"),
            ("/shows/by-key?key=x".to_owned(), "No show record for this key"),
            (format!("/shows/by-key?key={key}&libraryId=nowhere"), "No show record for this key"),
            (format!("/shows/by-key?key={by_title}&libraryId=nowhere"), "No show record for this key"),
        ] {
            let (status, refused) = site.ask("READ_ONLY", "GET", &path, None).await;
            assert_eq!((status, &refused["message"], &refused["code"]), (404, &json!(message), &json!("not_found.media_show")), "{path}");
        }
        site.house.stops().await;
    }

    async fn people_say_what_shows_are(db: Db) {
        let site = shelf(&db).await;
        let page = site.get("/series?search=wire").await;
        let key = page["items"][0]["key"].as_str().unwrap();
        let show = site.get(&format!("/shows/by-key?key={key}")).await;
        let of = |verb: &str| format!("/shows/{}{verb}", show["id"].as_str().unwrap());
        let (status, said) = site.admin("PATCH", &of("/identity"), Some(json!({ "titledbId": " tt0306414 ", "providerAId": "1438", "x": 1 }))).await;
        assert_eq!((status, &said["episodesUpdated"], &said["show"]["titledbId"], &said["show"]["providerAId"]),
            (200, &json!(5), &json!("tt0306414"), &json!("1438")), "{said}");
        assert_eq!(site.get("/series?search=wire").await["items"][0]["seriesTitledbId"], "tt0306414");
        let (_, said) = site.admin("PATCH", &of("/identity"), Some(json!({ "titledbId": "tt0306414" }))).await;
        assert_eq!(said["show"]["providerAId"], "1438", "the same title has the same id elsewhere");
        let (_, said) = site.admin("PATCH", &of("/identity"), Some(json!({ "titledbId": "" }))).await;
        assert_eq!((&said["show"]["titledbId"], &said["show"]["providerAId"]), (&Value::Null, &Value::Null));
        assert_eq!(site.get("/series?search=wire").await["items"][0]["seriesTitledbId"], Value::Null);
        let (status, told) = site.admin("PATCH", &of("/metadata"), Some(json!({
            "title": "The Wire", "overview": "Baltimore\0", "year": 2002, "rating": 9.3, "genres": ["Crime", "Drama"], "status": "ended",
        }))).await;
        assert_eq!((status, &told["providerName"], &told["rating"], &told["genres"], &told["cast"]),
            (200, &json!("manual"), &json!(9.3), &json!(["Crime", "Drama"]), &json!([])), "{told}");
        let (_, told) = site.admin("PATCH", &of("/metadata"), Some(json!({ "title": null, "genres": [], "rating": null }))).await;
        assert_eq!((&told["title"], &told["year"], &told["genres"], &told["rating"], &told["fieldSources"]["genres"]),
            (&Value::Null, &json!(2002), &json!([]), &Value::Null, &json!("manual")));
        for number in [2, 0] {
            let path = of(&format!("/seasons/{number}"));
            let (status, season) = site.admin("PATCH", &path, Some(json!({ "title": "Docks", "overview": "x" }))).await;
            assert_eq!((status, &season["seasonNumber"], &season["title"]), (200, &json!(number), &json!("Docks")), "{season}");
            let (_, season) = site.admin("PATCH", &path, Some(json!({ "overview": null }))).await;
            assert_eq!((&season["title"], &season["overview"], &season["providerName"]), (&json!("Docks"), &Value::Null, &json!("manual")));
        }
        let detail = site.get(&of("")).await;
        assert_eq!((&detail["metadata"]["year"], &detail["seasons"][0]["seasonNumber"], &detail["seasons"][1]["seasonNumber"]),
            (&json!(2002), &json!(0), &json!(2)), "{detail}");
        for number in ["-1", "x", "1.5", "100000", "99999999999999999999"] {
            let (status, refused) = site.admin("PATCH", &of(&format!("/seasons/{number}")), Some(json!({}))).await;
            assert_eq!((status, &refused["message"]), (400, &json!("Invalid season number")), "{number}");
        }
        for body in [json!({ "year": "late" }), json!({ "rating": 11 }), json!({ "genres": "Crime" }), json!({ "title": {} })] {
            assert_eq!(site.admin("PATCH", &of("/metadata"), Some(body.clone())).await.0, 400, "{body}");
        }
        for verb in ["/identity", "/metadata", "/seasons/1"] {
            let (status, refused) = site.admin("PATCH", &format!("/shows/nobody{verb}"), Some(json!({}))).await;
            assert_eq!((status, &refused["message"]), (404, &json!("Show not found")), "{verb}");
            assert_eq!(site.ask("READ_ONLY", "PATCH", &of(verb), Some(json!({}))).await.0, 403, "{verb}");
        }
        for (action, count) in [("media.show.identity_set", 3), ("media.show.metadata_update", 2), ("media.show.season_update", 4)] {
            assert_eq!(audited(&db, action).await.len(), count, "{action}");
        }
        // What was said goes with the show.
        let libraries = site.get("/libraries").await;
        let tv = libraries[0]["id"].as_str().unwrap();
        assert_eq!(site.admin("DELETE", &format!("/libraries/{tv}"), None).await.0, 200);
        assert_eq!(site.ask("READ_ONLY", "GET", &of(""), None).await.0, 404);
        site.house.stops().await;
    }

    async fn what_is_missing_is_told(db: Db) {
        let site = shelf(&db).await;
        let libraries = site.get("/libraries").await;
        let tv = libraries[0]["id"].as_str().unwrap();
        let of = |id: &str| format!("/libraries/{id}/consistency");
        let whole = json!({ "libraryId": tv, "checked": 18, "missingFiles": [], "byKind": {}, "truncated": false });
        assert_eq!(site.get(&of(tv)).await, whole);
        std::fs::remove_file(site.path("tv/Alone.S01E02.mkv")).unwrap();
        let report = site.get(&of(tv)).await;
        assert_eq!((&report["byKind"], &report["checked"]), (&json!({ "item": 1, "file": 1 }), &json!(18)));
        assert_eq!((&report["missingFiles"][0]["path"], &report["missingFiles"][0]["kind"]),
            (&json!(site.path("tv/Alone.S01E02.mkv")), &json!("item")));
        assert_eq!(site.get("/items?search=alone").await["total"], 2, "nothing is changed");
        assert_eq!(site.get(&of("nowhere")).await,
            json!({ "libraryId": "nowhere", "checked": 0, "missingFiles": [], "byKind": {}, "truncated": false }));
        // A disk that is gone.
        std::fs::rename(site.path("tv"), site.path("away")).unwrap();
        assert_eq!(site.get(&of(tv)).await["byKind"], json!({ "item": 9, "file": 9 }));
        site.house.stops().await;
    }

    async fn items_are_a_table(db: Db) {
        let site = shelf(&db).await;
        let (status, headers, table) = site.text("ADMINISTRATOR", "/items/export.csv?mediaType=movie").await;
        assert_eq!(status, 200);
        assert!(headers.contains("text/csv; charset=utf-8") && headers.contains("attachment; filename=\\\"media-items.csv\\\""), "{headers}");
        let lines: Vec<&str> = table.split("\r\n").collect();
        assert_eq!(lines.len(), 3, "the last line ends too: {table}");
        assert_eq!(lines[0], "id,title,year,mediaType,season,episode,matchStatus,confidence,locked,resolution,videoCodec,hdr,\
            container,sizeBytes,hasArtwork,subtitleCount,addedAt");
        let cells: Vec<&str> = lines[1].split(',').collect();
        assert_eq!(&cells[1..8], ["'=Tide", "2003", "movie", "", "", "matched", "0.8"], "no formula");
        assert_eq!(&cells[8..16], ["false", "", "", "", "mkv", "9", "false", "0"]);
        assert!(cells[16].ends_with('Z'), "{}", cells[16]);
        let (_, _, all) = site.text("ADMINISTRATOR", "/items/export.csv").await;
        assert_eq!(all.matches("\r\n").count(), 11);
        let (_, _, none) = site.text("ADMINISTRATOR", "/items/export.csv?search=nobody").await;
        assert_eq!(none.matches("\r\n").count(), 1);
        assert_eq!(site.text("READ_ONLY", "/items/export.csv").await.0, 403);
        let rows = audited(&db, "media.export.csv").await;
        let told: Vec<i64> = rows.iter().map(|(_, told)| told["rows"].as_i64().unwrap()).collect();
        assert_eq!(told, [1, 10, 0], "{rows:?}");
        site.house.stops().await;
    }
}
