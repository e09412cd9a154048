//! Files that somebody renames beside the service.

use qm_db::{Db, db_test};
use qm_media::model::library::{Kind, MediaLibrary};
use serde_json::{Value, json};

use super::Site;
use super::bulk::{ids, shelf};

async fn scanned(site: &Site, library: &MediaLibrary) {
    let (status, done) = site.house.scans(library).await;
    assert!(status.starts_with("completed"), "{status} {done}");
}

/// Says something of an item.
async fn say(site: &Site, id: &str) {
    let body = json!({ "title": "What people say" });
    let (status, said) = site.admin("PATCH", &format!("/items/{id}"), Some(body)).await;
    assert_eq!(status, 200, "{said}");
    let body = json!({ "itemIds": [id] });
    assert_eq!(site.admin("POST", "/items/bulk/lock", Some(body)).await.0, 201);
}

async fn is_kept(site: &Site, id: &str, path: &str) {
    let item = site.get(&format!("/items/{id}")).await;
    assert_eq!(
        (&item["path"], &item["locked"], &item["title"]),
        (&json!(site.path(path)), &json!(true), &json!("What people say")),
        "{path}: {item}"
    );
}

fn rename(site: &Site, from: &str, to: &str) {
    let to = site.path(to);
    std::fs::create_dir_all(std::path::Path::new(&to).parent().unwrap()).unwrap();
    std::fs::rename(site.path(from), to).unwrap();
}

db_test! {
    async fn a_file_that_is_renamed_keeps_what_was_said(db: Db) {
        let files = ["films/Ox/ox.mkv", "films/Boat (2001)/Boat (2001).mkv", "films/Cat/cat.2002.mkv", "films/Dog (2003)/Dog (2003).mkv"];
        let (site, made) = shelf(&db, &files, &[("films", Kind::Movie)]).await;
        let known = ids(&site).await;
        for id in known.values() {
            say(&site, id).await;
        }
        // By another name, into another folder, with its folder, and copied.
        rename(&site, "films/Ox/ox.mkv", "films/Ox/Amber Ox (2013).mkv");
        rename(&site, "films/Cat/cat.2002.mkv", "films/New/Cat (2002).mkv");
        rename(&site, "films/Boat (2001)", "films/The Boat (2001)");
        std::fs::copy(site.path("films/Dog (2003)/Dog (2003).mkv"), site.path("films/Copy.mkv")).unwrap();
        scanned(&site, &made[0]).await;
        is_kept(&site, &known[files[0]], "films/Ox/Amber Ox (2013).mkv").await;
        is_kept(&site, &known[files[1]], "films/The Boat (2001)/Boat (2001).mkv").await;
        is_kept(&site, &known[files[2]], "films/New/Cat (2002).mkv").await;
        is_kept(&site, &known[files[3]], "films/Dog (2003)/Dog (2003).mkv").await;
        assert_eq!(site.get("/items").await["total"], 5, "a copy is an item of its own");
        site.house.stops().await;
    }

    async fn a_file_that_comes_back_from_elsewhere_is_known_by_its_time(db: Db) {
        let files = ["films/Ox/ox.mkv", "films/Boat/boat.mkv"];
        let (site, made) = shelf(&db, &files, &[("films", Kind::Movie)]).await;
        let known = ids(&site).await;
        say(&site, &known[files[0]]).await;
        say(&site, &known[files[1]]).await;
        // As `mv` does it between two file systems: the number is another one, the time is not.
        let time = std::fs::metadata(site.path(files[0])).unwrap().modified().unwrap();
        site.house.file("films/Amber Ox.mkv", 5);
        std::fs::File::options().write(true).open(site.path("films/Amber Ox.mkv")).unwrap().set_modified(time).unwrap();
        std::fs::remove_file(site.path(files[0])).unwrap();
        scanned(&site, &made[0]).await;
        is_kept(&site, &known[files[0]], "films/Amber Ox.mkv").await;
        is_kept(&site, &known[files[1]], files[1]).await;
        assert_eq!(site.get("/items").await["total"], 2);
        site.house.stops().await;
    }

    async fn a_better_file_in_place_of_one_is_the_same_item(db: Db) {
        let files = ["tv/Alder/Season 1/Alder S01E01 720p.mkv", "films/Boat (2001)/Boat.2001.720p.mkv"];
        let (site, made) = shelf(&db, &files, &[("tv", Kind::Tv), ("films", Kind::Movie)]).await;
        let known = ids(&site).await;
        for id in known.values() {
            say(&site, id).await;
        }
        for (old, new) in [(files[0], "tv/Alder/Season 1/Alder - 1x01 - Words.mkv"), (files[1], "films/Boat (2001)/Boat (2001) - 1080p.mkv")] {
            site.house.file(new, 77);
            std::fs::remove_file(site.path(old)).unwrap();
        }
        scanned(&site, &made[0]).await;
        scanned(&site, &made[1]).await;
        is_kept(&site, &known[files[0]], "tv/Alder/Season 1/Alder - 1x01 - Words.mkv").await;
        is_kept(&site, &known[files[1]], "films/Boat (2001)/Boat (2001) - 1080p.mkv").await;
        let page = site.get("/items").await;
        assert_eq!(page["total"], 2);
        let sizes: Vec<&Value> = page["items"].as_array().unwrap().iter().map(|item| &item["files"][0]["size"]).collect();
        assert_eq!(sizes, ["77", "77"]);
        site.house.stops().await;
    }

    async fn a_show_that_is_renamed_keeps_what_was_said(db: Db) {
        let files = ["tv/Alder/Season 1/Alder S01E01.mkv", "tv/Alder/Season 1/Alder S01E02.mkv", "tv/Birch/Birch S01E01.mkv"];
        let (site, made) = shelf(&db, &files, &[("tv", Kind::Tv)]).await;
        let known = ids(&site).await;
        let show = site.show_of("Alder").await["show"]["id"].as_str().unwrap().to_owned();
        let body = json!({ "overview": "People said it" });
        let (status, said) = site.admin("PATCH", &format!("/shows/{show}/metadata"), Some(body)).await;
        assert_eq!(status, 200, "{said}");
        rename(&site, "tv/Alder", "tv/Alder (2012)");
        scanned(&site, &made[0]).await;
        let now = site.get(&format!("/shows/{show}")).await;
        assert_eq!((&now["show"]["path"], &now["metadata"]["overview"]), (&json!(site.path("tv/Alder (2012)")), &json!("People said it")), "{now}");
        assert_eq!(now["show"]["episodeCount"], 2);
        let item = site.get(&format!("/items/{}", known[files[0]])).await;
        assert_eq!(item["path"], site.path("tv/Alder (2012)/Season 1/Alder S01E01.mkv"));
        site.house.stops().await;
    }
}
