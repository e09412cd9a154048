//! Identification of items by a data set of titles.

use qm_db::{Db, db_test};
use qm_kernel::PageQuery;
use qm_media::model::item::{Edit, Filter, Item};
use qm_media::model::library::{Kind, MediaLibrary};

use crate::testing::House;

/// All items by their places: series, own id.
async fn ids(house: &House) -> Vec<(String, Option<String>, Option<String>)> {
    let items = items(house).await;
    let told = items.into_iter().map(|item| {
        let own = item.external_ids.into_iter().next().map(|id| id.value);
        (item.place, item.series_titledb_id, own)
    });
    let mut told: Vec<_> = told.collect();
    told.sort();
    told
}

async fn items(house: &House) -> Vec<Item> {
    let page = PageQuery {
        page: 1,
        page_size: 99,
    };
    let (items, _) = house.app.catalogue.items(&Filter::default(), page).await.unwrap();
    items.into_iter().map(|(item, ..)| item).collect()
}

fn row(place: &str, series: &str, own: &str) -> (String, Option<String>, Option<String>) {
    let said = |id: &str| (!id.is_empty()).then(|| id.to_owned());
    (place.to_owned(), said(series), said(own))
}

const WIRE: &str = "The Wire (2002)/The.Wire.S01E01.mkv";
const WIRE_TWO: &str = "The Wire (2002)/The.Wire.S01E02.mkv";

/// A series with two of its episodes and a film.
async fn tv(house: &House) -> MediaLibrary {
    for place in [WIRE, WIRE_TWO] {
        house.file(format!("tv/{place}"), 1);
    }
    let (tv, job) = house.library("tv", Kind::Tv).await;
    house.ended(&job).await;
    tv
}

fn known(house: &House, edition: &str) {
    house.around.titles.has(
        edition,
        &[
            ("tt0000010", "tvSeries", "The Wire", 2002),
            ("tt0000020", "movie", "Tide", 2003),
            ("tt0000021", "movie", "Tide", 1986),
            ("tt0000030", "movie", "Twin", 2001),
            ("tt0000031", "movie", "Twin", 2001),
        ],
        &[("tt0000010", 1, 1, "tt0000011"), ("tt0000010", 1, 2, "tt0000012")],
    );
}

db_test! {
    async fn a_scan_asks_what_shows_episodes_and_films_are_and_asks_once(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        known(&house, "one");
        let tv = tv(&house).await;
        house.file("tv/The.Wire.S01E02.mkv", 1);
        house.file("tv/The Wire (2002)/The.Wire.S07E01.mkv", 1);
        for film in ["Tide (2003)/Tide.2003.mkv", "Twin (2001)/Twin.2001.mkv", "Tide 2 (2003)/Tide.2.2003.mkv", "alone.mkv"] {
            house.file(format!("films/{film}"), 1);
        }
        let (films, job) = house.library("films", Kind::Movie).await;
        house.ended(&job).await;
        assert_eq!(ids(&house).await.iter().filter(|(_, _, own)| own.is_some()).count(), 3, "a new library is asked about");
        for library in [&tv, &films] {
            assert_eq!(house.scans(library).await.0, "completed");
        }
        let expected = [
            row("The Wire (2002)/The.Wire.S01E01.mkv", "tt0000010", "tt0000011"),
            row("The Wire (2002)/The.Wire.S01E02.mkv", "tt0000010", "tt0000012"),
            // It has no such season: it may be another series of that name.
            row("The Wire (2002)/The.Wire.S07E01.mkv", "", ""),
            row("The.Wire.S01E02.mkv", "tt0000010", "tt0000012"),
            row("Tide (2003)/Tide.2003.mkv", "", "tt0000020"),
            row("Tide 2 (2003)/Tide.2.2003.mkv", "", ""),
            row("Twin (2001)/Twin.2001.mkv", "", ""),
            row("alone.mkv", "", ""),
        ];
        assert_eq!(ids(&house).await, expected);
        let before = (items(&house).await, house.around.titles.asked());
        for library in [&tv, &films] {
            assert_eq!(house.scans(library).await.0, "completed");
        }
        assert_eq!((items(&house).await, house.around.titles.asked()), before, "nobody is asked twice");
        // Another edition is asked about what the one before did not know, and of nothing else.
        known(&house, "two");
        house.around.titles.change(|set| set.titles.retain(|title| title.id != "tt0000031"));
        house.around.titles.change(|set| set.asked = 0);
        assert_eq!(house.scans(&films).await.0, "completed");
        assert_eq!((house.around.titles.asked(), &ids(&house).await[6]), (2, &row("Twin (2001)/Twin.2001.mkv", "", "tt0000030")));
        house.stops().await;
    }

    async fn what_cannot_be_asked_is_asked_later(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        let tv = tv(&house).await;
        let unknown = [row(WIRE, "", ""), row(WIRE_TWO, "", "")];
        // No data set is imported, one cannot be read, another one comes while it is asked, one goes.
        assert_eq!(house.scans(&tv).await.0, "completed");
        assert_eq!((ids(&house).await, house.around.titles.asked()), (unknown.to_vec(), 0));
        known(&house, "one");
        house.around.titles.change(|set| set.is_broken = true);
        let (status, told) = house.scans(&tv).await;
        assert_eq!((&*status, ids(&house).await), ("completed_with_warnings", unknown.to_vec()), "{told}");
        house.around.titles.change(|set| set.is_broken = false);
        for next in ["two", ""] {
            known(&house, "one");
            house.around.titles.change(|set| set.next = Some(next));
            assert_eq!(house.scans(&tv).await.0, "completed");
            assert_eq!(ids(&house).await, unknown, "what one edition said is not written down under another");
        }
        known(&house, "one");
        house.scans(&tv).await;
        let known = [row(WIRE, "tt0000010", "tt0000011"), row(WIRE_TWO, "tt0000010", "tt0000012")];
        assert_eq!(ids(&house).await, known);
        // A reset takes nothing away.
        house.around.titles.change(|set| set.edition = None);
        house.scans(&tv).await;
        assert_eq!(ids(&house).await, known);
        house.stops().await;
    }

    async fn people_have_the_last_word(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        let tv = tv(&house).await;
        known(&house, "one");
        let id = items(&house).await.into_iter().find(|item| item.place == WIRE).unwrap().id;
        house.app.identify.lock_item(house.caller(), &id, true).await.unwrap();
        house.scans(&tv).await;
        assert_eq!(ids(&house).await, [row(WIRE, "", ""), row(WIRE_TWO, "tt0000010", "tt0000012")], "it was locked");
        house.app.identify.lock_item(house.caller(), &id, false).await.unwrap();
        // What somebody says is looked for at once.
        let edit = |episode| Edit { episode: Some(Some(episode)), ..Edit::default() };
        let (item, ..) = house.app.identify.match_item(house.caller(), &id, edit(2)).await.unwrap();
        assert_eq!((item.series_titledb_id.as_deref(), &*item.match_status), (Some("tt0000010"), "manual"));
        assert_eq!(ids(&house).await[0], row(WIRE, "tt0000010", "tt0000012"));
        // An id that was found for what it was called is none of what it is called now.
        house.app.identify.match_item(house.caller(), &id, edit(9)).await.unwrap();
        assert_eq!(ids(&house).await[0], row(WIRE, "tt0000010", ""));
        house.app.identify.match_item(house.caller(), &id, Edit::default()).await.unwrap();
        assert_eq!(ids(&house).await[0], row(WIRE, "tt0000010", "tt0000011"));
        house.app.identify.unmatch_item(house.caller(), &id).await.unwrap();
        assert_eq!(ids(&house).await[0], row(WIRE, "tt0000010", "tt0000011"), "what is known of it stays");
        house.stops().await;
    }
}
