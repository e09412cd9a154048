//! Lists from memory against lists from the database.

use std::sync::Arc;

use qm_catalogue::Shelf;
use qm_catalogue::repo::catalog;
use qm_db::{Db, Tx, db_test};
use qm_kernel::{PageQuery, Timestamp};
use qm_media::model::item::{Facts, Filter, Issue, Sort, Tech};
use qm_media::model::library::{Kind, LibraryChange, MediaLibrary};
use qm_media::repo;
use qm_media::repo::items::NewItem;
use qm_media_names::naming::member::Member;
use qm_scan::repo::directories;
use qm_scan::repo::directories::Stand;

use crate::repo::testing::{
    CALLED, LISTED, MATCHED, MORE_PICTURES, PICTURED, SAME, SEASON, SUBTITLED, TOUCHED, TWICE, change,
    change_all,
};
use crate::testing::House;

const TITLES: [&str; 8] = [
    "Lantern",
    "lantern",
    "100% Émile",
    "Under_score",
    "東京",
    "Ω\\x",
    "Zulu",
    "A",
];

fn new_item(number: usize, directory: &str) -> NewItem {
    NewItem {
        // Not in the order in which they are added.
        id: format!(
            "{:08x}-0000-4000-8000-{number:012x}",
            number.wrapping_mul(2_654_435_761) as u32
        ),
        file_id: format!("f{number}"),
        directory_id: directory.to_owned(),
        place: format!("{directory}/{number}.mkv"),
        size: 1,
        mtime: 1,
        facts: Facts {
            media_type: ["movie", "tv", "anime"][number % 3].to_owned(),
            title: TITLES[number * 7 % TITLES.len()].to_owned(),
            year: [None, Some(1999), Some(2003)][number / 2 % 3],
            season: Some((number % 4) as i64),
            episode: Some((number % 7) as i64),
            episode_end: None,
        },
        tech: Tech::default(),
        member: Member::default(),
        node: (1, 1),
    }
}

/// Adds items to a library, some at the same time as others.
async fn add(db: &Db, library: &MediaLibrary, numbers: std::ops::Range<usize>) {
    let mut tx = db.begin_write().await.unwrap();
    let stand = Stand {
        device: 1,
        inode: 1,
        mtime: 1,
    };
    let directory = format!("d{}", numbers.start);
    directories::insert(&mut tx, &directory, &library.id, &directory, stand)
        .await
        .unwrap();
    let items: Vec<NewItem> = numbers.map(|number| new_item(number, &directory)).collect();
    for (at, some) in items.chunks(100).enumerate() {
        let at = Timestamp::from_ms(1_000 - (at as i64 % 3));
        repo::items::insert(&mut tx, &library.id, some, at).await.unwrap();
    }
    tx.commit().await.unwrap();
}

fn filters(libraries: &[&str]) -> Vec<Filter> {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let issues = [
        None,
        None,
        Some(Issue::Unmatched),
        Some(Issue::Duplicate),
        Some(Issue::MissingArtwork),
        Some(Issue::MissingSubtitles),
    ];
    let sorts = [
        Sort::Title,
        Sort::TitleDesc,
        Sort::AddedAsc,
        Sort::AddedDesc,
        Sort::YearAsc,
        Sort::YearDesc,
        Sort::UpdatedDesc,
    ];
    let libraries = ["", libraries[0], libraries[1], "none"];
    let mut filters: Vec<Filter> = sorts
        .iter()
        .flat_map(|sort| {
            libraries.map(|library| Filter {
                library_id: text(library),
                sort: *sort,
                ..Filter::default()
            })
        })
        .collect();
    // Steps without a common divisor mix everything with everything.
    filters.extend((0..250_usize).map(|at| {
        Filter {
            library_id: text(libraries[at % 4]),
            media_type: text(["", "", "tv", "movie", "y"][at / 2 % 5]),
            match_status: text(["", "matched", "unmatched"][at / 3 % 3]),
            title: text(["", "", "", "", "Lantern", "100% Émile"][at / 5 % 6]),
            search: ["", "ANT", "%", "_", "é", "\\", "zz", "京", "qq", "a\0b"]
                .get(at / 7 % 13)
                .map(|text| (*text).to_owned()),
            starts_at: [None, None, Some('l'), Some('M'), Some('z')][at / 11 % 5],
            issue: issues[at / 13 % 6],
            year_from: [None, None, Some(1999), Some(2001)][at / 3 % 4],
            year_to: [None, None, None, Some(1999), Some(2003)][at / 7 % 5],
            season: [None, None, None, Some(2)][at / 17 % 4],
            sort: sorts[at % 7],
            ..Filter::default()
        }
    }));
    filters.extend((0..64_usize).map(|at| Filter {
        library_id: text(libraries[at % 4]),
        year_from: [None, Some(1999), Some(2003), Some(2050)][at / 4 % 4],
        year_to: [None, Some(1999), Some(2003), Some(1900)][at / 16 % 4],
        season: [None, Some(0), Some(3)][at % 3],
        ..Filter::default()
    }));
    filters
}

async fn compare(tx: &mut Tx, libraries: &[&str]) {
    let catalog = catalog::all(tx).await.unwrap().unwrap();
    for filter in filters(libraries) {
        for page in [1, 2, 40] {
            let page = PageQuery { page, page_size: 20 };
            let (items, total) = repo::lists::page(tx, &filter, page).await.unwrap();
            let (ids, counted) = catalog.page(&filter, page.offset(), page.page_size);
            let expected: Vec<&str> = items.iter().map(|(item, _)| &*item.id).collect();
            assert_eq!(
                (&ids, counted),
                (&expected.iter().map(ToString::to_string).collect(), total),
                "{filter:?}"
            );
            assert_eq!(repo::lists::named(tx, &ids).await.unwrap(), items);
        }
        let mut letters = repo::lists::alphabet(tx, &filter).await.unwrap();
        letters.sort();
        assert_eq!(catalog.alphabet(&filter), letters, "{filter:?}");
        let of = filter.library_id.as_deref();
        assert_eq!(catalog.issues(of), repo::lists::issues(tx, of).await.unwrap());
    }
}

db_test! {
    async fn memory_and_database_answer_alike(db: Db) {
        let house = House::new(&db);
        std::fs::create_dir_all(house.root.join("tv")).unwrap();
        std::fs::create_dir_all(house.root.join("films")).unwrap();
        let (tv, _) = house.library("tv", Kind::Tv).await;
        let (films, _) = house.library("films", Kind::Movie).await;
        add(&db, &tv, 0..400).await;
        add(&db, &films, 400..700).await;
        let mut tx = db.begin_write().await.unwrap();
        for statement in [TWICE, MATCHED, LISTED, PICTURED, SUBTITLED] {
            change_all(&mut tx, statement).await.unwrap();
        }
        tx.commit().await.unwrap();
        compare(&mut db.begin_read().await.unwrap(), &[&tv.id, &films.id]).await;
        house.stops().await;
    }

    async fn stamps_tell_of_every_change(db: Db) {
        let house = House::new(&db);
        std::fs::create_dir_all(house.root.join("tv")).unwrap();
        let (tv, _) = house.library("tv", Kind::Tv).await;
        add(&db, &tv, 0..3).await;
        let id = new_item(1, "").id;
        let stamps = async || catalog::stamps(&mut db.begin_read().await.unwrap()).await.unwrap();
        let run = async |statement, is_committed: bool| {
            let mut tx = db.begin_write().await.unwrap();
            change(&mut tx, statement, &id).await.unwrap();
            if is_committed {
                tx.commit().await.unwrap();
            }
        };
        let before = stamps().await;
        run(SAME, true).await;
        run(CALLED, false).await;
        assert_eq!(stamps().await, before, "nothing is different");
        run(TOUCHED, true).await;
        let touched = stamps().await;
        assert!(touched.items == before.items && touched.touched != before.touched, "{touched:?}");
        run(CALLED, true).await;
        let called = stamps().await;
        assert!(called.items != touched.items && called.touched == touched.touched, "{called:?}");
        run(MORE_PICTURES, true).await;
        let pictured = stamps().await;
        assert!(pictured.items != called.items && pictured.touched == called.touched, "{pictured:?}");
        run(MORE_PICTURES, true).await;
        assert_eq!(stamps().await, pictured, "lists ask whether there are any");
        let mut tx = db.begin_write().await.unwrap();
        assert_eq!(repo::items::delete(&mut tx, &id).await.unwrap(), 1);
        tx.commit().await.unwrap();
        assert_ne!(stamps().await.items, pictured.items);
        house.stops().await;
    }

    async fn series_are_those_of_now(db: Db) {
        let house = House::new(&db);
        std::fs::create_dir_all(house.root.join("tv")).unwrap();
        let (tv, _) = house.library("tv", Kind::Tv).await;
        add(&db, &tv, 0..60).await;
        let page = PageQuery { page: 1, page_size: 9 };
        let filter = Filter { media_type: Some("tv".to_owned()), ..Filter::default() };
        let series = async |filter: &Filter| {
            let (page, total) = house.app.catalogue.series(filter, page).await.unwrap();
            (page.into_iter().map(|(series, _)| series).collect::<Vec<_>>(), total)
        };
        let (first, total) = series(&filter).await;
        assert_eq!((total, first[0].episodes, first[0].seasons), (1, 20, 4));
        assert_eq!(series(&filter).await, (first.clone(), 1));
        assert_eq!(series(&Filter::default()).await.0[0].episodes, 40, "of another filter");
        for (statement, seasons) in [(SEASON, 5), (TOUCHED, 5)] {
            let mut tx = db.begin_write().await.unwrap();
            change(&mut tx, statement, &new_item(1, "").id).await.unwrap();
            tx.commit().await.unwrap();
            let (now, _) = series(&filter).await;
            assert_eq!((now[0].episodes, now[0].seasons), (20, seasons));
        }
        assert_ne!(series(&filter).await.0[0].updated, first[0].updated);
        let other = LibraryChange { path: Some(house.root.join("elsewhere").display().to_string()), ..LibraryChange::default() };
        std::fs::create_dir_all(house.root.join("elsewhere")).unwrap();
        house.app.scanner.update(house.caller(), &tv.id, other, None).await.unwrap();
        assert_ne!(series(&filter).await.0[0].key, first[0].key, "it lies elsewhere");
        house.stops().await;
    }

    async fn what_is_kept_answers_those_only_who_see_the_same(db: Db) {
        let house = House::new(&db);
        std::fs::create_dir_all(house.root.join("tv")).unwrap();
        let (tv, _) = house.library("tv", Kind::Tv).await;
        let shelf = Arc::new(Shelf::default());
        let all = Filter::default();
        let by_change = Filter { sort: Sort::UpdatedDesc, ..Filter::default() };
        let stamps = async || catalog::stamps(&mut db.begin_read().await.unwrap()).await.unwrap();
        add(&db, &tv, 0..10).await;
        shelf.read(&db).await.unwrap();
        assert!(shelf.cached_catalog(stamps().await, &all).is_none(), "few items are not kept");
        add(&db, &tv, 10..2_010).await;
        shelf.read(&db).await.unwrap();
        let kept = stamps().await;
        assert_eq!(shelf.cached_catalog(kept, &all).unwrap().page(&all, 0, 1).1, 2_010);
        let mut tx = db.begin_write().await.unwrap();
        change(&mut tx, TOUCHED, &new_item(1, "").id).await.unwrap();
        tx.commit().await.unwrap();
        assert!(shelf.cached_catalog(stamps().await, &all).is_some());
        assert!(shelf.cached_catalog(stamps().await, &by_change).is_none());
        let mut tx = db.begin_write().await.unwrap();
        assert_eq!(repo::items::delete(&mut tx, &new_item(1, "").id).await.unwrap(), 1);
        tx.commit().await.unwrap();
        assert!(shelf.cached_catalog(stamps().await, &all).is_none());
        assert!(shelf.cached_catalog(kept, &all).is_some(), "who began before");
        let page = PageQuery { page: 1, page_size: 1 };
        assert_eq!(house.app.catalogue.items(&all, page).await.unwrap().1, 2_009);
        house.stops().await;
    }
}
