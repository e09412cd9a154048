//! Identification of items, as clients use it.

use qm_db::{Db, db_test};
use qm_kernel::Permission;
use qm_media::model::library::Kind;
use serde_json::{Value, json};

use super::Site;
use crate::testing::{audited, has_user};

impl Site {
    /// Says what a data set has: a series with an episode, and a film.
    fn has_titles(&self) {
        self.house.around.titles.has(
            "one",
            &[
                ("tt0000010", "tvSeries", "The Wire", 2002),
                ("tt0000011", "tvEpisode", "The Target", 2002),
                ("tt0000020", "movie", "Tide", 2003),
            ],
            &[("tt0000010", 1, 1, "tt0000011")],
        );
    }

    /// Ids of all items, by their paths.
    async fn ids(&self) -> Vec<String> {
        let items = self.get("/items").await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let items = items["items"].as_array().unwrap().iter();
        let mut ids: Vec<_> = items
            .map(|item| (text(&item["path"]), text(&item["id"])))
            .collect();
        ids.sort();
        ids.into_iter().map(|(_, id)| id).collect()
    }
}

db_test! {
    async fn items_are_identified_again(db: Db) {
        let site = Site::new(&db).await;
        has_user(&db).await;
        for file in ["Tide (2003)/Tide.2003.mkv", "alone.mkv", "Ebb (2004)/Ebb.2004.mkv"] {
            site.house.file(format!("films/{file}"), 1);
        }
        let (films, job) = site.house.library("films", Kind::Movie).await;
        site.house.ended(&job).await;
        site.has_titles();
        let ids = site.ids().await;
        site.admin("POST", &format!("/items/{}/lock", ids[0]), None).await;
        let asked = json!({ "libraryId": films.id });
        let (status, tally) = site.admin("POST", "/items/reidentify", Some(asked.clone())).await;
        assert_eq!((status, &tally), (201, &json!({ "total": 2, "matched": 1, "unmatched": 1, "failed": 0 })), "one is locked");
        let again = site.admin("POST", "/items/reidentify", Some(asked)).await;
        assert_eq!(again, (201, tally), "the same again");
        let items = site.get("/items?search=tide").await;
        let tide = &items["items"][0];
        assert_eq!((&tide["matchStatus"], &tide["externalIds"][0]["externalId"], &tide["externalIds"][0]["url"]),
            (&json!("matched"), &json!("tt0000020"), &json!("https://www.imdb.com/title/tt0000020/")));
        // What people said is looked at only where they ask for it.
        let one = format!("/items/{}/match", tide["id"].as_str().unwrap());
        site.admin("POST", &one, Some(json!({ "title": "Ebb and tide" }))).await;
        let (_, tally) = site.admin("POST", "/items/reidentify", None).await;
        assert_eq!(tally["total"], 1);
        let (_, tally) = site.admin("POST", "/items/reidentify", Some(json!({ "matchStatus": "manual" }))).await;
        assert_eq!((&tally["total"], &tally["matched"]), (&json!(1), &json!(1)));
        assert_eq!(site.get("/items?search=tide").await["items"][0]["title"], "Tide");
        for (body, status, code) in [
            (json!({ "libraryId": "nowhere" }), 404, json!("not_found.media_library")),
            (json!({ "matchStatus": "perhaps" }), 400, json!("bad_request.validation")),
        ] {
            let (got, answer) = site.admin("POST", "/items/reidentify", Some(body.clone())).await;
            assert_eq!(got, status, "{body}: {answer}");
            if status == 404 {
                assert_eq!(answer["code"], code);
            }
        }
        assert_eq!(site.ask("READ_ONLY", "POST", "/items/reidentify", None).await.0, 403);
        assert_eq!(audited(&db, "media.item.reidentify").await.len(), 4);
        // Who may no longer has nothing more done.
        site.house.around.lost.lock().unwrap().push(Permission::MediaManagerMatch);
        let (status, answer) = site.admin("POST", "/items/reidentify", None).await;
        assert_eq!((status, &answer["code"]), (409, &json!("conflict.media_job_unfinished")), "{answer}");
        site.house.stops().await;
    }

    async fn a_title_is_said_by_its_id(db: Db) {
        let site = Site::new(&db).await;
        for file in ["The Wire/odd.S09E09.mkv", "The Wire/other.mkv"] {
            site.house.file(format!("tv/{file}"), 1);
        }
        let (_, job) = site.house.library("tv", Kind::Tv).await;
        site.house.ended(&job).await;
        site.has_titles();
        let ids = site.ids().await;
        let path = |id: &str| format!("/items/{id}/match/titledb");
        site.admin("POST", &format!("/items/{}/lock", ids[0]), None).await;
        let said = json!({ "titledbId": " tt0000011 ", "confidence": 7 });
        let (status, answer) = site.admin("POST", &path(&ids[0]), Some(said)).await;
        assert_eq!((status, &answer["titledbId"], &answer["rating"], &answer["matched"]),
            (201, &json!("tt0000011"), &json!(7.5), &json!(true)), "{answer}");
        let item = &answer["item"];
        for (name, value) in [
            ("title", json!("The Wire")), ("year", json!(2002)), ("season", json!(1)), ("episode", json!(1)),
            ("matchStatus", json!("manual")), ("confidence", json!(1.0)), ("seriesTitledbId", json!("tt0000010")), ("locked", json!(true)),
        ] {
            assert_eq!(item[name], value, "{name}: {item}");
        }
        let whole = site.get(&format!("/items/{}", ids[0])).await;
        assert_eq!((&whole["externalIds"][0]["externalId"], &whole["externalIds"][0]["provider"]), (&json!("tt0000011"), &json!("titledb")));
        // One that it does not know is taken by its id alone, and replaces the one before.
        for id in ["tt7777777", "tt7777777", "tt8888888"] {
            let (status, answer) = site.admin("POST", &path(&ids[0]), Some(json!({ "titledbId": id, "confidence": 0.25 }))).await;
            assert_eq!((status, &answer["matched"], &answer["rating"], &answer["item"]["title"], &answer["item"]["confidence"]),
                (201, &json!(false), &Value::Null, &json!("The Wire"), &json!(0.25)));
        }
        let whole = site.get(&format!("/items/{}", ids[0])).await;
        assert_eq!((whole["externalIds"].as_array().unwrap().len(), &whole["externalIds"][0]["externalId"]), (1, &json!("tt8888888")));
        assert_eq!(audited(&db, "media.titledb.match.applied").await.len(), 4);
        let fired = site.house.fired.0.lock().unwrap().iter().filter(|(trigger, _)| trigger == "media.matched").count();
        assert_eq!(fired, 4);
        // Refused: nothing is changed.
        let before = site.get(&format!("/items/{}", ids[1])).await;
        for (id, body, status, code) in [
            (&*ids[1], json!({ "titledbId": "nm0000001" }), 400, json!("bad_request.titledb_id")),
            (&*ids[1], json!({ "titledbId": "tt1" }), 400, json!("bad_request.titledb_id")),
            ("nowhere", json!({ "titledbId": "tt0000011" }), 404, json!("not_found.media_item")),
        ] {
            let (got, answer) = site.admin("POST", &path(id), Some(body.clone())).await;
            assert_eq!((got, &answer["code"]), (status, &code), "{body}: {answer}");
        }
        for body in [json!({}), json!({ "titledbId": 1 }), json!({ "titledbId": "tt0000011", "confidence": "much" })] {
            assert_eq!(site.admin("POST", &path(&ids[1]), Some(body.clone())).await.0, 400, "{body}");
        }
        let good = json!({ "titledbId": "tt0000011" });
        site.house.around.titles.change(|set| set.is_broken = true);
        let (status, answer) = site.admin("POST", &path(&ids[1]), Some(good.clone())).await;
        assert_eq!((status, &answer["code"]), (503, &json!("unavailable.titledb")), "it may know the title");
        assert_eq!(site.ask("USER", "POST", &path(&ids[1]), Some(good)).await.0, 403);
        assert_eq!(site.get(&format!("/items/{}", ids[1])).await, before);
        site.house.stops().await;
    }
}
