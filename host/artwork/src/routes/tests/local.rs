//! Pictures beside media: listed, selected, followed.

use qm_db::db_test;

use super::*;

db_test! {
    async fn pictures_beside_a_film_are_listed_and_one_of_each_type_is_selected(db: Db) {
        let site = Site::new(&db).await;
        site.add_film("film", &["Tide (1999)/Tide (1999).mkv"]).await;
        assert_eq!(site.ask(404, "GET", "/items/nobody/artwork", None).await["code"], "not_found.media_item");
        let path = "/items/film/artwork";
        let empty = site.ask(200, "GET", path, None).await;
        assert_eq!(empty, json!({ "itemId": "film", "artwork": [], "selected": {} }));
        let missing = site.ask(200, "GET", &format!("{path}/missing"), None).await;
        assert_eq!(missing, json!({ "itemId": "film", "present": [], "missing": ["poster", "fanart"] }));

        let small = picture(8, 12, ImageFormat::Jpeg);
        for name in ["folder.jpg", "Tide (1999)-poster.jpg", "Fanart.PNG", "clearlogo.png", "extrafanart/1.jpg", "holiday.jpg"] {
            site.write(&format!("Tide (1999)/{name}"), &small);
        }
        // One in the library's own directory belongs to no film in a folder.
        site.write("poster.jpg", &small);
        let list = site.ask(200, "GET", path, None).await;
        assert_eq!(members(&list, "type"), ["fanart", "fanart", "logo", "poster", "poster"]);
        assert_eq!(members(&list, "selected"), [true, false, true, true, false]);
        let first = &list["artwork"][3];
        let lies = site.root.join("media/Tide (1999)/Tide (1999)-poster.jpg");
        assert_eq!(first["localPath"], lies.to_str().unwrap(), "the one with the film's name comes first");
        assert_eq!((&first["source"], &first["itemId"], &first["showId"]), (&json!("local"), &json!("film"), &Value::Null));
        assert_eq!((&first["url"], &first["width"], &first["seasonNumber"]), (&Value::Null, &Value::Null, &Value::Null));
        assert_eq!(list["selected"].as_object().unwrap().keys().collect::<Vec<_>>(), ["fanart", "logo", "poster"]);
        let missing = site.ask(200, "GET", &format!("{path}/missing"), None).await;
        assert_eq!((&missing["present"], &missing["missing"]), (&json!(["fanart", "logo", "poster"]), &json!([])));
        assert_eq!(site.ask(200, "GET", path, None).await, list, "nothing changes by itself");

        // Another is chosen; it stays chosen when the film and its folder get other names.
        let other = list["artwork"][4]["id"].clone();
        let chosen = site.ask(201, "POST", &format!("{path}/select"), Some(json!({ "artworkId": other, "more": 1 }))).await;
        assert_eq!(chosen["owner"], json!({ "kind": "item", "itemId": "film" }));
        assert_eq!(chosen["selected"]["poster"], other);
        assert_eq!(repo::testing::count_selected(&mut db.begin_read().await.unwrap(), "film").await.unwrap(), 3);
        fs::rename(site.root.join("media/Tide (1999)"), site.root.join("media/Tide")).unwrap();
        site.subjects.items.lock().unwrap()[0].places = vec!["Tide/Tide.mkv".to_owned()];
        fs::rename(site.root.join("media/Tide/Tide (1999)-poster.jpg"), site.root.join("media/Tide/Tide-poster.jpg")).unwrap();
        let moved = site.ask(200, "GET", path, None).await;
        assert_eq!(moved["selected"]["poster"], other);
        assert_eq!(members(&moved, "id").len(), 5);
        assert!(members(&moved, "localPath").iter().all(|path| path.as_str().unwrap().contains("/media/Tide/")), "{moved}");

        // A file that is gone is gone from the list; a mount that is gone takes nothing away, not even where it leaves a directory.
        fs::rename(site.root.join("media/Tide/folder.jpg"), site.root.join("folder.jpg")).unwrap();
        assert_eq!(members(&site.ask(200, "GET", path, None).await, "type").len(), 5, "the film is not there either");
        fs::rename(site.root.join("folder.jpg"), site.root.join("media/Tide/folder.jpg")).unwrap();
        site.write("Tide/Tide.mkv", b"x");
        fs::remove_file(site.root.join("media/Tide/folder.jpg")).unwrap();
        let fewer = site.ask(200, "GET", path, None).await;
        assert_eq!((members(&fewer, "type").len(), fewer["selected"].get("poster")), (4, None));
        fs::rename(site.root.join("media"), site.root.join("elsewhere")).unwrap();
        assert_eq!(site.ask(200, "GET", path, None).await, fewer);

        for (id, code) in [("film", "not_found.artwork"), ("nobody", "not_found.media_item")] {
            let path = format!("/items/{id}/artwork/select");
            let refused = site.ask(404, "POST", &path, Some(json!({ "artworkId": "nobody" }))).await;
            assert_eq!(refused["code"], code);
        }
        let viewer = site.visitor.ask("USER", "POST", "/items/film/artwork/select", Some(json!({ "artworkId": other }))).await;
        assert_eq!(viewer.status, 403, "a viewer selects none");
        let audited = site.audited().await;
        assert_eq!(audited.len(), 1, "{audited:?}");
        assert!(audited[0].starts_with("media.artwork.select media_item film ") && audited[0].contains("poster"), "{audited:?}");
    }

    async fn a_show_has_pictures_and_its_seasons_have_theirs(db: Db) {
        let site = Site::new(&db).await;
        site.add_show("show", "Harbor (2002)").await;
        let small = picture(8, 12, ImageFormat::Jpeg);
        for name in ["poster.jpg", "banner.jpg", "season01-poster.jpg", "season-specials-poster.jpg", "Season 2/folder.jpg", "Season 2/fanart.jpg"] {
            site.write(&format!("Harbor (2002)/{name}"), &small);
        }
        let path = "/shows/show/artwork";
        let whole = site.ask(200, "GET", path, None).await;
        assert_eq!(whole["owner"], json!({ "kind": "show", "showId": "show", "seasonNumber": null }));
        assert_eq!(members(&whole, "type"), ["banner", "poster"]);
        for (season, types) in [(0, vec!["season_poster"]), (1, vec!["season_poster"]), (2, vec!["fanart", "season_poster"]), (3, vec![])] {
            let list = site.ask(200, "GET", &format!("{path}?season={season}"), None).await;
            assert_eq!((members(&list, "type"), &list["owner"]["seasonNumber"]), (types.iter().map(|&kind| json!(kind)).collect::<Vec<_>>().iter().collect(), &json!(season)));
            assert!(members(&list, "selected").iter().all(|selected| **selected == true), "{list}");
        }
        for wrong in ["-1", "x", "1.5", "99999999999999999999"] {
            let refused = site.ask(400, "GET", &format!("{path}?season={wrong}"), None).await;
            assert_eq!(refused["message"], "Invalid season number", "{wrong}");
        }
        // A picture of a season is not one of the whole show.
        let second = site.ask(200, "GET", &format!("{path}?season=2"), None).await;
        let id = &second["artwork"][1]["id"];
        let select = format!("{path}/select");
        assert_eq!(site.ask(404, "POST", &select, Some(json!({ "artworkId": id }))).await["code"], "not_found.artwork");
        let chosen = site.ask(201, "POST", &select, Some(json!({ "artworkId": id, "season": 2 }))).await;
        assert_eq!((&chosen["owner"]["seasonNumber"], &chosen["selected"]["season_poster"]), (&json!(2), id));
        assert_eq!(site.ask(404, "GET", "/shows/nobody/artwork", None).await["code"], "not_found.media_show");
        let audited = site.audited().await;
        assert!(audited[0].contains("\"seasonNumber\":2"), "{audited:?}");
    }

    async fn two_looks_and_two_choices_at_once_leave_one_of_each(db: Db) {
        let site = Site::new(&db).await;
        site.add_film("film", &["Tide/Tide.mkv"]).await;
        for number in 0..10 {
            site.write(&format!("Tide/poster{number}.jpg"), b"x");
        }
        let list = || site.ask(200, "GET", "/items/film/artwork", None);
        let (one, other) = tokio::join!(list(), list());
        assert_eq!((members(&one, "id").len(), members(&other, "id").len()), (10, 10));
        let ids: Vec<String> = members(&one, "id").iter().map(|id| id.as_str().unwrap().to_owned()).collect();
        let choose = |id: String| site.ask(201, "POST", "/items/film/artwork/select", Some(json!({ "artworkId": id })));
        for pair in ids.chunks(2) {
            let _ = tokio::join!(choose(pair[0].clone()), choose(pair[1].clone()));
            let count = repo::testing::count_selected(&mut db.begin_read().await.unwrap(), "film").await.unwrap();
            assert_eq!(count, 1);
        }
    }

    async fn a_link_out_of_the_roots_is_not_served(db: Db) {
        let site = Site::new(&db).await;
        site.add_film("film", &["Tide/Tide.mkv"]).await;
        let secret = site.folder.path().join("secret.jpg");
        fs::write(&secret, picture(8, 8, ImageFormat::Jpeg)).unwrap();
        site.write("Tide/x", b"x");
        std::os::unix::fs::symlink(&secret, site.root.join("media/Tide/poster.jpg")).unwrap();
        let list = site.ask(200, "GET", "/items/film/artwork", None).await;
        let id = list["artwork"][0]["id"].as_str().unwrap();
        let refused = site.send("GET", &format!("/artwork/{id}/image"), None).await.refusal();
        assert_eq!(refused.0, 403, "{refused:?}");
    }
}
