//! Looks wherever something changed, and what lists of the library are told.

use qm_db::db_test;
use qm_kernel::Timestamp;
use qm_ports::beside::{MediaPictures, PictureLies};
use qm_ports::subjects::SubjectTrack;

use super::*;

impl Site {
    /// Notes that something changed in a directory of the library.
    fn changes(&self, place: &str, below: bool) {
        let mut changes = self.subjects.changes.lock().unwrap();
        let number = changes.last().map_or(1, |last| last.number + 1);
        changes.push(SubjectChange {
            number,
            library_id: "l".to_owned(),
            directory_id: format!("d {place}"),
            place: place.to_owned(),
            below,
        });
    }

    async fn counts(&self, id: &str) -> (i64, i64) {
        let mut tx = self.db.begin_read().await.unwrap();
        repo::testing::counts(&mut tx, id).await.unwrap()
    }
}

db_test! {
    async fn what_changed_is_looked_at_once(db: Db) {
        let site = Site::new(&db).await;
        site.add_film("ebb", &["Ebb/Ebb.mkv"]).await;
        site.add_film("tide", &["Tide/Tide.mkv"]).await;
        site.add_show("show", "Tide").await;
        for name in ["Tide/Tide.mkv", "Tide/poster.jpg", "Tide/fanart.jpg", "Tide/Tide.en.srt", "Ebb/Ebb.mkv", "Ebb/poster.jpg"] {
            site.write(name, b"x");
        }
        assert_eq!(site.app.look_at_changes().await.unwrap(), 0, "nothing changed");
        assert_eq!(site.counts("tide").await, (0, 0));
        site.changes("Tide", true);
        site.changes("Tide", false);
        assert_eq!(site.app.look_at_changes().await.unwrap(), 2, "a film and a show, once each");
        assert_eq!(site.counts("tide").await, (2, 1));
        assert_eq!(site.counts("ebb").await, (0, 0), "nobody said that it changed");
        assert!(site.subjects.changes.lock().unwrap().is_empty());
        // A look again changes nothing; one where files went takes them away.
        site.changes("Tide", false);
        site.app.look_at_changes().await.unwrap();
        assert_eq!(site.counts("tide").await, (2, 1));
        fs::remove_file(site.root.join("media/Tide/Tide.en.srt")).unwrap();
        fs::remove_file(site.root.join("media/Tide/fanart.jpg")).unwrap();
        site.changes("Tide", false);
        site.app.look_at_changes().await.unwrap();
        assert_eq!(site.counts("tide").await, (1, 0));
        // A disk that is away takes nothing away, whether its directories are left or not.
        fs::rename(site.root.join("media"), site.root.join("elsewhere")).unwrap();
        for is_left in [false, true] {
            if is_left {
                fs::create_dir_all(site.root.join("media/Tide")).unwrap();
            }
            site.changes("Tide", true);
            site.app.look_at_changes().await.unwrap();
            assert_eq!(site.counts("tide").await, (1, 0), "{is_left}");
        }
    }

    async fn an_owner_that_is_gone_keeps_no_other_from_being_stored(db: Db) {
        let site = Site::new(&db).await;
        for id in ["a", "b", "c"] {
            site.add_film(id, &[&format!("{id}/{id}.mkv")]).await;
            site.write(&format!("{id}/poster.jpg"), b"x");
        }
        let mut tx = db.begin_write().await.unwrap();
        repo::testing::forget_item(&mut tx, "b").await.unwrap();
        tx.commit().await.unwrap();
        for id in ["a", "b", "c"] {
            site.changes(id, false);
        }
        assert_eq!(site.app.look_at_changes().await.unwrap(), 3);
        assert_eq!((site.counts("a").await, site.counts("c").await), ((1, 0), (1, 0)));
        assert!(site.subjects.changes.lock().unwrap().is_empty());
    }

    async fn very_many_films_in_folders_of_a_folder_are_not_looked_at_for_each_that_comes(db: Db) {
        const MANY: usize = 260;
        let site = Site::new(&db).await;
        let mut tx = db.begin_write().await.unwrap();
        repo::testing::add_directory(&mut tx, "d Films").await.unwrap();
        tx.commit().await.unwrap();
        let film = async |number: usize| {
            let id = format!("film {number:03}");
            site.add_film(&id, &[&format!("Films/{number}/Film.mkv")]).await;
            for name in ["Film.mkv", "poster.jpg"] {
                site.write(&format!("Films/{number}/{name}"), b"x");
            }
        };
        for number in 0..MANY {
            film(number).await;
        }
        let look = async || {
            site.changes("Films", true);
            site.app.look_at_changes().await.unwrap()
        };
        assert_eq!(look().await, MANY);
        film(MANY).await;
        assert_eq!(look().await, 0, "it is one of its own folder");
        site.changes(&format!("Films/{MANY}"), true);
        assert_eq!(site.app.look_at_changes().await.unwrap(), 1);
        assert_eq!((site.counts("film 000").await, site.counts("film 260").await), ((1, 0), (1, 0)));
        // A picture of all of them.
        site.write("Films/fanart.jpg", b"x");
        assert_eq!((look().await, look().await), (MANY + 1, 0));
        assert_eq!((site.counts("film 000").await, site.counts("film 260").await), ((2, 0), (2, 0)));
        fs::remove_file(site.root.join("media/Films/fanart.jpg")).unwrap();
        assert_eq!(look().await, MANY + 1);
        assert_eq!(site.counts("film 260").await, (1, 0));
        // What lies right in the folder is looked at in any case.
        site.add_film("loose", &["Films/Loose.mkv"]).await;
        site.write("Films/Loose.en.srt", b"x");
        assert_eq!((look().await, site.counts("loose").await), (1, (0, 1)));
    }

    async fn lists_are_told_of_posters_and_of_subtitles(db: Db) {
        let site = Site::new(&db).await;
        site.add_film("film", &["Tide/Tide.mkv"]).await;
        site.add_show("show", "Show").await;
        for name in ["Tide/poster.jpg", "Tide/fanart.jpg", "Tide/Tide.fr.srt", "Show/poster.jpg", "Show/season01-poster.jpg"] {
            site.write(name, b"x");
        }
        site.changes("Tide", true);
        site.changes("Show", true);
        site.app.look_at_changes().await.unwrap();
        let known: &dyn MediaPictures = &*site.app;
        let posters = known.list_posters(&["film".to_owned(), "nobody".to_owned()]).await.unwrap();
        assert_eq!(posters.len(), 1, "{posters:?}");
        assert_eq!((posters[0].kind, posters[0].item_id.as_deref(), posters[0].is_selected), ("poster", Some("film"), true));
        assert_eq!(posters[0].lies, PictureLies::Beside("Tide/poster.jpg".to_owned()));
        let kinds = |pictures: Vec<qm_ports::beside::KnownPicture>| -> Vec<(&'static str, Option<i64>)> {
            pictures.iter().map(|picture| (picture.kind, picture.season)).collect()
        };
        assert_eq!(kinds(known.list_item_pictures("film").await.unwrap()), [("fanart", None), ("poster", None)]);
        assert_eq!(kinds(known.list_show_posters(&["show".to_owned()]).await.unwrap()), [("poster", None), ("season_poster", Some(1))]);
        assert_eq!(kinds(known.list_show_pictures("show").await.unwrap()), [("poster", None), ("season_poster", Some(1))]);
        assert_eq!(known.list_posters(&[]).await.unwrap(), []);

        // A track in the file stands among the files beside it.
        site.subjects.items.lock().unwrap()[0].tracks = vec![SubjectTrack {
            file_id: "f".to_owned(),
            place: "Tide/Tide.mkv".to_owned(),
            number: 0,
            language: Some("eng".to_owned()),
            title: None,
            forced: false,
            sdh: true,
            by_default: false,
            found_at: Timestamp::from_ms(7),
        }];
        let told = known.list_subtitles("film").await.unwrap();
        let told: Vec<(&str, &str)> = told.iter().map(|one| (&*one.language, one.source)).collect();
        assert_eq!(told, [("en", "embedded"), ("fr", "sidecar")]);
        assert_eq!(known.list_subtitles("nobody").await.unwrap(), []);
        let list = site.ask(200, "GET", "/items/film/subtitles", None).await;
        assert_eq!((&list[0]["id"], &list[0]["source"], &list[0]["sdh"]), (&json!("f:0"), &json!("embedded"), &json!(true)));
        assert_eq!(list[0]["path"], site.root.join("media/Tide/Tide.mkv").to_str().unwrap());
        let missing = site.ask(200, "GET", "/items/film/subtitles/missing?preferred=en,de", None).await;
        assert_eq!(missing, json!({ "itemId": "film", "present": ["en", "fr"], "missing": ["de"], "hasAny": true }));
    }
}
