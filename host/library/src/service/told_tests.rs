//! Answers of the library to the areas that keep pictures, subtitles and notes.

use qm_db::{Db, db_test};
use qm_kernel::PageQuery;
use qm_media::model::item::{Filter, Issue};
use qm_media::model::library::Kind;
use qm_media::repo;
use qm_ports::notes::{MediaNotes, NoteTaker, NotedFacts};
use qm_ports::subjects::{ChangeReader, MediaSubjects, SubjectChange};

use crate::repo::testing::{TRACKED, change};
use crate::testing::House;

db_test! {
    async fn changed_directories_are_told_to_each_reader(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        house.file("tv/The Wire (2002)/Season 1/The.Wire.S01E01.mkv", 1);
        house.file("tv/Loose.S01E01.mkv", 1);
        let (tv, job) = house.library("tv", Kind::Tv).await;
        house.ended(&job).await;
        let subjects: &dyn MediaSubjects = &*house.app.catalogue;
        let told = async |reader| {
            let mut changes = subjects.list_changes(reader, 50).await.unwrap();
            assert!(changes.is_sorted_by_key(|change| change.number));
            changes.sort_by(|a, b| a.place.cmp(&b.place));
            changes
        };
        let first = told(ChangeReader::Pictures).await;
        let places: Vec<(&str, bool)> = first.iter().map(|change| (&*change.place, change.below)).collect();
        assert_eq!(places, [("", false), ("The Wire (2002)", true), ("The Wire (2002)", false), ("The Wire (2002)/Season 1", true)]);
        assert!(first.iter().all(|change| change.library_id == tv.id));
        for most in 1..=4 {
            let some = subjects.list_changes(ChangeReader::Pictures, most).await.unwrap();
            let of = |all: &[SubjectChange], id: &str| all.iter().filter(|change| change.directory_id == id).count();
            assert!(some.len() >= most && some.iter().all(|change| of(&some, &change.directory_id) == of(&first, &change.directory_id)), "{some:?}");
        }
        let ids = async |change: &SubjectChange, most| {
            let items = subjects.list_changed_items(change, "", most).await.unwrap();
            items.into_iter().flat_map(|item| item.places).collect::<Vec<_>>()
        };
        assert_eq!(ids(&first[0], 9).await, ["Loose.S01E01.mkv"], "the library's own directory concerns only what lies in it");
        assert_eq!(ids(&first[1], 9).await, ["The Wire (2002)/Season 1/The.Wire.S01E01.mkv"]);
        assert_eq!(ids(&first[2], 9).await, [""; 0], "its show got a row, which concerns the folder alone");
        let season = &first[3];
        assert_eq!(ids(season, 9).await, ids(&first[1], 9).await);
        assert_eq!(ids(season, 0).await, [""; 0]);
        let item = &subjects.list_changed_items(season, "", 9).await.unwrap()[0];
        assert_eq!(subjects.list_changed_items(season, &item.id, 9).await.unwrap(), []);
        for (change, shows) in [(&first[0], 0), (&first[1], 1), (&first[2], 1), (season, 1)] {
            assert_eq!(subjects.list_changed_shows(change).await.unwrap().len(), shows, "{}", change.place);
        }
        // Each reader forgets for itself.
        let numbers: Vec<i64> = first.iter().map(|change| change.number).collect();
        subjects.forget_changes(&numbers).await.unwrap();
        assert_eq!(told(ChangeReader::Pictures).await, []);
        assert_eq!(told(ChangeReader::Notes).await.len(), 4);
        // A scan that sees nothing new tells nothing; a new file is a change of its directory.
        house.scans(&tv).await;
        assert_eq!(told(ChangeReader::Pictures).await, []);
        house.file("tv/The Wire (2002)/Season 1/poster.jpg", 1);
        house.scans(&tv).await;
        let again = told(ChangeReader::Pictures).await;
        assert_eq!(again.iter().map(|change| &*change.place).collect::<Vec<_>>(), ["The Wire (2002)/Season 1"]);
        house.stops().await;
    }

    async fn notes_fill_what_nobody_said(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        house.file("films/Tide (2003).mkv", 1);
        house.file("tv/The Wire (2002)/The.Wire.S01E01.mkv", 1);
        for (folder, kind) in [("films", Kind::Movie), ("tv", Kind::Tv)] {
            let (_, job) = house.library(folder, kind).await;
            house.ended(&job).await;
        }
        let page = PageQuery { page: 1, page_size: 9 };
        let films = Filter { media_type: Some("movie".to_owned()), ..Filter::default() };
        let film = async || house.app.catalogue.items(&films, page).await.unwrap().0.remove(0).0;
        let id = film().await.id;
        let taker: &dyn NoteTaker = &*house.app.identify;
        let facts = NotedFacts {
            title: Some("The Tide".to_owned()),
            overview: Some("Water.".to_owned()),
            release_date: Some("2003-01-02".to_owned()),
            genres: vec!["Drama".to_owned()],
            rating: Some(7.5),
            ..NotedFacts::default()
        };
        assert_eq!(taker.take_item_note(&id, facts.clone()).await, Ok(true));
        assert_eq!(taker.take_item_note(&id, facts.clone()).await, Ok(false), "it is known");
        assert_eq!(taker.take_item_note("nobody", facts.clone()).await, Ok(false));
        let metadata = film().await.metadata.unwrap();
        assert_eq!((metadata.title.as_deref(), metadata.overview.as_deref()), (Some("The Tide"), Some("Water.")), "more than its name");
        assert_eq!((metadata.provider_name.as_deref(), metadata.year), (Some("local-nfo"), Some(2003)));
        let by = |field: &str| metadata.field_sources.get(field).map(String::as_str);
        assert_eq!((by("title"), by("year"), by("rating")), (Some("local-nfo"), Some("local"), Some("local-nfo")));
        let dramas = Filter { genre: Some("drama".to_owned()), ..Filter::default() };
        assert_eq!(house.app.catalogue.items(&dramas, page).await.unwrap().1, 1);
        // Nobody changes what is locked.
        let mut tx = db.begin_write().await.unwrap();
        assert!(repo::bulk::lock(&mut tx, &id, true, qm_kernel::Timestamp::from_ms(1)).await.unwrap());
        tx.commit().await.unwrap();
        let more = NotedFacts { certification: Some("12".to_owned()), ..NotedFacts::default() };
        assert_eq!(taker.take_item_note(&id, more.clone()).await, Ok(false));

        let (shows, _) = house.app.catalogue.shows(&Filter::default(), page).await.unwrap();
        let show = shows[0].0.id.clone();
        assert_eq!(taker.take_show_note(&show, facts).await, Ok(true));
        assert_eq!(taker.take_show_note("nobody", more).await, Ok(false));
        let details = house.app.catalogue.show_details(&show).await.unwrap();
        assert_eq!(details.metadata.unwrap().title.as_deref(), Some("The Tide"));
        house.stops().await;
    }

    async fn tracks_in_files_are_subtitles_of_the_item(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        house.file("films/Tide (2003).mkv", 1);
        house.file("films/Ebb (2004).mkv", 1);
        let (_, job) = house.library("films", Kind::Movie).await;
        house.ended(&job).await;
        let page = PageQuery { page: 1, page_size: 9 };
        let missing = Filter { issue: Some(Issue::MissingSubtitles), ..Filter::default() };
        let (items, total) = house.app.catalogue.items(&missing, page).await.unwrap();
        assert_eq!(total, 2);
        let id = items[0].0.id.clone();
        let mut tx = db.begin_write().await.unwrap();
        change(&mut tx, TRACKED, &id).await.unwrap();
        tx.commit().await.unwrap();
        let (left, total) = house.app.catalogue.items(&missing, page).await.unwrap();
        assert_eq!((total, left.iter().any(|(item, ..)| item.id == id)), (1, false));
        let faults = house.app.catalogue.issues(None).await.unwrap();
        assert_eq!((faults.missing_subtitles, faults.missing_artwork), (1, 2));
        let subjects: &dyn MediaSubjects = &*house.app.catalogue;
        let item = subjects.find_item(&id).await.unwrap().unwrap();
        let told: Vec<_> = item.tracks.iter().map(|track| (track.number, track.language.as_deref(), track.forced)).collect();
        assert_eq!(told, [(0, Some("eng"), true)]);
        assert_eq!(item.tracks[0].place, item.places[0]);
        house.stops().await;
    }

    async fn items_and_shows_are_told_with_their_places(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        house.file("tv/The Wire (2002)/The.Wire.S01E01.mkv", 1);
        let (tv, job) = house.library("tv", Kind::Tv).await;
        house.ended(&job).await;
        let (subjects, notes): (&dyn MediaSubjects, &dyn MediaNotes) = (&*house.app.catalogue, &*house.app.catalogue);
        let page = PageQuery { page: 1, page_size: 9 };
        let (items, _) = house.app.catalogue.items(&Filter::default(), page).await.unwrap();
        let id = items[0].0.id.clone();

        let item = subjects.find_item(&id).await.unwrap().unwrap();
        assert_eq!((&*item.id, &*item.library, &*item.media_type), (&*id, &*tv.path, "tv"));
        assert_eq!(item.places, ["The Wire (2002)/The.Wire.S01E01.mkv"]);
        assert_eq!((item.season, item.episode), (Some(1), Some(1)));
        let shows = repo::shows::of_library(&mut db.begin_read().await.unwrap(), &tv.id).await.unwrap();
        let show = subjects.find_show(&shows[0].id).await.unwrap().unwrap();
        assert_eq!((&*show.library, &*show.place), (&*tv.path, "The Wire (2002)"));
        assert_eq!((subjects.find_item("nobody").await, subjects.find_show("nobody").await), (Ok(None), Ok(None)));

        let noted = notes.find_noted(&id).await.unwrap().unwrap();
        assert_eq!((&*noted.place, noted.library.nfo_enabled, noted.locked), (&*item.places[0], false, false));
        assert_eq!(notes.find_noted("nobody").await, Ok(None));
        assert_eq!(notes.find_noted_library(&tv.id).await.unwrap(), Some(noted.library));
        assert_eq!(notes.find_noted_library("nowhere").await, Ok(None));
        assert_eq!(notes.list_unlocked(&tv.id, 5).await.unwrap(), [&*id]);
        assert_eq!(notes.list_unlocked(&tv.id, 0).await.unwrap(), [""; 0]);
        let asked = ["nobody".to_owned(), id.clone()];
        assert_eq!(notes.list_known(&asked).await.unwrap(), [&*id]);
        let mut tx = db.begin_write().await.unwrap();
        assert!(repo::bulk::lock(&mut tx, &id, true, qm_kernel::Timestamp::from_ms(1)).await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(notes.list_unlocked(&tv.id, 5).await.unwrap(), [""; 0]);
        assert!(notes.find_noted(&id).await.unwrap().unwrap().locked);
    }
}
