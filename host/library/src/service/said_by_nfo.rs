//! Shows that say which series they are, over real directories.

use std::os::unix::fs::symlink;

use qm_db::{Db, db_test};
use qm_kernel::PageQuery;
use qm_media::model::details::IdentityEdit;
use qm_media::model::item::Filter;
use qm_media::model::library::{Kind, MediaLibrary};
use qm_media::model::show::Show;
use qm_media::repo;
use qm_media_names::nfo;
use rustix::fs::{CWD, Mode, mkfifoat};

use crate::testing::House;

const WIRE: &str = "The Wire (2002)/The.Wire.S01E01.mkv";

fn says(house: &House, folder: &str, id: &str) {
    let text = format!("<tvshow><title>Any</title><uniqueid type=\"imdb\">{id}</uniqueid></tvshow>");
    writes(house, folder, text.as_bytes());
}

fn writes(house: &House, folder: &str, text: &[u8]) {
    let folder = house.root.join("tv").join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("tvshow.nfo"), text).unwrap();
}

async fn tv(house: &House) -> MediaLibrary {
    house.file(format!("tv/{WIRE}"), 1);
    let (tv, job) = house.library("tv", Kind::Tv).await;
    house.ended(&job).await;
    tv
}

async fn shows(db: &Db, library: &MediaLibrary) -> Vec<Show> {
    let mut tx = db.begin_read().await.unwrap();
    repo::shows::of_library(&mut tx, &library.id).await.unwrap()
}

/// Each show with its episodes and the id it is taken for.
async fn list_shows_with_ids(db: &Db, library: &MediaLibrary) -> Vec<String> {
    let told = |show: Show| {
        let id = show.titledb_id.unwrap_or_default();
        format!("{} {} {id}", show.place, show.episode_count)
    };
    shows(db, library).await.into_iter().map(told).collect()
}

/// The series of each item, in some order.
async fn series(house: &House) -> Vec<Option<String>> {
    let page = PageQuery {
        page: 1,
        page_size: 99,
    };
    let (items, _) = house.app.catalogue.items(&Filter::default(), page).await.unwrap();
    let mut series: Vec<_> = items
        .into_iter()
        .map(|(item, ..)| item.series_titledb_id)
        .collect();
    series.sort();
    series
}

fn some(ids: &[&str]) -> Vec<Option<String>> {
    ids.iter().map(|id| Some((*id).to_owned())).collect()
}

db_test! {
    async fn a_folder_says_which_series_it_is(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        says(&house, "The Wire (2002)", "tt0306414");
        // One without episodes is a show too, where it says which; files and deeper folders are none.
        says(&house, "Soon", "0000077");
        says(&house, "Soon/Season 1", "tt0000099");
        writes(&house, "Odd", b"<tvshow><title>Odd</title></tvshow>");
        says(&house, ".", "tt0000098");
        let tv = tv(&house).await;
        let both = ["Soon 0 tt0000077", "The Wire (2002) 1 tt0306414"];
        assert_eq!(list_shows_with_ids(&db, &tv).await, both);
        assert_eq!(series(&house).await, some(&["tt0306414"]));
        let (_, done) = house.scans(&tv).await;
        assert_eq!((done["shows"].as_u64(), list_shows_with_ids(&db, &tv).await), (Some(2), both.map(str::to_owned).to_vec()), "{done}");
        // What comes later belongs to it as well.
        house.file("tv/The Wire (2002)/Season 2/The.Wire.S02E01.mkv", 1);
        house.scans(&tv).await;
        assert_eq!(series(&house).await, some(&["tt0306414", "tt0306414"]));
        // It is another one.
        says(&house, "The Wire (2002)", "tt0000011");
        house.scans(&tv).await;
        assert_eq!(list_shows_with_ids(&db, &tv).await[1], "The Wire (2002) 2 tt0000011");
        assert_eq!(series(&house).await, some(&["tt0000011", "tt0000011"]));
        // A show without episodes is one as long as its folder says so.
        std::fs::remove_file(house.root.join("tv/Soon/tvshow.nfo")).unwrap();
        house.scans(&tv).await;
        assert_eq!(list_shows_with_ids(&db, &tv).await, ["The Wire (2002) 2 tt0000011"]);
        house.stops().await;
    }

    async fn people_and_what_lies_in_it_come_first(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        let tv = tv(&house).await;
        let id = shows(&db, &tv).await.remove(0).id;
        let said = |id: Option<&str>| IdentityEdit { titledb_id: Some(id.map(str::to_owned)), provider_a_id: None, provider_b_id: None };
        house.app.identify.identify_show(house.caller(), &id, said(Some("tt0000001"))).await.unwrap();
        says(&house, "The Wire (2002)", "tt0306414");
        house.scans(&tv).await;
        assert_eq!((list_shows_with_ids(&db, &tv).await, series(&house).await), (vec!["The Wire (2002) 1 tt0000001".to_owned()], some(&["tt0000001"])));
        // Nobody is told twice: what people took away stays away, until the file says something else.
        house.app.identify.identify_show(house.caller(), &id, said(None)).await.unwrap();
        house.scans(&tv).await;
        assert_eq!(list_shows_with_ids(&db, &tv).await, ["The Wire (2002) 1 "]);
        says(&house, "The Wire (2002)", "tt0000012");
        house.scans(&tv).await;
        assert_eq!(list_shows_with_ids(&db, &tv).await, ["The Wire (2002) 1 tt0000012"]);
        // An item that is known to belong to a series says more than the file.
        house.file("tv/Other/Other.S01E01.mkv", 1);
        house.scans(&tv).await;
        let other = shows(&db, &tv).await.into_iter().find(|show| show.place == "Other").unwrap();
        let mut tx = db.begin_write().await.unwrap();
        repo::shows::join_series(&mut tx, &other, "tt0000055", None, other.updated_at).await.unwrap();
        tx.commit().await.unwrap();
        says(&house, "Other", "tt0000056");
        house.scans(&tv).await;
        assert_eq!(list_shows_with_ids(&db, &tv).await[0], "Other 1 tt0000055");
        house.stops().await;
    }

    async fn a_disk_that_is_gone_takes_no_show_along(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        says(&house, "Soon", "tt0000077");
        let tv = tv(&house).await;
        let both = list_shows_with_ids(&db, &tv).await;
        assert_eq!(both.len(), 2);
        let (here, away) = (house.root.join("tv"), house.root.join("away"));
        std::fs::rename(&here, &away).unwrap();
        std::fs::create_dir(&here).unwrap();
        house.scans(&tv).await;
        assert_eq!(list_shows_with_ids(&db, &tv).await, both);
        std::fs::remove_dir(&here).unwrap();
        house.scans(&tv).await;
        assert_eq!(list_shows_with_ids(&db, &tv).await, both);
        std::fs::rename(&away, &here).unwrap();
        house.scans(&tv).await;
        assert_eq!(list_shows_with_ids(&db, &tv).await, both);
        house.stops().await;
    }

    async fn what_is_no_file_of_its_own_says_nothing(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        let good = "<tvshow><imdbid>tt0306414</imdbid></tvshow>";
        std::fs::write(house.root.join("outside.nfo"), good).unwrap();
        for folder in ["Link", "Pipe", "Folder"] {
            house.file(format!("tv/{folder}/{folder}.S01E01.mkv"), 1);
        }
        let at = |path: &str| house.root.join("tv").join(path);
        symlink(house.root.join("outside.nfo"), at("Link/tvshow.nfo")).unwrap();
        mkfifoat(CWD, at("Pipe/tvshow.nfo"), Mode::RUSR).unwrap();
        std::fs::create_dir(at("Folder/tvshow.nfo")).unwrap();
        let most = usize::try_from(nfo::MOST).unwrap();
        let long = |bytes: usize| format!("{good}{}", " ".repeat(bytes - good.len()));
        writes(&house, "Large", long(most + 1).as_bytes());
        writes(&house, "Fits", long(most).as_bytes());
        writes(&house, "Page", b"<!DOCTYPE html><html><imdbid>tt0306414</imdbid></html>");
        let tv = tv(&house).await;
        let expected = ["Fits 0 tt0306414", "Folder 1 ", "Link 1 ", "Pipe 1 ", "The Wire (2002) 1 "];
        assert_eq!(list_shows_with_ids(&db, &tv).await, expected);
        let (status, _) = house.scans(&tv).await;
        assert_eq!((&*status, list_shows_with_ids(&db, &tv).await), ("completed", expected.map(str::to_owned).to_vec()));
        house.stops().await;
    }

    async fn films_have_no_shows(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        std::fs::create_dir_all(house.root.join("films/Soon")).unwrap();
        std::fs::write(house.root.join("films/Soon/tvshow.nfo"), "<tvshow><imdbid>tt0306414</imdbid></tvshow>").unwrap();
        house.file("films/Tide.2003.mkv", 1);
        let (films, job) = house.library("films", Kind::Movie).await;
        house.ended(&job).await;
        assert!(list_shows_with_ids(&db, &films).await.is_empty());
        house.stops().await;
    }
}
