//! Answers of the library to the areas that keep pictures, subtitles and notes.

use qm_db::{Db, db_test};
use qm_kernel::PageQuery;
use qm_media::model::item::Filter;
use qm_media::model::library::Kind;
use qm_media::repo;
use qm_ports::notes::MediaNotes;
use qm_ports::subjects::MediaSubjects;

use crate::testing::House;

db_test! {
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
