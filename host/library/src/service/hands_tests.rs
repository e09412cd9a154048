//! Actions of plugins on media.

use std::time::Duration;

use qm_db::{Db, db_test};
use qm_media::model::library::Kind;
use qm_media::service::Pace;
use qm_ports::action::{ActionError, MediaHands, MediaPlace, MediaPlayer, TorrentRef};
use qm_ports::library::Owned;
use qm_ports::media_server::MediaServerError;
use serde_json::json;

use crate::testing::House;

fn torrent() -> TorrentRef {
    TorrentRef {
        engine_id: "e".to_owned(),
        hash: "h".to_owned(),
    }
}

/// As plugins reach it.
fn hands(house: &House) -> &dyn MediaHands {
    &*house.app.orders
}

/// An engine lists the torrent, with its data here.
fn lies(house: &House, place: &str) {
    let path = house.root.join(place).to_str().unwrap().to_owned();
    let listed = json!({ "hash": "h", "name": "n", "contentPath": path });
    let listed = listed.as_object().unwrap().clone();
    house.around.listed.lock().unwrap().insert("h".to_owned(), listed);
}

/// The names of files.
fn names(owned: &[Owned]) -> Vec<&str> {
    let mut names: Vec<&str> = owned
        .iter()
        .map(|owned| owned.path.rsplit('/').next().unwrap())
        .collect();
    names.sort_unstable();
    names
}

db_test! {
    async fn the_items_of_a_torrent_are_those_that_lie_where_it_does(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        for file in [
            "tv/Wire/The.Wire.S01E01.1080p.WEB-DL.x264-GRP.mkv", "tv/Wire/The.Wire.S01E02.mkv", "tv/Wire 2/The.Wire.S02E01.mkv",
            "tv/Alone.S01E01.mkv",
        ] {
            house.file(file, 7);
        }
        let (tv, first) = house.library("tv", Kind::Tv).await;
        house.ended(&first).await;
        let items = async |after: Option<&str>, most| hands(&house).items(&torrent(), after, most).await;
        assert_eq!(items(None, 9).await, Err(ActionError::NotFound("Torrent not found".to_owned())));
        for (place, expected) in [
            ("tv/Wire", vec!["The.Wire.S01E01.1080p.WEB-DL.x264-GRP.mkv", "The.Wire.S01E02.mkv"]),
            ("tv/Alone.S01E01.mkv", vec!["Alone.S01E01.mkv"]),
            ("tv/Wir", vec![]), ("elsewhere", vec![]), ("tv/../tv/Wire", vec![]),
        ] {
            lies(&house, place);
            assert_eq!(names(&items(None, 9).await.unwrap()), expected, "{place}");
        }
        lies(&house, "tv/Wire");
        let all = items(None, 9).await.unwrap();
        assert!(all.is_sorted_by_key(|owned| &owned.item_id));
        let one = items(None, 1).await.unwrap();
        assert_eq!(one, all[..1]);
        assert_eq!(items(Some(&one[0].item_id), 9).await.unwrap(), all[1..]);
        assert_eq!(items(Some(&all[1].item_id), 9).await.unwrap(), []);
        let first = all.iter().find(|owned| owned.episode == Some(1)).unwrap();
        assert_eq!((&first.library_id, first.size, first.season), (&tv.id, 7, Some(1)));
        assert_eq!(first.quality.as_deref(), Some("WEB-DL 1080p"));
        // Of one whose engine says no path of the data.
        let listed = json!({ "name": "Wire", "savePath": house.root.join("tv/"), "contentPath": "" });
        house.around.listed.lock().unwrap().insert("h".to_owned(), listed.as_object().unwrap().clone());
        assert_eq!(items(None, 9).await.unwrap(), all);
        house.around.listed.lock().unwrap().insert("h".to_owned(), serde_json::Map::new());
        assert_eq!(items(None, 9).await.unwrap(), []);
        house.stops().await;
    }

    async fn libraries_and_servers_are_told_scanned_and_refreshed(db: Db) {
        let pace = Pace { lingers: Duration::from_millis(300), ..Pace::default() };
        let house = House::paced(&db, pace);
        house.file("films/Tide (2003)/Tide.2003.mkv", 1);
        let (films, _) = house.library("films", Kind::Movie).await;
        house.library("tv", Kind::Tv).await;
        let app = hands(&house);
        let place = MediaPlace {
            id: films.id.clone(), name: films.name.clone(), kind: "movie".to_owned(), path: films.path.clone(), is_enabled: true,
        };
        assert_eq!(app.libraries(1).await.unwrap(), [place]);
        assert_eq!(app.libraries(9).await.unwrap().len(), 2);
        let off = MediaServerError::Unreachable("it is off".to_owned());
        house.around.serves("a", true, None);
        house.around.serves("b", false, Some(off));
        let player = MediaPlayer { id: "a".to_owned(), name: "the a".to_owned(), kind: "plex".to_owned(), is_enabled: true };
        assert_eq!(app.servers(1).await.unwrap(), [player]);
        let servers = app.servers(9).await.unwrap();
        assert_eq!(servers.iter().map(|server| server.is_enabled).collect::<Vec<_>>(), [true, false]);
        assert_eq!(app.refresh("a").await, Ok(()));
        assert_eq!(app.refresh("b").await, Err(ActionError::Unreachable("it is off".to_owned())));
        assert_eq!(*house.around.asked.lock().unwrap(), ["a", "b"]);
        // Nobody works yet: what was asked for goes on when somebody does.
        let late = Err(ActionError::Timeout("The scan takes long: it goes on by itself".to_owned()));
        assert_eq!(app.scan(&films.id).await, late);
        assert_eq!(app.scan("nowhere").await, Err(ActionError::NotFound("Library not found".to_owned())));
        house.starts_jobs().await;
        house.all_ended().await;
        assert_eq!(house.index(&films).await.len(), 1);
        house.stops().await;
    }

    async fn items_are_read_again_and_asked_about(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        house.file("films/Tide (2003)/Tide.2003.mkv", 1);
        let (films, first) = house.library("films", Kind::Movie).await;
        house.ended(&first).await;
        assert_eq!(hands(&house).scan(&films.id).await, Ok(()));
        lies(&house, "films");
        let item = async || hands(&house).items(&torrent(), None, 9).await.unwrap().remove(0);
        let id = item().await.item_id;
        house.app.identify.unmatch_item(house.caller(), &id).await.unwrap();
        assert!(!item().await.is_known);
        assert_eq!(hands(&house).identify(&id).await, Ok(()));
        assert!(item().await.is_known);
        assert_eq!(hands(&house).fetch_metadata(&id).await, Ok(()));
        let unknown = Err(ActionError::NotFound("Item not found".to_owned()));
        assert_eq!(hands(&house).identify("nowhere").await, unknown);
        assert_eq!(hands(&house).fetch_metadata("nowhere").await, unknown);
        house.app.identify.lock_item(house.caller(), &id, true).await.unwrap();
        let locked = Err(ActionError::Rejected("Item is locked: unlock it first".to_owned()));
        assert_eq!(hands(&house).identify(&id).await, locked);
        house.stops().await;
    }
}
