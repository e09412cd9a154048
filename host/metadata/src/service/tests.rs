//! Tests of lookups and of the chosen answers.

use std::sync::{Arc, Mutex};

use qm_db::{Db, db_test};
use qm_kernel::Secret;
use qm_ports::metadata::{
    Alone, ExternalId, ImageDetails, ImagesOf, Lookup, LookupKind, MetadataChain as _, Picture,
    ProviderError, Rated, SeasonDetails, TitleDetails, TitleKind,
};
use serde_json::{Map, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use crate::EnvironmentKeys;
use crate::settings::{
    METADATA_PROVIDER_ORDER, OMDB_API_KEY, PROVIDER_A_API_KEY, UNIVERSAL_SCRAPER, UNIVERSAL_SCRAPER_FIELDS,
};
use crate::testing::{House, film, show};

fn lookup(kind: LookupKind, title: &str, year: u32) -> Lookup {
    Lookup {
        kind,
        title: title.to_owned(),
        year: Some(year),
        season: None,
        episode: None,
        ids: Vec::new(),
    }
}

fn episode(title: &str, year: u32, season: u32, number: u32) -> Lookup {
    Lookup {
        season: Some(season),
        episode: Some(number),
        ..lookup(LookupKind::Tv, title, year)
    }
}

fn throttled() -> ProviderError {
    ProviderError::Throttled {
        seconds: Some(60),
        message: "too many requests".into(),
    }
}

db_test! {
    async fn the_first_that_knows_answers(db: Db) {
        let house = House::with_keys(&db);
        house.providers.knows("provider_a", film("1", "Tide", 2003));
        house.providers.knows("provider_b", film("9", "Ebb", 2004));
        let told = house.app.details(&lookup(LookupKind::Movie, "Tide", 2003)).await.unwrap();
        assert_eq!(told.metadata.unwrap().title.as_deref(), Some("Tide"));
        assert_eq!(house.providers.asked(), ["provider_a search Tide 2003", "provider_a details 1"], "nobody else is asked");
        // The answer is cached.
        house.app.details(&lookup(LookupKind::Movie, "Tide", 2003)).await.unwrap();
        assert_eq!(house.providers.asked(), [""; 0]);
        let told = house.app.details(&lookup(LookupKind::Movie, "Ebb", 2004)).await.unwrap();
        assert_eq!(told.metadata.unwrap().provider, "provider_b");
        assert_eq!(told.silent, [], "one that knows nothing has answered");
        house.providers.asked();
        // A known id is not searched for; one of another source is, where it is unknown there.
        let id = |source: &str| ExternalId { source: source.into(), id: "9".into() };
        let known = Lookup { ids: vec![id("titledb"), id("provider_b")], ..lookup(LookupKind::Movie, "whatever", 1950) };
        let told = house.app.details(&known).await.unwrap();
        assert_eq!(told.metadata.unwrap().title.as_deref(), Some("Ebb"));
        assert_eq!(house.providers.asked(), ["provider_a find titledb 9", "provider_a search whatever 1950", "provider_a search whatever"],
            "its details are kept");
        // Two titles of the same name and year are ambiguous.
        house.providers.knows("provider_a", film("2", "Twin", 2000));
        house.providers.knows("provider_a", film("3", "Twin", 2000));
        let told = house.app.details(&lookup(LookupKind::Movie, "Twin", 2000)).await.unwrap();
        assert_eq!((told.metadata, told.ambiguous.len()), (None, 2));
    }

    async fn images_of_a_title_a_season_and_an_episode_are_told(db: Db) {
        let house = House::with_keys(&db);
        let poster = |url: &str| Some(Picture { url: url.to_owned(), preview: None });
        let season = SeasonDetails { number: 2, poster: poster("https://pictures/season"), ..SeasonDetails::default() };
        let known = TitleDetails { seasons: vec![season], ..show("81", "Harbor", 2002) };
        house.providers.knows("provider_a", known);
        let urls = |told: Alone<Vec<ImageDetails>>| match told {
            Alone::Told(images) => images.into_iter().map(|image| image.picture.url).collect::<Vec<_>>().join(" "),
            other => format!("{other:?}"),
        };
        for (id, part, expected) in [
            ("81", ImagesOf::Title, "https://pictures/81/first https://pictures/81/second"),
            ("82", ImagesOf::Title, "Unknown"),
            ("81", ImagesOf::Season(2), "https://pictures/season"),
            ("81", ImagesOf::Season(3), "Unknown"),
            // The episode has no still.
            ("81", ImagesOf::Episode(1, 1), ""),
            ("81", ImagesOf::Episode(1, 9), "Unknown"),
        ] {
            let told = house.app.images("provider_a", (TitleKind::Show, id), part).await.unwrap();
            assert_eq!(urls(told), expected, "{id} {part:?}");
        }
        house.providers.asked();
        let again = house.app.images("provider_a", (TitleKind::Show, "81"), ImagesOf::Title).await.unwrap();
        assert_eq!((urls(again).is_empty(), house.providers.asked()), (false, Vec::<String>::new()), "they are kept");
        let nobody = house.app.images("nobody", (TitleKind::Show, "81"), ImagesOf::Title).await.unwrap();
        assert_eq!(urls(nobody), "Nobody");
        house.providers.fail("provider_a", "artwork", Some(throttled()));
        let silent = house.app.images("provider_a", (TitleKind::Show, "83"), ImagesOf::Title).await.unwrap();
        assert!(urls(silent).contains("too many requests"));
    }

    async fn one_that_fails_is_left_alone_and_the_next_is_asked(db: Db) {
        let house = House::with_keys(&db);
        for provider in ["provider_a", "provider_b"] {
            house.providers.knows(provider, film("1", "Tide", 2003));
            house.providers.knows(provider, film("2", "Ebb", 2004));
        }
        house.providers.fail("provider_a", "search", Some(throttled()));
        let told = house.app.details(&lookup(LookupKind::Movie, "Tide", 2003)).await.unwrap();
        assert_eq!(told.metadata.unwrap().provider, "provider_b");
        assert_eq!((told.silent.len(), &*told.silent[0].provider, &*told.silent[0].reason), (1, "provider_a", "too many requests"));
        house.providers.asked();
        house.providers.fail("provider_a", "search", None);
        let told = house.app.details(&lookup(LookupKind::Movie, "Ebb", 2004)).await.unwrap();
        assert_eq!(told.metadata.unwrap().provider, "provider_b");
        assert!(told.silent[0].reason.contains("left alone"), "{:?}", told.silent);
        assert!(house.providers.asked().iter().all(|asked| asked.starts_with("provider_b")), "it asked for a minute");
        // Another key has its own pauses.
        let mut tx = db.begin_write().await.unwrap();
        house.settings.put_secret(&mut tx, &PROVIDER_A_API_KEY, &Secret::new("another")).await.unwrap();
        tx.commit().await.unwrap();
        let told = house.app.details(&lookup(LookupKind::Movie, "Ebb", 2004)).await.unwrap();
        assert_eq!(told.metadata.unwrap().provider, "provider_a");
        assert_eq!(house.providers.keys.lock().unwrap().last().unwrap().as_deref(), Some("another"));
    }

    async fn what_dies_in_the_middle_is_no_answer(db: Db) {
        let house = House::with_keys(&db);
        for provider in ["provider_a", "provider_b"] {
            house.providers.knows(provider, show("7", "Harbor", 2010));
        }
        let broken = ProviderError::Unparsable("a page in HTML instead of JSON".into());
        house.providers.fail("provider_b", "episodes", Some(broken.clone()));
        let told = house.app.details(&episode("Harbor", 2010, 1, 2)).await.unwrap();
        let metadata = told.metadata.unwrap();
        assert_eq!((&*metadata.provider, metadata.title.as_deref()), ("provider_a", Some("1x2 of provider_a")));
        assert_eq!(told.silent[0].reason, broken.to_string());
        house.providers.fail("provider_a", "details", Some(ProviderError::Timeout("nothing came for 8 s".into())));
        let told = house.app.details(&episode("Harbor", 2010, 2, 1)).await.unwrap();
        assert_eq!(told.metadata.map(|metadata| metadata.provider), Some("provider_a".to_owned()), "the show itself is kept");
        house.providers.knows("provider_a", show("8", "Pier", 2011));
        let told = house.app.details(&episode("Pier", 2011, 1, 1)).await.unwrap();
        assert_eq!(told.metadata, None);
        // An episode unknown there yields its show.
        house.providers.fail("provider_b", "episodes", None);
        let told = house.app.details(&episode("Harbor", 2010, 1, 9)).await.unwrap();
        assert_eq!(told.metadata.unwrap().title.as_deref(), Some("Harbor"));
        // A show of another year differs, unless it is the year of a later season.
        let told = house.app.details(&lookup(LookupKind::Tv, "Harbor", 1999)).await.unwrap();
        assert_eq!(told.metadata, None);
        let season = |number, aired: &str| SeasonDetails { number, aired: Some(aired.into()), ..SeasonDetails::default() };
        let quay = TitleDetails { seasons: vec![season(2, "2011-05-01"), season(3, "2013-05-01")], ..show("9", "Quay", 2010) };
        house.providers.knows("provider_b", quay);
        let told = house.app.details(&episode("Quay", 2013, 3, 2)).await.unwrap();
        assert_eq!(told.metadata.unwrap().title.as_deref(), Some("3x2 of provider_b"));
        for other in [episode("Quay", 2013, 2, 2), episode("Harbor", 2013, 3, 2)] {
            assert_eq!(house.app.details(&other).await.unwrap().metadata, None, "its season was of another year, or nobody knows");
        }
    }

    async fn what_is_only_like_a_title_is_nobody(db: Db) {
        let house = House::with_keys(&db);
        house.providers.knows("provider_a", film("1", "The Red Horse", 2012));
        house.providers.knows("provider_a", show("2", "The Red Horse", 2012));
        for kind in [LookupKind::Movie, LookupKind::Tv, LookupKind::Anime, LookupKind::General] {
            let told = house.app.details(&lookup(kind, "The Red House", 2012)).await.unwrap();
            assert_eq!((told.metadata, told.silent, told.ambiguous), (None, Vec::new(), Vec::new()), "{kind:?}");
            let alone = house.app.details_of("provider_a", &lookup(kind, "The Red House", 2012)).await.unwrap();
            let Alone::Unsure(suggested) = alone else { panic!("{alone:?}") };
            assert_eq!((suggested.len(), &*suggested[0].title, suggested[0].year), (1, "The Red Horse", Some(2012)));
            // One year earlier is the same title.
            let told = house.app.details(&lookup(kind, "Red Horse, The", 2011)).await.unwrap();
            assert_eq!(told.metadata.unwrap().title.as_deref(), Some("The Red Horse"));
        }
        // A film with the same name and another id is another film.
        let id = |id: &str| ExternalId { source: "titledb".into(), id: id.into() };
        house.providers.knows("provider_b", TitleDetails { ids: vec![id("tt0000001")], ..film("3", "Tide", 2003) });
        let known = |ids| Lookup { ids, ..lookup(LookupKind::Movie, "Tide", 2003) };
        assert_eq!(house.app.details(&known(vec![id("tt0000002")])).await.unwrap().metadata, None);
        assert!(house.app.details(&known(vec![id("tt0000001")])).await.unwrap().metadata.is_some());
    }

    async fn shows_of_one_name_are_told_apart(db: Db) {
        let house = House::with_keys(&db);
        let of_country = |id: &str, country: &str, seasons: u32| TitleDetails {
            countries: vec![country.into()], season_count: Some(seasons), ..show(id, "The Desk", 2003)
        };
        house.providers.knows("provider_b", of_country("1", "GB", 2));
        house.providers.knows("provider_b", of_country("2", "US", 9));
        let provider = async |lookup: Lookup| {
            let told = house.app.details(&lookup).await.unwrap();
            told.metadata.map(|metadata| metadata.ids[0].id.clone())
        };
        let desk = |title: &str| Lookup { year: None, ..lookup(LookupKind::Tv, title, 0) };
        assert_eq!(provider(desk("The Desk")).await, None);
        assert_eq!(provider(desk("The Desk (US)")).await.as_deref(), Some("2"));
        assert_eq!(provider(desk("The Desk UK")).await.as_deref(), Some("1"));
        assert_eq!(provider(Lookup { year: None, ..episode("The Desk", 0, 5, 1) }).await.as_deref(), Some("2"));
        assert_eq!(provider(Lookup { year: None, ..episode("The Desk", 0, 1, 1) }).await, None);
        let asked = house.providers.asked();
        assert_eq!(asked.iter().filter(|asked| asked.contains("details")).count(), 2, "each once: {asked:?}");
    }

    async fn several_are_merged_field_by_field(db: Db) {
        let house = House::with_keys(&db);
        let told_by = |overview: &str, genres: &[&str]| TitleDetails {
            overview: Some(overview.into()), genres: genres.iter().map(|genre| (*genre).to_owned()).collect(),
            ..film("1", "Tide", 2003)
        };
        house.providers.knows("provider_a", told_by("a's", &[]));
        house.providers.knows("provider_b", told_by("b's", &["Drama"]));
        let mut tx = db.begin_write().await.unwrap();
        house.settings.put(&mut tx, &UNIVERSAL_SCRAPER, &true).await.unwrap();
        let fields: Map<_, _> = json!({ "overview": "provider_b", "title": 7 }).as_object().unwrap().clone();
        house.settings.put(&mut tx, &UNIVERSAL_SCRAPER_FIELDS, &fields).await.unwrap();
        tx.commit().await.unwrap();
        let metadata = house.app.details(&lookup(LookupKind::Movie, "Tide", 2003)).await.unwrap().metadata.unwrap();
        assert_eq!((&*metadata.provider, metadata.overview.as_deref()), ("universal", Some("b's")));
        assert_eq!(metadata.genres, ["Drama"]);
        assert_eq!(metadata.field_sources["title"], "provider_a");
        assert_eq!((&*metadata.field_sources["overview"], &*metadata.field_sources["genres"]), ("provider_b", "provider_b"));
        assert_eq!(metadata.ids.len(), 2, "{:?}", metadata.ids);
        // A failed provider is simply missing.
        house.providers.knows("provider_a", film("2", "Ebb", 2004));
        house.providers.knows("provider_b", film("2", "Ebb", 2004));
        house.providers.fail("provider_b", "details", Some(throttled()));
        let told = house.app.details(&lookup(LookupKind::Movie, "Ebb", 2004)).await.unwrap();
        assert_eq!((told.metadata.unwrap().ids.len(), told.silent.len()), (1, 1));
    }

    async fn one_alone_is_asked_by_what_is_known_elsewhere(db: Db) {
        let house = House::with_keys(&db);
        let id = |source: &str, id: &str| ExternalId { source: source.into(), id: id.into() };
        let known = |name: &str, number: &str, year| TitleDetails { ids: vec![id("titledb", &format!("tt{number}"))], ..show(number, name, year) };
        house.providers.knows("provider_a", known("Harbor", "7", 2010));
        house.providers.knows("provider_a", TitleDetails { ids: vec![id("titledb", "tt7")], ..film("9", "Harbor", 1999) });
        house.providers.knows("provider_b", known("Pier", "8", 2011));
        let asked = async |title: &str, ids: &[ExternalId]| {
            let lookup = Lookup { ids: ids.to_vec(), ..lookup(LookupKind::Tv, title, 2010) };
            match house.app.details_of("provider_a", &lookup).await.unwrap() {
                Alone::Told(told) => told.title.unwrap_or_default(),
                other => format!("{other:?}"),
            }
        };
        // By its own id, by an external one, by its title.
        assert_eq!(asked("Whatever", &[id("provider_a", "7"), id("titledb", "tt1")]).await, "Harbor");
        assert_eq!(house.providers.asked(), ["provider_a details 7"]);
        assert_eq!(asked("Whatever", &[id("zoo", "1"), id("titledb", "tt7")]).await, "Harbor");
        assert_eq!(house.providers.asked(), ["provider_a find titledb tt7"], "nobody is asked by an id it finds nothing by");
        assert_eq!(asked("Harbor", &[id("titledb", "tt99")]).await, "Harbor");
        assert!(house.providers.asked().iter().all(|asked| asked.starts_with("provider_a")), "nobody else is asked");
        let found = async |provider: &str, number: &str| {
            let kinds = [TitleKind::Movie, TitleKind::Show];
            house.app.own_id(provider, &id("titledb", number), &kinds).await.unwrap()
        };
        assert_eq!(found("provider_a", "tt7").await, Alone::Told((TitleKind::Movie, "9".into())), "the first kind wins");
        assert_eq!(found("provider_b", "tt8").await, Alone::Told((TitleKind::Show, "8".into())));
        assert_eq!((found("provider_a", "tt8").await, found("zoo", "tt8").await), (Alone::Unknown, Alone::Nobody));
        assert_eq!(house.providers.asked(), ["provider_b find titledb tt8", "provider_a find titledb tt8"]);
        house.providers.fail("provider_a", "find", Some(throttled()));
        assert!(matches!(found("provider_a", "tt5").await, Alone::Silent(silent) if silent.reason == "too many requests"));
        let lookup = Lookup { ids: vec![id("titledb", "tt6")], ..lookup(LookupKind::Tv, "Harbor", 2010) };
        assert!(matches!(house.app.details_of("provider_a", &lookup).await.unwrap(), Alone::Silent(_)), "what fails is no answer");
    }

    async fn what_was_dropped_in_is_asked_in_its_turn(db: Db) {
        let house = House::new(&db, EnvironmentKeys::default());
        assert_eq!(house.app.chain(LookupKind::Tv).await.unwrap(), [""; 0], "nobody has a key");
        house.providers.dropped_in.lock().unwrap().push("archive".into());
        house.providers.knows("archive", film("1", "Tide", 2003));
        assert_eq!(house.app.chain(LookupKind::Movie).await.unwrap(), ["archive"]);
        let told = house.app.details(&lookup(LookupKind::Movie, "Tide", 2003)).await.unwrap();
        assert_eq!(told.metadata.unwrap().provider, "archive");
        let mut tx = db.begin_write().await.unwrap();
        let order = vec!["nobody".to_owned(), "provider_a".to_owned(), "archive".to_owned()];
        house.settings.put(&mut tx, &METADATA_PROVIDER_ORDER, &order).await.unwrap();
        house.settings.put_secret(&mut tx, &PROVIDER_A_API_KEY, &Secret::new("k")).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(house.app.chain(LookupKind::Tv).await.unwrap(), ["provider_a", "archive"]);
    }

    async fn a_rating_is_looked_up_by_its_id(db: Db) {
        let site = RatingSite::start().await;
        let relays = [format!("{}=http://{}", crate::service::rating::ORIGIN, site.address)];
        let nobody = House::beside(&db, EnvironmentKeys::default(), &relays);
        assert_eq!(nobody.app.rating("tt0000007").await.unwrap(), Alone::Nobody, "without a key nobody is asked");
        let environment = EnvironmentKeys { omdb: Some(Secret::new(" k&y ")), ..EnvironmentKeys::default() };
        let house = House::beside(&db, environment, &relays);
        let told = Alone::Told(Rated { rating: 7.4, is_series: false });
        for _ in 0..2 {
            assert_eq!(house.app.rating("tt0000007").await.unwrap(), told);
            assert_eq!(house.app.rating("tt0000008").await.unwrap(), Alone::Unknown);
        }
        assert_eq!(house.app.rating("nm7&i=tt0000007").await.unwrap(), Alone::Unknown, "that is no title");
        assert_eq!(site.asked(), ["/?i=tt0000007&apikey=k%26y", "/?i=tt0000008&apikey=k%26y"], "each once");
        // Its daily budget is used up: it is paused with the reason; the key is never shown.
        let Alone::Silent(silent) = house.app.rating("tt0000429").await.unwrap() else { panic!("it was throttled") };
        assert_eq!(silent.reason, "it wants to be left alone: Request limit reached!");
        let Alone::Silent(silent) = house.app.rating("tt0000009").await.unwrap() else { panic!("it was asked again") };
        assert!(silent.reason.contains("it is left alone for 3600 s more"), "{}", silent.reason);
        assert_eq!(site.asked(), ["/?i=tt0000429&apikey=k%26y"]);
        // Another key is used at once, and the setting takes precedence over the environment.
        let mut tx = db.begin_write().await.unwrap();
        house.settings.put_secret(&mut tx, &OMDB_API_KEY, &Secret::new("other")).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(house.app.rating("tt0000007").await.unwrap(), told);
        assert_eq!(site.asked(), ["/?i=tt0000007&apikey=other"]);
        drop(site);
        let Alone::Silent(silent) = house.app.rating("tt0000010").await.unwrap() else { panic!("it is gone") };
        assert!(silent.reason.starts_with("could not be reached") && !silent.reason.contains("other"), "{}", silent.reason);
    }
}

/// A fake OMDb server.
struct RatingSite {
    address: std::net::SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    answering: tokio::task::JoinHandle<()>,
}

impl RatingSite {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let heard = asked.clone();
        let answering = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = String::new();
                let mut lines = BufReader::new(&mut stream);
                while !head.ends_with("\r\n\r\n") && lines.read_line(&mut head).await.unwrap() > 0 {}
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                let (status, body) = match path.split(['=', '&']).nth(1) {
                    Some("tt0000007") => (200, r#"{"Type":"movie","imdbRating":"7.4","Response":"True"}"#),
                    Some("tt0000429") => (401, r#"{"Response":"False","Error":"Request limit reached!"}"#),
                    _ => (
                        200,
                        r#"{"Response":"False","Error":"Error getting data: not found"}"#,
                    ),
                };
                heard.lock().unwrap().push(path);
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status} .\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Self {
            address,
            asked,
            answering,
        }
    }

    /// Requests since the last call.
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

impl Drop for RatingSite {
    fn drop(&mut self) {
        self.answering.abort();
    }
}
