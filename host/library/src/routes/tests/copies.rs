//! Extras, versions and parts, as a client sees them.

use qm_db::{Db, db_test};
use qm_media::model::library::{Kind, MediaLibrary};
use qm_media::model::series::Key;
use serde_json::{Value, json};

use super::Site;
use super::bulk::{ids, shelf};
use crate::testing::House;

/// Values of a list, of each entry one field.
fn values_of(list: &Value, field: &str) -> Vec<Value> {
    let list = list.as_array().unwrap();
    list.iter().map(|entry| entry[field].clone()).collect()
}

impl Site {
    async fn only_item(&self) -> Value {
        let page = self.get("/items").await;
        assert_eq!(page["total"], 1, "{page}");
        self.get(&format!("/items/{}", page["items"][0]["id"].as_str().unwrap()))
            .await
    }

    /// The show of this title, with all that is known of it.
    pub(super) async fn show_of(&self, title: &str) -> Value {
        let key = Key::Folder(self.path(&format!("tv/{title}")));
        let show = self.get(&format!("/shows/by-key?key={}", key.text())).await;
        self.get(&format!("/shows/{}", show["id"].as_str().unwrap()))
            .await
    }

    fn stands(&self, path: &str) -> bool {
        std::fs::symlink_metadata(self.path(path)).is_ok()
    }
}

async fn scanned(house: &House, library: &MediaLibrary) -> Value {
    let (status, done) = house.scans(library).await;
    assert!(status.starts_with("completed"), "{status} {done}");
    done
}

db_test! {
    async fn extras_are_no_films_and_shown_with_theirs(db: Db) {
        let files = [
            "films/Amber Ox (2013)/Amber Ox (2013).mkv", "films/Amber Ox (2013)/Amber Ox (2013)-trailer.mkv",
            "films/Amber Ox (2013)/Featurettes/Making.mkv", "films/Amber Ox (2013)/sample.mkv",
            "films/Amber Ox (2013)/theme.mp3", "films/Boat (2001).mkv", "films/Boat (2001)-trailer.mkv", "films/Cat (2002).mkv",
            "tv/Alder/Season 1/Alder S01E01.mkv", "tv/Alder/Season 1/Extras/Words.mkv", "tv/Alder/trailer.mkv",
        ];
        let (site, made) = shelf(&db, &files, &[("films", Kind::Movie), ("tv", Kind::Tv)]).await;
        let known = ids(&site).await;
        assert_eq!(known.len(), 4, "{known:?}");
        for (name, count) in [("total", 4)] {
            assert_eq!(site.get("/health").await[name], count);
        }
        assert_eq!(site.get("/items?search=trailer").await["total"], 0);
        let ox = site.get(&format!("/items/{}", known["films/Amber Ox (2013)/Amber Ox (2013).mkv"])).await;
        assert_eq!(values_of(&ox["extras"], "type"), ["featurette", "sample", "trailer"], "{ox}");
        assert_eq!(ox["extras"][2], json!({
            "id": ox["extras"][2]["id"], "type": "trailer", "name": "Amber Ox (2013)-trailer.mkv", "size": "5", "season": null,
            "path": site.path("films/Amber Ox (2013)/Amber Ox (2013)-trailer.mkv"),
        }));
        let boat = site.get(&format!("/items/{}", known["films/Boat (2001).mkv"])).await;
        assert_eq!(values_of(&boat["extras"], "name"), ["Boat (2001)-trailer.mkv"]);
        let cat = site.get(&format!("/items/{}", known["films/Cat (2002).mkv"])).await;
        assert_eq!(cat["extras"], json!([]), "that of another film");
        let show = site.show_of("Alder").await;
        assert_eq!(values_of(&show["extras"], "type"), ["extra", "trailer"], "{show}");
        assert_eq!(values_of(&show["extras"], "season"), [json!(1), Value::Null]);
        assert_eq!(show["show"]["episodeCount"], 1);
        // What is gone is shown no more, what changed is.
        std::fs::remove_file(site.path("films/Amber Ox (2013)/sample.mkv")).unwrap();
        site.house.file("films/Amber Ox (2013)/Amber Ox (2013)-trailer.mkv", 9);
        let done = scanned(&site.house, &made[0]).await;
        assert_eq!((&done["extras"], &done["skipped"], &done["scanned"]), (&json!(3), &json!(3), &json!(3)), "{done}");
        let ox = site.get(&format!("/items/{}", known["films/Amber Ox (2013)/Amber Ox (2013).mkv"])).await;
        assert_eq!(values_of(&ox["extras"], "type"), ["featurette", "trailer"]);
        assert_eq!(ox["extras"][1]["size"], "9");
        site.house.stops().await;
    }

    async fn versions_and_parts_are_one_item(db: Db) {
        let files = [
            "films/Amber Ox (2013)/Amber Ox (2013) - 1080p.mkv", "films/Amber Ox (2013)/Amber Ox (2013) - Director's Cut.mkv",
        ];
        let (site, made) = shelf(&db, &files, &[("films", Kind::Movie)]).await;
        let ox = site.only_item().await;
        assert_eq!((&ox["title"], &ox["year"]), (&json!("Amber Ox"), &json!(2013)));
        assert_eq!(ox["path"], site.path(files[0]));
        assert_eq!(values_of(&ox["versions"], "label"), ["1080p", "Director's Cut"], "{ox}");
        assert_eq!(values_of(&ox["versions"], "path"), [site.path(files[0]), site.path(files[1])]);
        assert_eq!((&ox["parts"], ox["files"].as_array().unwrap().len()), (&json!([]), 2));
        assert_eq!(site.get("/dashboard").await["libraries"][0]["itemCount"], 1);
        // The first one goes: the other one takes its place, and the item stays.
        let (status, _) = site.admin("POST", "/items/bulk/lock", Some(json!({ "itemIds": [ox["id"]] }))).await;
        assert_eq!(status, 201);
        std::fs::remove_file(site.path(files[0])).unwrap();
        scanned(&site.house, &made[0]).await;
        let now = site.only_item().await;
        assert_eq!((&now["id"], &now["locked"], &now["path"]), (&ox["id"], &json!(true), &json!(site.path(files[1]))));
        assert_eq!(values_of(&now["versions"], "label"), ["Director's Cut"]);
        site.house.file("films/Amber Ox (2013)/Amber.Ox.2013.2160p.WEB-DL.x265-GRP.mkv", 7);
        scanned(&site.house, &made[0]).await;
        let now = site.only_item().await;
        assert_eq!(values_of(&now["versions"], "label"), ["Director's Cut", "2160p WEB-DL"]);
        assert_eq!(values_of(&now["versions"], "resolution"), [Value::Null, json!("2160p")]);
        // All of it goes when its folder does.
        std::fs::remove_dir_all(site.path("films/Amber Ox (2013)")).unwrap();
        site.house.file("films/Boat (2001)/CD2/Boat.avi", 1);
        site.house.file("films/Boat (2001)/CD1/Boat.avi", 1);
        scanned(&site.house, &made[0]).await;
        let boat = site.only_item().await;
        assert_eq!(values_of(&boat["parts"], "number"), [1, 2], "{boat}");
        assert_eq!(values_of(&boat["parts"], "path"), [site.path("films/Boat (2001)/CD1/Boat.avi"), site.path("films/Boat (2001)/CD2/Boat.avi")]);
        assert_eq!(values_of(&boat["versions"], "path").len(), 1, "parts are no versions");
        std::fs::remove_dir_all(site.path("films/Boat (2001)/CD1")).unwrap();
        scanned(&site.house, &made[0]).await;
        let rest = site.only_item().await;
        assert_eq!((&rest["id"], &rest["path"]), (&boat["id"], &json!(site.path("films/Boat (2001)/CD2/Boat.avi"))));
        site.house.stops().await;
    }

    async fn episodes_have_versions_and_parts(db: Db) {
        let files = [
            "tv/Alder/Season 1/Alder S01E01-part1.mkv", "tv/Alder/Season 1/Alder S01E01-part2.mkv",
            "tv/Alder/Season 1/Alder S01E02 - 1080p.mkv", "tv/Alder/Season 1/Alder S01E02 - 720p.mkv",
        ];
        let (site, _) = shelf(&db, &files, &[("tv", Kind::Tv)]).await;
        let page = site.get("/items").await;
        assert_eq!(page["total"], 2, "{page}");
        let mut items = page["items"].as_array().unwrap().clone();
        items.sort_by_key(|item| item["episode"].as_i64());
        assert_eq!(values_of(&items[0]["parts"], "number"), [1, 2]);
        assert_eq!(values_of(&items[1]["versions"], "label"), ["1080p", "720p"]);
        assert_eq!(site.show_of("Alder").await["show"]["episodeCount"], 2);
        site.house.stops().await;
    }

    async fn an_item_is_deleted_and_moved_with_all_its_files(db: Db) {
        let files = [
            "films/Amber Ox (2013)/Amber Ox (2013) - 1080p.mkv", "films/Amber Ox (2013)/Amber Ox (2013) - 4K.mkv",
            "films/Amber Ox (2013)/Trailers/one.mkv", "films/Boat (2001) cd1.mkv", "films/Boat (2001) cd2.mkv",
            "films/Boat (2001)-trailer.mkv", "films/Cat (2002) - 4K.mkv", "films/Cat (2002) - 720p.mkv", "films/Cat (2002)-trailer.mkv",
            "films/Dog (2003)/Dog (2003) - 4K.mkv", "films/Dog (2003)/Dog (2003) - 720p.mkv", "films/Dog (2003)/extras/a.mkv",
            "films/trailer.mkv", "other/kept.txt",
        ];
        let (site, made) = shelf(&db, &files, &[("films", Kind::Movie), ("other", Kind::Movie)]).await;
        let known = ids(&site).await;
        assert_eq!(known.len(), 4, "{known:?}");
        let id = |path: &str| known[&format!("films/{path}")].clone();
        let chosen = [id("Amber Ox (2013)/Amber Ox (2013) - 1080p.mkv"), id("Boat (2001) cd1.mkv")];
        let (status, done) = site.order("delete-files", json!({ "itemIds": chosen })).await;
        assert_eq!((&*status, &done["removedFiles"]), ("completed", &json!(6)), "{done}");
        for gone in ["films/Amber Ox (2013)", "films/Boat (2001) cd1.mkv", "films/Boat (2001) cd2.mkv", "films/Boat (2001)-trailer.mkv"] {
            assert!(!site.stands(gone), "{gone}");
        }
        assert!(site.stands("films/trailer.mkv") && site.stands("films/Cat (2002)-trailer.mkv"), "those of others stay");
        let moved = [id("Cat (2002) - 4K.mkv"), id("Dog (2003)/Dog (2003) - 4K.mkv")];
        let body = json!({ "itemIds": moved, "targetLibraryId": made[1].id });
        let (status, done) = site.order("move", body).await;
        assert_eq!((&*status, &done["completed"]), ("completed", &json!(2)), "{done}");
        for there in [
            "other/Cat (2002) - 4K.mkv", "other/Cat (2002) - 720p.mkv", "other/Cat (2002)-trailer.mkv",
            "other/Dog (2003)/Dog (2003) - 720p.mkv", "other/Dog (2003)/extras/a.mkv",
        ] {
            assert!(site.stands(there), "{there}");
        }
        for is_scanned in [false, true] {
            if is_scanned {
                scanned(&site.house, &made[0]).await;
                scanned(&site.house, &made[1]).await;
            }
            let page = site.get("/items").await;
            assert_eq!(page["total"], 2, "{is_scanned} {page}");
            for (item, folder) in moved.iter().zip(["other/Cat (2002)", "other/Dog (2003)/Dog (2003)"]) {
                let item = site.get(&format!("/items/{item}")).await;
                let paths = ["4K", "720p"].map(|label| site.path(&format!("{folder} - {label}.mkv")));
                assert_eq!(values_of(&item["versions"], "path"), paths, "{is_scanned} {item}");
                assert_eq!(item["extras"].as_array().unwrap().len(), usize::from(is_scanned || folder.contains("Dog")), "{item}");
            }
        }
        site.house.stops().await;
    }

    async fn what_two_items_were_becomes_one(db: Db) {
        let files = ["films/Amber Ox (2013)/Amber Ox (2013) - 1080p.mkv", "films/Boat (2001)/Boat (2001).mkv"];
        let (site, made) = shelf(&db, &files, &[("films", Kind::Movie)]).await;
        let known = ids(&site).await;
        // As an index of before it was known what files have in common.
        let mut tx = db.begin_write().await.unwrap();
        crate::repo::testing::forget_keys(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
        site.house.file("films/Amber Ox (2013)/Amber Ox (2013) - 4K.mkv", 3);
        scanned(&site.house, &made[0]).await;
        let page = site.get("/items").await;
        assert_eq!(page["total"], 2, "{page}");
        let ox = site.get(&format!("/items/{}", known[files[0]])).await;
        assert_eq!(values_of(&ox["versions"], "label"), ["1080p", "4K"]);
        site.house.stops().await;
    }
}
