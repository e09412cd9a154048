//! Scans of the names that people give files and folders.

use std::collections::BTreeMap;

use qm_db::{Db, db_test};
use qm_kernel::PageQuery;
use qm_media::model::item::{Filter, Issue, Item};
use qm_media::model::library::Kind;

use crate::testing::House;

async fn items(house: &House, issue: Option<Issue>) -> Vec<Item> {
    let page = PageQuery {
        page: 1,
        page_size: 99,
    };
    let filter = Filter {
        issue,
        ..Filter::default()
    };
    let (items, _) = house.app.catalogue.items(&filter, page).await.unwrap();
    items.into_iter().map(|(item, ..)| item).collect()
}

/// Each item by its place: title, year, season, episode.
type Facts = BTreeMap<String, (String, Option<i64>, Option<i64>, Option<i64>)>;

async fn facts(house: &House) -> Facts {
    let told = |item: Item| (item.place, (item.title, item.year, item.season, item.episode));
    items(house, None).await.into_iter().map(told).collect()
}

fn facts_of(
    place: &str,
    title: &str,
    numbers: (Option<i64>, Option<i64>, Option<i64>),
) -> (String, (String, Option<i64>, Option<i64>, Option<i64>)) {
    (
        place.to_owned(),
        (title.to_owned(), numbers.0, numbers.1, numbers.2),
    )
}

db_test! {
    async fn a_season_comes_from_its_folder(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        for place in ["Alder (2012)/Season 2/01 - Pilot.mkv", "Alder (2012)/Extras/Making.mkv", "Alder (2012)/Specials/02.mkv"] {
            house.file(format!("tv/{place}"), 1);
        }
        let (tv, job) = house.library("tv", Kind::Tv).await;
        let (_, summary) = house.ended(&job).await;
        assert_eq!((summary["added"].as_u64(), summary["skipped"].as_u64()), (Some(2), Some(1)), "{summary}");
        let expected: Facts = [
            facts_of("Alder (2012)/Season 2/01 - Pilot.mkv", "Alder", (Some(2012), Some(2), Some(1))),
            facts_of("Alder (2012)/Specials/02.mkv", "Alder", (Some(2012), Some(0), Some(2))),
        ].into();
        assert_eq!(facts(&house).await, expected);
        // Read again it is the same.
        house.scans(&tv).await;
        assert_eq!(facts(&house).await, expected);
        house.stops().await;
    }

    async fn a_film_is_what_its_folder_says_where_it_is_alone(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        for place in [
            "Salt River (2011)/any words.mkv", "Salt River (2011)/any words-trailer.mkv", "Pack (2011)/alder.mkv",
            "Pack (2011)/birch.mkv", "Disc (1999)/VIDEO_TS/VTS_01_1.VOB", "Disc (1999)/VIDEO_TS/VIDEO_TS.VOB",
        ] {
            let size = if place.contains("_1.") { 9 } else { 1 };
            house.file(format!("films/{place}"), size);
        }
        let (films, job) = house.library("films", Kind::Movie).await;
        let (_, summary) = house.ended(&job).await;
        let none = |year| (year, None, None);
        let expected: Facts = [
            facts_of("Disc (1999)/VIDEO_TS/VTS_01_1.VOB", "Disc", none(Some(1999))),
            facts_of("Pack (2011)/alder.mkv", "alder", none(None)),
            facts_of("Pack (2011)/birch.mkv", "birch", none(None)),
            facts_of("Salt River (2011)/any words.mkv", "Salt River", none(Some(2011))),
        ].into();
        assert_eq!((facts(&house).await, summary["skipped"].as_u64()), (expected.clone(), Some(2)), "{summary}");
        house.scans(&films).await;
        assert_eq!(facts(&house).await, expected);
        house.stops().await;
    }

    async fn ids_of_names_and_notes_are_what_an_item_is(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        house.around.titles.has("one", &[("tt0000020", "movie", "Tide", 2003), ("tt0000021", "movie", "Alder", 2005)], &[]);
        for place in ["Tide (2003) {imdb-tt0000099}/Tide.mkv", "Alder (2005)/Alder.mkv"] {
            house.file(format!("films/{place}"), 1);
        }
        let (films, job) = house.library("films", Kind::Movie).await;
        house.ended(&job).await;
        house.scans(&films).await;
        let ids = async || {
            let told = |item: Item| (item.title, item.external_ids.into_iter().map(|id| id.value).collect::<Vec<_>>());
            items(&house, None).await.into_iter().map(told).collect::<BTreeMap<_, _>>()
        };
        let found = ids().await;
        assert_eq!((&*found["Tide"], &*found["Alder"]), (&["tt0000099".to_owned()][..], &["tt0000021".to_owned()][..]));
        let note = "<movie><uniqueid type=\"imdb\">tt0000077</uniqueid><tmdbid>5</tmdbid></movie>";
        std::fs::write(house.root.join("films/Alder (2005)/movie.nfo"), note).unwrap();
        house.scans(&films).await;
        assert_eq!(ids().await["Alder"], ["5", "tt0000077"], "it says more than a title that is the same");
        house.stops().await;
    }

    async fn what_is_only_like_a_title_is_suggested(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        house.around.titles.has("one", &[("tt0000020", "movie", "The Red Horse", 2003)], &[]);
        house.file("films/The Red House (2003).mkv", 1);
        let (films, job) = house.library("films", Kind::Movie).await;
        house.ended(&job).await;
        house.scans(&films).await;
        let suggested = items(&house, Some(Issue::Suggested)).await;
        assert_eq!((suggested.len(), suggested[0].external_ids.len()), (1, 0));
        let detail = house.app.catalogue.item(&suggested[0].id).await.unwrap();
        let told: Vec<_> = detail.suggestions.iter().map(|one| (&*one.titledb_id, &*one.title, one.year)).collect();
        assert_eq!(told, [("tt0000020", "The Red Horse", Some(2003))]);
        assert!(detail.suggestions[0].score < 100);
        // Somebody says it.
        house.app.identify.entitle_item(house.caller(), &suggested[0].id, "tt0000020", None).await.unwrap();
        assert!(items(&house, Some(Issue::Suggested)).await.is_empty());
        assert!(house.app.catalogue.item(&suggested[0].id).await.unwrap().suggestions.is_empty());
        house.stops().await;
    }
}
