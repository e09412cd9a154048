//! A provider is asked about a show.

use std::sync::Arc;

use qm_db::{Db, db_test};
use qm_media::model::library::Kind;
use qm_ports::metadata::{Alone, ExternalId, LookupKind, Metadata};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::Site;
use super::bulk::shelf;
use crate::testing::audited;
use crate::testing::teller::silent;

const EPISODES: [&str; 2] = [
    "tv/The Wire (2002)/The.Wire.S01E01.mkv",
    "tv/The Wire (2002)/The.Wire.S01E02.mkv",
];

/// A show with two episodes, and where it is.
async fn show(db: &Db) -> (Site, String) {
    let (site, made) = shelf(db, &EPISODES, &[("tv", Kind::Tv)]).await;
    assert_eq!(site.house.scans(&made[0]).await.0, "completed");
    let key = site.get("/series").await["items"][0]["key"]
        .as_str()
        .unwrap()
        .to_owned();
    let show = site.get(&format!("/shows/by-key?key={key}")).await;
    (site, show["id"].as_str().unwrap().to_owned())
}

fn wire(titledb: Option<&str>) -> Alone<Box<Metadata>> {
    let id = |source: &str, id: &str| ExternalId {
        source: source.to_owned(),
        id: id.to_owned(),
    };
    let titledb = titledb.map(|value| id("titledb", value));
    Alone::Told(Box::new(Metadata {
        provider: "provider_a".to_owned(),
        title: Some("The Wire".to_owned()),
        overview: Some("Baltimore.".to_owned()),
        release_date: Some("2002-06-02".to_owned()),
        year: Some(2002),
        studios: vec!["HBO".to_owned()],
        rating: Some(9.3),
        ids: [id("provider_a", "1438")].into_iter().chain(titledb).collect(),
        ..Metadata::default()
    }))
}

impl Site {
    fn will_say(&self, said: Alone<Box<Metadata>>) {
        self.house.around.teller.alone.lock().unwrap().push_back(said);
    }

    async fn refreshes(&self, show: &str) -> (u16, Value) {
        self.admin("POST", &format!("/shows/{show}/metadata/refresh"), None)
            .await
    }
}

db_test! {
    async fn a_provider_says_what_a_show_is(db: Db) {
        let (site, id) = show(&db).await;
        assert_eq!(site.refreshes(&id).await, (201, json!({ "showId": id, "refreshed": false, "reason": "no_provider" })));
        site.will_say(Alone::Unknown);
        assert_eq!(site.refreshes(&id).await, (201, json!({ "showId": id, "refreshed": false, "reason": "not_found" })));
        let said = json!({ "overview": "Mine.", "status": "ended" });
        assert_eq!(site.admin("PATCH", &format!("/shows/{id}/metadata"), Some(said)).await.0, 200);
        site.will_say(wire(Some("tt0306414")));
        assert_eq!(site.refreshes(&id).await, (201, json!({
            "showId": id, "refreshed": true, "provider": "provider_a", "providerAId": "1438",
        })));
        let detail = site.get(&format!("/shows/{id}")).await;
        assert_eq!((&detail["show"]["providerAId"], &detail["show"]["titledbId"]), (&json!("1438"), &json!("tt0306414")));
        for (field, value) in [
            ("title", json!("The Wire")), ("overview", json!("Mine.")), ("status", json!("ended")), ("networks", json!(["HBO"])),
            ("firstAiredAt", json!("2002-06-02T00:00:00.000Z")), ("rating", json!(9.3)), ("providerName", json!("provider_a")),
        ] {
            assert_eq!(detail["metadata"][field], value, "{field}");
        }
        let items = site.get("/items").await;
        assert_eq!(items["items"][1]["seriesTitledbId"], "tt0306414", "what belongs to no series belongs to this one");
        let asked = site.house.around.teller.asked.lock().unwrap().pop().unwrap();
        assert_eq!((asked.kind, &*asked.title, asked.year, asked.season, asked.ids.len()), (LookupKind::Tv, "The Wire", Some(2002), None, 0));
        // Asked again it is asked by its ids, and what is told of another show is dropped.
        site.will_say(wire(Some("tt0000001")));
        assert_eq!(site.refreshes(&id).await, (201, json!({
            "showId": id, "refreshed": false, "reason": "identity_mismatch", "matched": { "title": "The Wire", "titledbId": "tt0000001" },
        })));
        assert_eq!(site.get(&format!("/shows/{id}")).await["metadata"], detail["metadata"]);
        let asked = site.house.around.teller.asked.lock().unwrap().pop().unwrap();
        let ids: Vec<_> = asked.ids.iter().map(|id| (&*id.source, &*id.id)).collect();
        assert_eq!(ids, [("provider_a", "1438"), ("titledb", "tt0306414")]);
        let rows = audited(&db, "media.show.metadata_refresh").await;
        let reasons: Vec<&Value> = rows.iter().map(|(of, told)| { assert_eq!(*of, id); &told["reason"] }).collect();
        assert_eq!(reasons, [&json!("not_found"), &Value::Null, &json!("identity_mismatch")]);
        site.house.stops().await;
    }

    async fn what_cannot_be_asked_changes_nothing(db: Db) {
        let (site, id) = show(&db).await;
        site.will_say(Alone::Silent(silent("provider_a")));
        let (status, refused) = site.refreshes(&id).await;
        assert_eq!((status, &refused["code"]), (502, &json!("upstream.metadata_providers")), "{refused}");
        assert!(refused["message"].as_str().unwrap().contains("provider_a: it hangs"), "{refused}");
        assert_eq!(audited(&db, "media.show.metadata_refresh").await.len(), 1);
        site.house.around.teller.is_asked.notified().await;
        // It becomes another show while it is asked about, then it is gone.
        let teller = &site.house.around.teller;
        for (body, expected) in [(Some(json!({ "providerAId": "7" })), "conflict.media_show_changed"), (None, "not_found.media_show")] {
            let gate = Arc::new(Notify::new());
            *teller.may_answer.lock().unwrap() = Some(gate.clone());
            site.will_say(wire(None));
            let meanwhile = async {
                teller.is_asked.notified().await;
                match body {
                    Some(body) => assert_eq!(site.admin("PATCH", &format!("/shows/{id}/identity"), Some(body)).await.0, 200),
                    None => {
                        let library = site.get("/libraries").await[0]["id"].as_str().unwrap().to_owned();
                        assert_eq!(site.admin("DELETE", &format!("/libraries/{library}"), None).await.0, 200);
                    }
                }
                gate.notify_one();
            };
            let ((_, refused), ()) = tokio::join!(site.refreshes(&id), meanwhile);
            assert_eq!(refused["code"], expected, "{refused}");
            if expected.starts_with("conflict") {
                assert_eq!(site.get(&format!("/shows/{id}")).await["metadata"], Value::Null);
            }
        }
        *teller.may_answer.lock().unwrap() = None;
        assert_eq!(site.refreshes("nothing").await.0, 404);
        let path = format!("/shows/{id}/metadata/refresh");
        assert_eq!(site.ask("READ_ONLY", "POST", &path, None).await.0, 403);
        site.house.stops().await;
    }
}
