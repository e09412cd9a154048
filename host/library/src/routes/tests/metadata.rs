//! Metadata of items, from people and from providers.

use std::sync::Arc;

use qm_db::{Db, db_test};
use qm_media::LibraryError;
use qm_media::model::library::Kind;
use qm_ports::metadata::{ExternalId, Lookup, LookupKind, Person, Told};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::Site;
use super::bulk::{ids, shelf};
use crate::testing::audited;
use crate::testing::teller::{answer_of, silent};

pub(super) const FILM: &str = "films/Ebb.2003.1080p.mkv";
pub(super) const EPISODE: &str = "tv/The Wire/Season 1/The.Wire.S01E02.mkv";

/// A film and an episode, scanned; the path of the one that is asked for.
pub(super) async fn item(db: &Db, file: &str) -> (Site, String) {
    let libraries = [("films", Kind::Movie), ("tv", Kind::Tv)];
    let (site, made) = shelf(db, &[FILM, EPISODE], &libraries).await;
    for library in &made {
        assert_eq!(site.house.scans(library).await.0, "completed");
    }
    let id = ids(&site).await[file].clone();
    (site, format!("/items/{id}"))
}

impl Site {
    pub(super) async fn fetches(&self, item: &str) -> (u16, Value) {
        self.admin("POST", &format!("{item}/metadata/fetch"), None).await
    }

    pub(super) async fn says(&self, item: &str, body: Value) -> (u16, Value) {
        self.admin("PATCH", &format!("{item}/metadata"), Some(body)).await
    }

    pub(super) async fn metadata(&self, item: &str) -> Value {
        self.get(item).await["metadata"].take()
    }
}

pub(super) fn ebb(provider: &str) -> Told {
    answer_of(provider, |ebb| {
        ebb.title = Some("Ebb".to_owned());
        ebb.overview = Some("The sea goes.".to_owned());
        ebb.release_date = Some("2003-05-04".to_owned());
        ebb.year = Some(2003);
        ebb.runtime = Some(98);
        ebb.genres = vec!["Drama".to_owned()];
        ebb.rating = Some(7.5);
        ebb.cast = vec![Person {
            name: "Jo".to_owned(),
            role: Some("A gull".to_owned()),
        }];
        ebb.crew = vec![Person {
            name: "Al".to_owned(),
            role: None,
        }];
        ebb.ids = vec![ExternalId {
            source: "provider_a".to_owned(),
            id: "603".to_owned(),
        }];
    })
}

db_test! {
    async fn providers_say_what_a_film_is(db: Db) {
        let (site, film) = item(&db, FILM).await;
        assert_eq!(site.metadata(&film).await, Value::Null);
        // Nobody to ask: its name.
        let (status, named) = site.fetches(&film).await;
        assert_eq!((status, &named["title"], &named["year"], &named["providerName"]), (201, &json!("Ebb"), &json!(2003), &json!("local")), "{named}");
        site.house.around.teller.will_say(ebb("provider_a"));
        let (status, told) = site.fetches(&film).await;
        assert_eq!(status, 201, "{told}");
        for (field, value) in [
            ("title", json!("Ebb")), ("overview", json!("The sea goes.")), ("releaseDate", json!("2003-05-04T00:00:00.000Z")),
            ("year", json!(2003)), ("runtime", json!(98)), ("genres", json!(["Drama"])), ("studios", json!([])),
            ("cast", json!([{ "name": "Jo", "role": "A gull" }])), ("crew", json!([{ "name": "Al" }])), ("rating", json!(7.5)),
            ("providerName", json!("provider_a")), ("id", named["id"].clone()), ("itemId", json!(film.trim_start_matches("/items/"))),
        ] {
            assert_eq!(told[field], value, "{field}");
        }
        let sources = told["fieldSources"].as_object().unwrap();
        assert_eq!(sources.len(), 9, "{sources:?}");
        assert!(sources.values().all(|source| source == "provider_a"));
        assert_eq!(site.metadata(&film).await, told);
        let page = site.get("/items?mediaType=movie").await;
        let id = &page["items"][0]["externalIds"][0];
        assert_eq!((&id["provider"], &id["externalId"], &id["url"]), (&json!("provider_a"), &json!("603"), &json!("https://www.themoviedb.org/movie/603")));
        assert_eq!(page["items"][0]["metadata"], told);
        let asked = site.house.around.teller.asked.lock().unwrap()[1].clone();
        let expected = Lookup { kind: LookupKind::Movie, title: "Ebb".to_owned(), year: Some(2003), season: None, episode: None, ids: Vec::new() };
        assert_eq!(asked, expected);
        let noted = audited(&db, "media.metadata.fetch").await;
        let stored = json!({ "provider": "provider_a", "matched": true });
        assert!(noted.len() == 2 && noted.iter().any(|(_, told)| *told == stored), "{noted:?}");
        // Another answer takes the place of this one.
        site.house.around.teller.will_say(answer_of("provider_b", |b| b.overview = Some("Other.".to_owned())));
        let (_, other) = site.fetches(&film).await;
        assert_eq!((&other["overview"], &other["runtime"], &other["cast"], &other["title"]), (&json!("Other."), &Value::Null, &json!([]), &json!("Ebb")));
        assert_eq!(other["fieldSources"], json!({ "overview": "provider_b", "title": "local", "year": "local" }));
        // They know nothing of it any more.
        let (_, none) = site.fetches(&film).await;
        assert_eq!((&none["overview"], &none["providerName"]), (&Value::Null, &json!("local")));
        site.house.stops().await;
    }

    async fn who_is_silent_takes_nothing_away(db: Db) {
        let (site, film) = item(&db, FILM).await;
        let teller = &site.house.around.teller;
        let nobody = || Told { silent: vec![silent("provider_a"), silent("provider_b")], ..Told::default() };
        teller.will_say(nobody());
        let (status, refused) = site.fetches(&film).await;
        assert_eq!((status, &refused["code"]), (502, &json!("upstream.metadata_providers")), "{refused}");
        assert!(refused["message"].as_str().unwrap().contains("provider_a: it hangs; provider_b: it hangs"), "{refused}");
        assert_eq!(site.metadata(&film).await, Value::Null, "it is as it was");
        assert_eq!(audited(&db, "media.metadata.fetch_failed").await.len(), 2);
        assert!(audited(&db, "media.metadata.fetch").await.is_empty());
        teller.will_say(ebb("provider_a"));
        let (_, told) = site.fetches(&film).await;
        teller.will_say(nobody());
        assert_eq!(site.fetches(&film).await.0, 502);
        assert_eq!(site.metadata(&film).await, told);
        // One answers, and the other's words of before stay where it has none.
        let b = answer_of("provider_b", |b| b.overview = Some("By b.".to_owned()));
        teller.will_say(Told { silent: vec![silent("provider_a")], ..b });
        let (_, both) = site.fetches(&film).await;
        assert_eq!((&both["overview"], &both["runtime"], &both["genres"]), (&json!("By b."), &json!(98), &json!(["Drama"])), "{both}");
        assert_eq!((&both["fieldSources"]["overview"], &both["fieldSources"]["runtime"]), (&json!("provider_b"), &json!("provider_a")));
        // Of another film nothing is kept, whoever is silent.
        site.admin("POST", &format!("{film}/match"), Some(json!({ "title": "Flow", "year": 2010 }))).await;
        let b = answer_of("provider_b", |b| b.title = Some("Flow".to_owned()));
        teller.will_say(Told { silent: vec![silent("provider_a")], ..b });
        let (_, flow) = site.fetches(&film).await;
        assert_eq!((&flow["title"], &flow["year"], &flow["runtime"]), (&json!("Flow"), &json!(2010), &Value::Null), "{flow}");
        // The keys are gone: nobody is asked, and nothing goes.
        teller.providers.lock().unwrap().clear();
        let (_, kept) = site.fetches(&film).await;
        assert_eq!((&kept["title"], &kept["providerName"], &kept["fieldSources"]), (&json!("Flow"), &json!("provider_b"), &flow["fieldSources"]));
        site.house.stops().await;
    }

    async fn what_people_say_stays(db: Db) {
        let (site, film) = item(&db, FILM).await;
        let (status, said) = site.says(&film, json!({ "overview": "Mine.", "runtime": null, "tags": ["sea"], "cast": [{ "name": " Bo ", "role": "Boat", "x": 1 }], "odd": 1 })).await;
        assert_eq!(status, 200, "{said}");
        assert_eq!((&said["title"], &said["year"], &said["providerName"]), (&json!("Ebb"), &json!(2003), &json!("manual")));
        assert_eq!(said["cast"], json!([{ "name": "Bo", "role": "Boat" }]));
        site.house.around.teller.will_say(ebb("provider_a"));
        assert_eq!(site.admin("POST", &format!("{film}/lock"), None).await.0, 201);
        let (status, told) = site.fetches(&film).await;
        assert_eq!((status, &told["providerName"]), (201, &json!("provider_a")), "a locked one is asked about too: {told}");
        assert_eq!((&told["overview"], &told["runtime"], &told["tags"], &told["cast"]), (&json!("Mine."), &Value::Null, &json!(["sea"]), &said["cast"]));
        assert_eq!((&told["rating"], &told["crew"]), (&json!(7.5), &json!([{ "name": "Al" }])));
        let sources = &told["fieldSources"];
        assert_eq!((&sources["runtime"], &sources["rating"], &sources["title"]), (&json!("manual"), &json!("provider_a"), &json!("provider_a")));
        assert_eq!(audited(&db, "media.metadata.update").await.len(), 1);
        for body in [
            json!({ "title": ["x"] }), json!({ "rating": 11 }), json!({ "genres": "x" }), json!({ "cast": "Jo" }), json!({ "cast": [{ "role": "x" }] }),
            json!({ "crew": [{ "name": "" }] }), json!({ "crew": [{ "name": "x", "job": 1 }] }), json!({ "cast": vec![json!({ "name": "x" }); 101] }),
        ] {
            let (status, refused) = site.says(&film, body.clone()).await;
            assert_eq!((status, refused["message"].is_null()), (400, false), "{body}");
        }
        assert_eq!(site.metadata(&film).await, told);
        for (method, verb) in [("PATCH", ""), ("POST", "/fetch")] {
            let body = (method == "PATCH").then(|| json!({}));
            assert_eq!(site.admin(method, &format!("/items/nobody/metadata{verb}"), body.clone()).await.0, 404);
            assert_eq!(site.ask("READ_ONLY", method, &format!("{film}/metadata{verb}"), body).await.0, 403);
        }
        site.house.stops().await;
    }

    async fn of_an_episode_its_show_is_asked(db: Db) {
        let (site, episode) = item(&db, EPISODE).await;
        let shows = site.get("/items?mediaType=tv").await;
        assert_eq!(shows["items"][0]["title"], "The Wire");
        let key = site.get("/series").await["items"][0]["key"].as_str().unwrap().to_owned();
        let show = site.get(&format!("/shows/by-key?key={key}")).await["id"].as_str().unwrap().to_owned();
        let (status, _) = site.admin("PATCH", &format!("/shows/{show}/identity"), Some(json!({ "providerAId": "1438" }))).await;
        assert_eq!(status, 200);
        site.house.around.teller.will_say(answer_of("universal", |told| {
            told.title = Some("The Detail".to_owned());
            told.original_title = Some("The Wire".to_owned());
            told.field_sources = [("title", "provider_b"), ("originalTitle", "provider_a")].map(|(field, by)| (field.to_owned(), by.to_owned())).into();
        }));
        let (status, told) = site.fetches(&episode).await;
        assert_eq!((status, &told["title"], &told["providerName"]), (201, &json!("The Detail"), &json!("universal")), "{told}");
        assert_eq!((&told["fieldSources"]["title"], &told["fieldSources"]["originalTitle"]), (&json!("provider_b"), &json!("provider_a")));
        let asked = site.house.around.teller.asked.lock().unwrap()[0].clone();
        assert_eq!((asked.kind, asked.season, asked.episode, &*asked.title), (LookupKind::Tv, Some(1), Some(2), "The Wire"));
        assert_eq!(asked.ids.iter().map(|id| (&*id.source, &*id.id)).collect::<Vec<_>>(), [("provider_a", "1438")]);
        let episodes = site.get(&format!("/series/episodes?key={key}")).await;
        assert_eq!(episodes["seasons"][0]["episodes"][0]["metadata"], told);
        let health = site.get(&format!("/series/health?key={key}")).await;
        assert!(!health["episodes"][0]["reasons"].as_array().unwrap().contains(&json!("missing_metadata")), "{health}");
        site.house.stops().await;
    }

    async fn an_answer_to_what_is_no_longer_so_is_dropped(db: Db) {
        let (site, film) = item(&db, FILM).await;
        let teller = &site.house.around.teller;
        teller.will_say(ebb("provider_a"));
        teller.will_say(ebb("provider_a"));
        let id = film.trim_start_matches("/items/").to_owned();
        // Somebody says that it is another film; then it is forgotten.
        let changed = ("match", json!({ "title": "Flow" }), LibraryError::Changed);
        let removed = ("bulk", json!({ "itemIds": [&id] }), LibraryError::NoSuchItem);
        for (order, body, expected) in [changed, removed] {
            let gate = Arc::new(Notify::new());
            *teller.may_answer.lock().unwrap() = Some(gate.clone());
            let fetching = site.house.app.identify.fetch_metadata(site.house.caller(), &id);
            let meanwhile = async {
                teller.is_asked.notified().await;
                let path = if order == "bulk" { "/items/bulk/remove".to_owned() } else { format!("{film}/{order}") };
                assert_eq!(site.admin("POST", &path, Some(body)).await.0, 201);
                gate.notify_one();
            };
            let (fetched, ()) = tokio::join!(fetching, meanwhile);
            assert_eq!(fetched.unwrap_err().to_string(), expected.to_string());
            if order == "match" {
                assert_eq!(site.metadata(&film).await, Value::Null);
            }
        }
        assert!(audited(&db, "media.metadata.fetch").await.is_empty());
        site.house.stops().await;
    }

    async fn who_is_cut_off_leaves_an_item_as_it_was(db: Db) {
        let (site, film) = item(&db, FILM).await;
        let teller = &site.house.around.teller;
        let id = film.trim_start_matches("/items/").to_owned();
        let app = site.house.app.clone();
        let (principal, client) = (site.house.principal.clone(), site.house.client.clone());
        let fetch = move |id: String| {
            let (app, principal, client) = (app.clone(), principal.clone(), client.clone());
            tokio::spawn(async move {
                let caller = qm_kernel::Caller { principal: &principal, client: &client };
                app.identify.fetch_metadata(caller, &id).await
            })
        };
        // While providers are asked.
        let gate = Arc::new(Notify::new());
        *teller.may_answer.lock().unwrap() = Some(gate);
        let cut = fetch(id.clone());
        teller.is_asked.notified().await;
        cut.abort();
        assert!(cut.await.unwrap_err().is_cancelled());
        assert_eq!(site.metadata(&film).await, Value::Null);
        // Between the answer and the end of the transaction: it waits for the item, which somebody else has in hand.
        // Not before it is asked: whoever asks is judged in a transaction that writes, and SQLite has one writer.
        let gate = Arc::new(Notify::new());
        *teller.may_answer.lock().unwrap() = Some(gate.clone());
        teller.will_say(ebb("provider_a"));
        let cut = fetch(id.clone());
        teller.is_asked.notified().await;
        let mut held = db.begin_write().await.unwrap();
        qm_media::repo::metadata::hold(&mut held, &id).await.unwrap();
        gate.notify_one();
        while !teller.answers.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        cut.abort();
        assert!(cut.await.unwrap_err().is_cancelled(), "nothing is stored while the item is held");
        drop(held);
        assert_eq!(site.metadata(&film).await, Value::Null);
        assert!(audited(&db, "media.metadata.fetch").await.is_empty());
        // And once more, to the end.
        *teller.may_answer.lock().unwrap() = None;
        teller.will_say(ebb("provider_a"));
        assert_eq!(fetch(id).await.unwrap().unwrap().runtime, Some(98));
        assert_eq!(site.metadata(&film).await["runtime"], 98);
        site.house.stops().await;
    }
}
