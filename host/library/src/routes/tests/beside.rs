//! Pictures, subtitles and notes in the answers of the library, as the areas that keep them tell it.

use std::sync::Arc;

use async_trait::async_trait;
use qm_db::{Db, Statement, db_test};
use qm_kernel::Timestamp;
use qm_media::model::library::Kind;
use qm_ports::beside::{
    BesideUnread, KnownFile, KnownNote, KnownPicture, KnownSubtitle, MediaGroups, MediaNotesWritten,
    MediaPictures, PictureLies,
};
use serde_json::json;

use super::bulk::{ids, shelf};
use crate::repo::testing::{
    FIR_POSTER, NO_POSTER, NO_SUBTITLE, POSTER, SUBTITLE, TRACKED, UNTRACKED, change,
};

/// Areas that tell the same of every item and show.
struct Told;

fn picture(item: Option<&str>, show: Option<&str>, season: Option<i64>, kind: &'static str) -> KnownPicture {
    KnownPicture {
        id: format!("{kind} {season:?}"),
        item_id: item.map(str::to_owned),
        show_id: show.map(str::to_owned),
        season,
        kind,
        source: "local",
        is_selected: true,
        url: None,
        lies: PictureLies::Beside("a/b.jpg".to_owned()),
        width: None,
        height: None,
        created_at: Timestamp::from_ms(0),
    }
}

#[async_trait]
impl MediaPictures for Told {
    async fn list_posters(&self, items: &[String]) -> Result<Vec<KnownPicture>, BesideUnread> {
        let posters = items.iter().map(|id| picture(Some(id), None, None, "poster"));
        Ok(posters.collect())
    }

    async fn list_show_posters(&self, shows: &[String]) -> Result<Vec<KnownPicture>, BesideUnread> {
        let posters = shows.iter().flat_map(|id| {
            let season = picture(None, Some(id), Some(2), "season_poster");
            [picture(None, Some(id), None, "poster"), season]
        });
        Ok(posters.collect())
    }

    async fn list_item_pictures(&self, item: &str) -> Result<Vec<KnownPicture>, BesideUnread> {
        Ok(["fanart", "poster"]
            .map(|kind| picture(Some(item), None, None, kind))
            .to_vec())
    }

    async fn list_show_pictures(&self, show: &str) -> Result<Vec<KnownPicture>, BesideUnread> {
        self.list_show_posters(&[show.to_owned()]).await
    }

    async fn list_subtitles(&self, _: &str) -> Result<Vec<KnownSubtitle>, BesideUnread> {
        Ok(vec![KnownSubtitle {
            id: "s".to_owned(),
            place: "a/b.en.srt".to_owned(),
            language: "en".to_owned(),
            forced: false,
            sdh: false,
            by_default: true,
            source: "sidecar",
            created_at: Timestamp::from_ms(0),
        }])
    }

    async fn list_files(&self, items: &[String]) -> Result<Vec<KnownFile>, BesideUnread> {
        let files = items.iter().map(|id| KnownFile {
            id: id.clone(),
            kind: "subtitle",
            place: "nowhere.srt".to_owned(),
        });
        Ok(files.collect())
    }
}

#[async_trait]
impl MediaGroups for Told {
    async fn count_groups(&self) -> Result<i64, BesideUnread> {
        Ok(7)
    }
}

#[async_trait]
impl MediaNotesWritten for Told {
    async fn list_notes(&self, _: &str) -> Result<Vec<KnownNote>, BesideUnread> {
        Ok(vec![KnownNote {
            id: "n".to_owned(),
            kind: "movie",
            place: "a/b.nfo".to_owned(),
            generated_at: Timestamp::from_ms(0),
        }])
    }

    async fn list_files(&self, _: &[String]) -> Result<Vec<KnownFile>, BesideUnread> {
        Ok(Vec::new())
    }
}

/// Changes the rows of an item.
async fn run(db: &Db, statement: Statement, id: &str) {
    let mut tx = db.begin_write().await.unwrap();
    change(&mut tx, statement, id).await.unwrap();
    tx.commit().await.unwrap();
}

db_test! {
    async fn answers_have_what_lies_beside_items_and_shows(db: Db) {
        let files = ["films/Alder.2001.mkv", "films/Birch.2003.mkv", "tv/Elm (2010)/Elm.S01E01.mkv", "tv/Elm (2010)/Elm.S02E01.mkv"];
        let (site, libraries) = shelf(&db, &files, &[("films", Kind::Movie), ("tv", Kind::Tv)]).await;
        let all = ids(&site).await;
        let film = &all[files[0]];
        run(&db, POSTER, film).await;
        let before = site.get("/items?search=alder").await;
        assert_eq!((&before["items"][0]["hasArtwork"], &before["items"][0]["artwork"]), (&json!(true), &json!([])), "nobody keeps pictures yet");
        let told = Arc::new(Told);
        let beside = site.house.app.catalogue.beside();
        beside.add_pictures(&told);
        beside.add_notes(&told);

        let page = site.get("/items?sort=added_asc&mediaType=movie").await;
        let of = |title: &str| page["items"].as_array().unwrap().iter().find(|item| item["title"] == title).unwrap().clone();
        let (alder, birch) = (of("Alder"), of("Birch"));
        assert_eq!((&alder["artwork"][0]["type"], &alder["artwork"][0]["selected"]), (&json!("poster"), &json!(true)));
        let path = site.house.root.join("films/a/b.jpg");
        assert_eq!(alder["artwork"][0]["localPath"], path.to_str().unwrap());
        assert_eq!((&birch["artwork"], &birch["hasArtwork"]), (&json!([]), &json!(false)), "it has no pictures");
        let detail = site.get(&format!("/items/{film}")).await;
        assert_eq!(detail["artwork"].as_array().unwrap().len(), 2);
        let subtitle = &detail["subtitles"][0];
        assert_eq!((&subtitle["language"], &subtitle["default"], &subtitle["itemId"]), (&json!("en"), &json!(true), &json!(film)));
        assert_eq!((&detail["nfoFiles"][0]["type"], &detail["nfoFiles"][0]["itemId"]), (&json!("movie"), &json!(film)));

        let series = site.get("/series").await;
        let elm = &series["items"][0];
        assert_eq!((&elm["poster"]["type"], &elm["poster"]["seasonNumber"]), (&json!("poster"), &json!(null)), "{series}");
        assert!(elm["poster"]["showId"].is_string(), "{elm}");
        let key = elm["key"].as_str().unwrap();
        let episodes = site.get(&format!("/series/episodes?key={key}")).await;
        let types: Vec<_> = episodes["seasons"].as_array().unwrap().iter().map(|season| season["poster"]["type"].clone()).collect();
        assert_eq!(types, ["poster", "season_poster"], "its own, else that of the show");
        let show = site.get(&format!("/shows/by-key?key={key}")).await;
        let show = site.get(&format!("/shows/{}", show["id"].as_str().unwrap())).await;
        assert_eq!(show["artwork"].as_array().unwrap().len(), 2);
        beside.add_groups(&told);
        assert_eq!(site.get("/health").await["duplicateGroups"], 7);
        let library = alder["libraryId"].as_str().unwrap();
        let report = site.get(&format!("/libraries/{library}/consistency")).await;
        assert_eq!((&report["checked"], &report["byKind"]), (&json!(6), &json!({ "subtitle": 2 })), "{report}");
        // An episode that no folder of a show holds stands for its series.
        site.house.file("tv/Fir.S01E01.mkv", 5);
        site.house.scans(&libraries[1]).await;
        let fir = async || site.get("/series?search=fir").await["items"][0].clone();
        assert_eq!(fir().await["poster"], json!(null));
        let all = ids(&site).await;
        run(&db, FIR_POSTER, &all["tv/Fir.S01E01.mkv"]).await;
        assert_eq!(fir().await["poster"]["itemId"], json!(all["tv/Fir.S01E01.mkv"]));
        // Areas that are gone tell nothing.
        drop(told);
        assert_eq!(site.get(&format!("/items/{film}")).await["subtitles"], json!([]));
        site.house.stops().await;
    }

    async fn faults_are_counted_as_rows_come_and_go(db: Db) {
        let files = ["films/Alder.2001.mkv", "films/Birch.2003.mkv"];
        let (site, _) = shelf(&db, &files, &[("films", Kind::Movie)]).await;
        let film = ids(&site).await[files[0]].clone();
        let counts = async || {
            let issues = site.get("/items/issues").await;
            let pages = ["missing_artwork", "missing_subtitles"];
            let mut totals = Vec::new();
            for issue in pages {
                let page = site.get(&format!("/items?issue={issue}")).await;
                assert_eq!(page["total"], issues[issue], "{issue}");
                totals.push(page["total"].as_i64().unwrap());
            }
            let health = site.get("/health").await;
            assert_eq!((&health["missingArtwork"], &health["missingSubtitles"]), (&issues[pages[0]], &issues[pages[1]]));
            (totals[0], totals[1])
        };
        assert_eq!(counts().await, (2, 2));
        run(&db, POSTER, &film).await;
        assert_eq!(counts().await, (1, 2));
        run(&db, SUBTITLE, &film).await;
        assert_eq!(counts().await, (1, 1));
        run(&db, TRACKED, &film).await;
        let table = site.text("POWER_USER", "/items/export.csv").await.2;
        assert!(table.contains(",true,2,") && table.contains(",false,0,"), "{table}");
        run(&db, NO_SUBTITLE, &film).await;
        assert_eq!(counts().await, (1, 1), "the track is there");
        run(&db, UNTRACKED, &film).await;
        run(&db, NO_POSTER, &film).await;
        let issues = site.get("/items/issues").await;
        assert_eq!((&issues["missing_artwork"], &issues["missing_subtitles"]), (&json!(2), &json!(2)));
        site.house.stops().await;
    }
}
