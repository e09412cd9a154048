//! Additions of the data set of titles to the metadata of items.

use qm_db::{Db, db_test};
use qm_ports::metadata::{Alone, ExternalId, Rated, TitleKind, Told};
use serde_json::{Value, json};

use super::Site;
use super::bulk::ids;
use super::metadata::{EPISODE, FILM, ebb, item};
use crate::testing::audited;

const SET: [(&str, &str, &str, i64); 4] = [
    ("tt0000020", "movie", "Ebb", 2003),
    ("tt0000021", "movie", "Flow", 1986),
    ("tt0000010", "tvSeries", "The Wire", 2002),
    ("tt0000012", "tvEpisode", "The Detail", 2002),
];

fn known(site: &Site) {
    let episodes = [("tt0000010", 1, 2, "tt0000012")];
    site.house.around.titles.has("one", &SET, &episodes);
    let ids = [
        ("tt0000020", TitleKind::Movie, "603"),
        ("tt0000010", TitleKind::Show, "1438"),
    ];
    let ids = ids.map(|(id, kind, own)| (id.to_owned(), Alone::Told((kind, own.to_owned()))));
    site.house.around.teller.own_ids.lock().unwrap().extend(ids);
}

/// Answer of a provider that has an id of the data set and none of its own.
fn with_titledb(provider: &str, id: &str) -> Told {
    let mut told = ebb(provider);
    if let Some(metadata) = &mut told.metadata {
        metadata.ids = vec![ExternalId {
            source: "titledb".to_owned(),
            id: id.to_owned(),
        }];
        metadata.rating = Some(2.5);
    }
    told
}

impl Site {
    async fn matches(&self, item: &str, titledb_id: &str) {
        let body = json!({ "titledbId": titledb_id });
        let (status, answer) = self
            .admin("POST", &format!("{item}/match/titledb"), Some(body))
            .await;
        assert_eq!(status, 201, "{answer}");
    }

    /// Ids of an item elsewhere.
    async fn ids_of(&self, item: &str) -> Vec<(String, String)> {
        let ids = self.get(item).await["externalIds"].take();
        let text = |id: &Value, name: &str| id[name].as_str().unwrap().to_owned();
        let ids = ids.as_array().unwrap().iter();
        ids.map(|id| (text(id, "provider"), text(id, "externalId")))
            .collect()
    }
}

fn pairs(ids: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(provider, id): &(&str, &str)| ((*provider).to_owned(), (*id).to_owned());
    ids.iter().map(owned).collect()
}

db_test! {
    async fn a_title_that_somebody_names_is_described_and_crossed(db: Db) {
        let (site, film) = item(&db, FILM).await;
        known(&site);
        site.matches(&film, "tt0000020").await;
        assert_eq!(site.ids_of(&film).await, pairs(&[("provider_a", "603"), ("titledb", "tt0000020")]));
        let told = site.metadata(&film).await;
        for (field, value) in [
            ("title", json!("Ebb")), ("year", json!(2003)), ("runtime", json!(90)), ("genres", json!(["Drama"])), ("rating", json!(7.5)),
            ("directors", json!(["Somebody"])), ("providerName", json!("titledb")), ("overview", Value::Null),
        ] {
            assert_eq!(told[field], value, "{field}");
        }
        let id = film.trim_start_matches("/items/").to_owned();
        let noted = audited(&db, "media.titledb.enrichment.completed").await;
        assert_eq!(noted, [(id, json!({ "titledbId": "tt0000020", "rating": 7.5, "providerAId": "603" }))]);
        // What providers say of it is more; the rating stays that of the data set.
        site.house.around.teller.will_say(ebb("provider_a"));
        let (_, fetched) = site.fetches(&film).await;
        assert_eq!((&fetched["overview"], &fetched["rating"], &fetched["providerName"]), (&json!("The sea goes."), &json!(7.5), &json!("provider_a")));
        assert_eq!((&fetched["fieldSources"]["rating"], &fetched["fieldSources"]["overview"]), (&json!("titledb"), &json!("provider_a")));
        // The same title again takes nothing away of what they said, another one does.
        site.matches(&film, "tt0000020").await;
        let again = site.metadata(&film).await;
        assert_eq!((&again["overview"], &again["providerName"]), (&json!("The sea goes."), &json!("titledb")));
        assert_eq!(site.says(&film, json!({ "rating": 3 })).await.0, 200);
        site.matches(&film, "tt0000021").await;
        let other = site.metadata(&film).await;
        assert_eq!((&other["title"], &other["overview"], &other["rating"]), (&json!("Flow"), &Value::Null, &json!(3.0)), "people have the last word: {other}");
        assert_eq!(site.ids_of(&film).await, pairs(&[("titledb", "tt0000021")]), "its id there was that of another film");
        site.house.stops().await;
    }

    async fn what_providers_tell_is_crossed(db: Db) {
        let (site, film) = item(&db, FILM).await;
        known(&site);
        site.house.around.teller.will_say(with_titledb("provider_b", "tt0000020"));
        let (status, told) = site.fetches(&film).await;
        assert_eq!((status, &told["rating"], &told["fieldSources"]["rating"]), (201, &json!(7.5), &json!("titledb")), "{told}");
        assert_eq!(site.metadata(&film).await, told);
        assert_eq!(site.ids_of(&film).await, pairs(&[("provider_a", "603"), ("titledb", "tt0000020")]));
        assert_eq!(audited(&db, "media.titledb.enrichment.completed").await.len(), 1);
        // Whoever cannot be asked leaves it as providers tell it.
        site.house.around.titles.change(|set| set.is_broken = true);
        site.house.around.teller.own_ids.lock().unwrap().clear();
        site.house.around.teller.will_say(with_titledb("provider_b", "tt0000020"));
        let (status, told) = site.fetches(&film).await;
        assert_eq!((status, &told["rating"], &told["fieldSources"]["rating"]), (201, &json!(2.5), &json!("provider_b")), "{told}");
        assert_eq!(audited(&db, "media.titledb.enrichment.completed").await.len(), 1);
        site.house.stops().await;
    }

    async fn an_episode_is_not_rated_as_its_series(db: Db) {
        let (site, episode) = item(&db, EPISODE).await;
        known(&site);
        site.house.around.teller.will_say(with_titledb("provider_b", "tt0000010"));
        let (_, told) = site.fetches(&episode).await;
        assert_eq!(told["rating"], 2.5, "{told}");
        site.matches(&episode, "tt0000012").await;
        let told = site.metadata(&episode).await;
        assert_eq!((&told["title"], &told["originalTitle"], &told["rating"]), (&json!("The Detail"), &json!("The Wire"), &json!(7.5)));
        site.house.stops().await;
    }

    async fn what_the_data_set_does_not_rate_is_rated_by_its_id(db: Db) {
        let (site, film) = item(&db, FILM).await;
        known(&site);
        let teller = &site.house.around.teller;
        let rated = |rating, is_series| Alone::Told(Rated { rating, is_series });
        let ratings = [("tt0000098", rated(9.1, true)), ("tt0000099", rated(6.4, false))];
        let ratings = ratings.map(|(id, rated)| (id.to_owned(), rated));
        teller.ratings.lock().unwrap().extend(ratings);
        teller.will_say(with_titledb("provider_b", "tt0000099"));
        let (_, told) = site.fetches(&film).await;
        assert_eq!((&told["rating"], &told["fieldSources"]["rating"]), (&json!(6.4), &json!("titledb")), "{told}");
        site.matches(&film, "tt0000020").await;
        assert_eq!(site.metadata(&film).await["rating"], 7.5, "the data set's own goes first");
        assert_eq!(*teller.rated.lock().unwrap(), ["tt0000099"], "and nobody else is asked");
        let episode = format!("/items/{}", ids(&site).await[EPISODE]);
        teller.will_say(with_titledb("provider_b", "tt0000098"));
        assert_eq!(site.fetches(&episode).await.1["rating"], 2.5, "an episode is not rated as its series");
        assert_eq!(*teller.rated.lock().unwrap(), ["tt0000099", "tt0000098"]);
        site.house.stops().await;
    }
}
