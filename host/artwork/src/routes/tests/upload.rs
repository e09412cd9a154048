//! Pictures from people.

use http::header;
use qm_db::db_test;

use super::*;
use crate::model::MAX_GIVEN_OF_TYPE;

db_test! {
    async fn an_upload_is_stored_and_selected(db: Db) {
        let site = Site::new(&db).await;
        site.add_film("film", &["Tide/Tide.mkv"]).await;
        site.add_show("show", "Harbor").await;
        let bytes = picture(40, 60, ImageFormat::Png);
        let body = json!({
            "type": "poster", "dataBase64": format!("data:image/png;base64,{}", base64(&bytes)),
            "filename": "My Poster.PNG", "mime": "image/png", "anything": "else",
        });
        let first = site.ask(201, "POST", "/items/film/artwork/upload", Some(body)).await;
        assert_eq!(
            (&first["source"], &first["selected"], &first["width"], &first["height"], &first["type"]),
            (&json!("custom"), &json!(true), &json!(40), &json!(60), &json!("poster"))
        );
        let path = first["localPath"].as_str().unwrap();
        let store = site.root.join(".quartermaster/media-artwork/film");
        assert!(path.starts_with(store.join("poster-").to_str().unwrap()), "{path}");
        assert_eq!(std::path::Path::new(path).extension().unwrap(), "png");
        assert_eq!(fs::read(path).unwrap(), bytes);
        let id = first["id"].as_str().unwrap();
        let image = site.send("GET", &format!("/artwork/{id}/image"), None).await;
        assert_eq!((image.bytes, image.headers[header::CONTENT_TYPE].to_str().unwrap()), (bytes, "image/png"));
        // The next one takes its place.
        let second = site.upload("/items/film/artwork/upload", &picture(41, 60, ImageFormat::WebP)).await;
        let list = site.ask(200, "GET", "/items/film/artwork", None).await;
        assert_eq!(members(&list, "id"), [&second["id"], &first["id"]]);
        assert_eq!(members(&list, "selected"), [true, false]);

        let season = json!({ "type": "season_poster", "dataBase64": base64(&picture(9, 9, ImageFormat::Jpeg)), "season": 2 });
        let stored = site.ask(201, "POST", "/shows/show/artwork/upload", Some(season)).await;
        assert_eq!((&stored["seasonNumber"], &stored["showId"], &stored["itemId"]), (&json!(2), &json!("show"), &Value::Null));
        assert!(stored["localPath"].as_str().unwrap().contains("/media-artwork/show-show-s2/season_poster-"), "{stored}");
        let list = site.ask(200, "GET", "/shows/show/artwork?season=2", None).await;
        assert_eq!(list["selected"]["season_poster"], stored["id"]);
        assert_eq!(site.ask(200, "GET", "/shows/show/artwork", None).await["artwork"], json!([]));
        let audited = site.audited().await;
        let has = |begin: &str, part: &str| audited.iter().any(|row| row.starts_with(begin) && row.contains(part));
        assert!(has("media.artwork.upload media_item film ", "image/png"), "{audited:?}");
        assert!(has("media.artwork.upload media_show show ", "\"seasonNumber\":2"), "{audited:?}");
    }

    async fn what_is_sent_wrong_is_refused_with_the_reason(db: Db) {
        let site = Site::new(&db).await;
        site.add_film("film", &["Tide/Tide.mkv"]).await;
        let png = base64(&picture(4, 4, ImageFormat::Png));
        let good = json!({ "type": "poster", "dataBase64": png });
        let with = |member: &str, value: Value| {
            let mut body = good.clone();
            body[member] = value;
            body
        };
        let large = vec![0x89; (10 << 20) + 1];
        for (body, code) in [
            (with("type", json!("hologram")), "bad_request.artwork_type"),
            (with("dataBase64", json!("")), "bad_request.image"),
            (with("dataBase64", json!("not base64!")), "bad_request.base64"),
            (with("dataBase64", json!("data:image/png,x")), "bad_request.base64"),
            (with("dataBase64", json!(format!("data:image/webp;base64,{png}"))), "bad_request.image_format"),
            (with("dataBase64", json!(base64(b"<svg xmlns='http://www.w3.org/2000/svg'/>"))), "bad_request.image"),
            (with("dataBase64", json!(base64(&large))), "bad_request.image"),
            (with("mime", json!("image/jpeg")), "bad_request.image_format"),
            (with("filename", json!("poster.jpg")), "bad_request.image_format"),
            (with("filename", json!("poster")), "bad_request.image_format"),
            (with("filename", json!("poster.png.exe")), "bad_request.image_format"),
        ] {
            let answer = site.send("POST", "/items/film/artwork/upload", Some(body)).await.refusal();
            assert_eq!((answer.0, &*answer.1), (400, code), "{}", answer.2);
            assert!(!answer.2.is_empty());
        }
        let message = site.ask(400, "POST", "/items/film/artwork/upload", Some(with("type", json!("hologram")))).await;
        assert_eq!(message["message"], "Unsupported artwork type \"hologram\".");
        for wrong in [json!({}), with("seasonNumber", json!(-1)), with("dataBase64", json!(5)), with("type", Value::Null)] {
            assert_eq!(site.send("POST", "/items/film/artwork/upload", Some(wrong)).await.status, 400);
        }
        let whole = json!({ "type": "poster", "dataBase64": "A".repeat(15 << 20) });
        assert_eq!(site.send("POST", "/items/film/artwork/upload", Some(whole)).await.status, 413);
        for path in ["/items/nobody/artwork/upload", "/shows/nobody/artwork/upload"] {
            assert_eq!(site.send("POST", path, Some(good.clone())).await.status, 404, "{path}");
        }
        let viewer = site.visitor.ask("USER", "POST", "/items/film/artwork/upload", Some(good)).await;
        assert_eq!(viewer.status, 403);
        // Nothing was written.
        assert!(!site.root.join(".quartermaster").exists());
        assert_eq!(site.ask(200, "GET", "/items/film/artwork", None).await["artwork"], json!([]));
        assert!(site.audited().await.is_empty());
    }

    async fn uploads_at_once_leave_one_selected(db: Db) {
        let site = Site::new(&db).await;
        site.add_film("film", &["Tide/Tide.mkv"]).await;
        let bytes = picture(4, 4, ImageFormat::Png);
        let all = (0..6).map(|_| site.upload("/items/film/artwork/upload", &bytes));
        let stored = futures_util::future::join_all(all).await;
        let list = site.ask(200, "GET", "/items/film/artwork", None).await;
        assert_eq!(members(&list, "id").len(), stored.len(), "every answer has its row");
        assert_eq!(members(&list, "selected").iter().filter(|selected| ***selected == true).count(), 1);
    }

    async fn files_that_nothing_needs_are_removed_and_no_others(db: Db) {
        let site = Site::new(&db).await;
        site.add_film("film", &["Tide/Tide.mkv"]).await;
        site.add_film("other", &["Ebb/Ebb.mkv"]).await;
        let bytes = picture(4, 4, ImageFormat::Png);
        for number in 0..MAX_GIVEN_OF_TYPE + 2 {
            site.hands.advance(std::time::Duration::from_secs(1));
            let stored = site.upload("/items/film/artwork/upload", &bytes).await;
            if number == 0 {
                let choice = json!({ "artworkId": stored["id"] });
                let _ = site.ask(201, "POST", "/items/film/artwork/select", Some(choice)).await;
            }
        }
        let kept = site.upload("/items/other/artwork/upload", &bytes).await;
        let list = site.ask(200, "GET", "/items/film/artwork", None).await;
        assert_eq!(members(&list, "id").len(), MAX_GIVEN_OF_TYPE);
        let store = site.root.join(".quartermaster/media-artwork");
        let count = || fs::read_dir(store.join("film")).map_or(0, Iterator::count);
        assert_eq!(count(), MAX_GIVEN_OF_TYPE + 2);
        assert_eq!(site.app.sweep().await.unwrap(), 0, "they are young");
        // One that a crash left between its note and its row, and a file that was never noted.
        let left = store.join("film/poster-5.png");
        let mut tx = db.begin_write().await.unwrap();
        assert!(repo::note_file(&mut tx, left.to_str().unwrap(), qm_kernel::Timestamp::from_ms(5)).await.unwrap());
        tx.commit().await.unwrap();
        fs::write(&left, "x").unwrap();
        fs::write(store.join("film/.quartermaster-tmp-poster-5.png"), "x").unwrap();
        fs::create_dir(store.join("stranger")).unwrap();
        fs::write(store.join("stranger/poster-5.png"), "x").unwrap();
        site.hands.advance(std::time::Duration::from_hours(2));
        assert_eq!(site.app.sweep().await.unwrap(), 3);
        assert_eq!(count(), MAX_GIVEN_OF_TYPE);
        // The film is forgotten.
        let mut tx = db.begin_write().await.unwrap();
        repo::testing::forget_item(&mut tx, "film").await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(site.app.sweep().await.unwrap(), MAX_GIVEN_OF_TYPE);
        assert!(!store.join("film").exists() && store.join("stranger/poster-5.png").exists());
        assert!(fs::exists(kept["localPath"].as_str().unwrap()).unwrap());
        assert_eq!(repo::testing::count_files(&mut db.begin_read().await.unwrap()).await.unwrap(), 1);
    }
}
