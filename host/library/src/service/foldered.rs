//! Shows as the area that merges their folders reads them.

use qm_db::{Db, db_test};
use qm_media::model::library::Kind;
use qm_ports::folders::{FolderShow, ShowFolders};

use crate::testing::House;

fn paths(shows: &[FolderShow]) -> Vec<&str> {
    shows.iter().map(|show| show.path.as_str()).collect()
}

db_test! {
    async fn shows_are_read_with_their_folders_and_forgotten(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        for file in [
            "tv/The Wire (2002)/Season 1/The Wire S01E01.mkv", "tv/The.Wire/The.Wire.S01E02.mkv", "tv/Deadwood/Deadwood S01E01.mkv",
        ] {
            house.file(file, 5);
        }
        let (library, first) = house.library("tv", Kind::Tv).await;
        house.ended(&first).await;
        let app: &dyn ShowFolders = &*house.app;
        let all = app.list_shows(Some(&library.id)).await.unwrap();
        let at = |folder: &str| format!("{}/{folder}", library.path);
        assert_eq!(paths(&all), [at("Deadwood"), at("The Wire (2002)"), at("The.Wire")]);
        assert_eq!(app.list_shows(None).await.unwrap(), all);
        assert!(app.list_shows(Some("nobody")).await.unwrap().is_empty());
        assert!(app.list_shows(Some("no\0body")).await.unwrap().is_empty());
        assert_eq!((&*all[1].canonical_key, all[1].year), ("the wire", Some(2002)));
        assert_eq!((&all[2].canonical_key, &*all[2].library_kind), (&all[1].canonical_key, "tv"));
        let ids = [all[2].id.clone(), "nobody".to_owned(), all[0].id.clone()];
        assert_eq!(app.find_shows(&ids).await.unwrap(), [all[2].clone(), all[0].clone()]);
        assert!(app.list_locked(&all[1]).await.unwrap().is_empty());

        let moved = FolderShow { place: "Elsewhere".to_owned(), ..all[0].clone() };
        app.forget_shows(&[moved, all[2].clone()]).await.unwrap();
        assert_eq!(paths(&app.list_shows(None).await.unwrap()), [at("Deadwood"), at("The Wire (2002)")]);
        let job = app.scan(&library.id, None).await.unwrap().unwrap();
        house.ended(&job).await;
        assert_eq!(app.list_shows(None).await.unwrap().len(), 3, "its folder is still there");
        assert_eq!(app.scan("nobody", None).await.unwrap(), None);
        assert_eq!(app.list_directories().await.unwrap(), std::slice::from_ref(&library.path));
        house.file("films/Alien (1979).mkv", 5);
        let (films, scan) = house.library("films", Kind::Movie).await;
        house.ended(&scan).await;
        let mut directories = app.list_directories().await.unwrap();
        directories.sort();
        assert_eq!(directories, [films.path, library.path], "also that of a library without a show");
        house.stops().await;
    }
}
