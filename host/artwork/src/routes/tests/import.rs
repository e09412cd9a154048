//! Pictures from a provider.

use qm_db::db_test;
use qm_kernel::{Permission, PermissionSet, Requester};
use qm_ports::action::{ActionCall, ActionError, Actions as _, Occasion};
use qm_ports::helpers::MediaCompanions as _;
use qm_ports::metadata::Silent;

use super::*;

const HOST: &str = "https://image.tmdb.org/t/p/original";

impl Site {
    fn tell(&self, images: &[(ImageKind, String)]) {
        let images = images.iter().map(|(kind, url)| image(*kind, url)).collect();
        *self.outside.images.lock().unwrap() = Some(Alone::Told(images));
    }

    fn offer(&self, url: &str, bytes: Vec<u8>) {
        self.outside
            .pictures
            .lock()
            .unwrap()
            .push((url.to_owned(), bytes));
    }
}

db_test! {
    async fn the_best_poster_and_background_are_imported_once(db: Db) {
        let site = Site::new(&db).await;
        site.add_film("film", &["Tide/Tide.mkv"]).await;
        let import = "/items/film/artwork/import";
        let none = site.ask(201, "POST", import, None).await;
        assert_eq!(none, json!({ "itemId": "film", "present": [], "missing": ["poster", "fanart"] }), "there is no key");
        let [poster, worse, back] = ["p1", "p2", "b1"].map(|name| format!("{HOST}/{name}.jpg"));
        site.tell(&[(ImageKind::Poster, poster.clone()), (ImageKind::Poster, worse), (ImageKind::Backdrop, back.clone())]);
        site.offer(&poster, picture(20, 30, ImageFormat::Jpeg));
        site.offer(&back, picture(32, 18, ImageFormat::Jpeg));
        let done = site.ask(201, "POST", import, None).await;
        assert_eq!(done, json!({ "itemId": "film", "provider": "provider_a", "imported": ["poster", "fanart"] }));
        assert_eq!(site.outside.asked.lock().unwrap().last().unwrap(), "provider_a (Movie, \"603\") Title");
        let list = site.ask(200, "GET", "/items/film/artwork", None).await;
        assert_eq!(members(&list, "url"), [&json!(back), &json!(poster)]);
        assert_eq!(members(&list, "source"), ["provider_a", "provider_a"]);
        assert_eq!(members(&list, "selected"), [true, true]);
        assert_eq!((members(&list, "width"), members(&list, "height")), (vec![&json!(32), &json!(20)], vec![&json!(18), &json!(30)]));
        let again = site.ask(201, "POST", import, None).await;
        assert_eq!(again["imported"], json!([]));
        assert_eq!(*site.outside.fetched.lock().unwrap(), [poster, back], "no address is fetched twice");
        let audited = site.audited().await;
        assert_eq!(audited.iter().filter(|row| row.starts_with("media.artwork.import media_item film")).count(), 2, "{audited:?}");

        // An item without an id there has nothing to ask for.
        site.subjects.items.lock().unwrap()[0].ids.clear();
        let missing = site.ask(201, "POST", import, None).await;
        assert_eq!(missing["present"], json!(["fanart", "poster"]));
        let viewer = site.visitor.ask("USER", "POST", import, None).await;
        assert_eq!(viewer.status, 403);
    }

    async fn shows_and_seasons_and_episodes_have_their_own(db: Db) {
        let site = Site::new(&db).await;
        site.add_show("show", "Harbor").await;
        let import = "/shows/show/artwork/import";
        let none = site.ask(201, "POST", import, None).await;
        assert_eq!(none, json!({ "showId": "show", "provider": "provider_a", "imported": [], "reason": "no_provider_id" }));
        let url = format!("{HOST}/p.png");
        site.tell(&[(ImageKind::Poster, url.clone())]);
        site.offer(&url, picture(20, 30, ImageFormat::Png));
        let whole = site.ask(201, "POST", import, Some(json!({ "season": null }))).await;
        assert_eq!(whole, json!({ "showId": "show", "provider": "provider_a", "imported": ["poster"] }));
        let season = site.ask(201, "POST", import, Some(json!({ "season": 2 }))).await;
        assert_eq!((&season["seasonNumber"], &season["imported"]), (&json!(2), &json!(["season_poster"])));
        assert_eq!(site.outside.asked.lock().unwrap().last().unwrap(), "provider_a (Show, \"81\") Season(2)");
        site.subjects.shows.lock().unwrap()[0].provider_a_id = None;
        assert_eq!(site.ask(201, "POST", import, None).await["reason"], "no_provider_id");

        site.add_film("episode", &["Harbor/S02E03.mkv"]).await;
        {
            let mut items = site.subjects.items.lock().unwrap();
            items[0].media_type = "tv".to_owned();
            (items[0].season, items[0].episode) = (Some(2), Some(3));
        }
        let still = format!("{HOST}/s.png");
        site.tell(&[(ImageKind::Still, still.clone())]);
        site.offer(&still, picture(16, 9, ImageFormat::Png));
        let episode = site.ask(201, "POST", "/items/episode/artwork/import", None).await;
        assert_eq!(episode["imported"], json!(["thumbnail"]));
        assert_eq!(site.outside.asked.lock().unwrap().last().unwrap(), "provider_a (Show, \"603\") Episode(2, 3)");
    }

    async fn nothing_is_taken_from_elsewhere_and_nothing_that_is_no_picture(db: Db) {
        let site = Site::new(&db).await;
        site.add_film("film", &["Tide/Tide.mkv"]).await;
        let import = "/items/film/artwork/import";
        for url in [
            "http://image.tmdb.org/x.jpg",
            "https://image.tmdb.org.example.org/x.jpg",
            "https://image.tmdb.org@10.0.0.1/x.jpg",
            "https://169.254.169.254/latest",
            "file:///etc/passwd",
        ] {
            site.tell(&[(ImageKind::Poster, url.to_owned())]);
            let done = site.ask(201, "POST", import, None).await;
            assert_eq!((&done["imported"], done["failed"][0]["type"].as_str()), (&json!([]), Some("poster")), "{url}");
        }
        assert!(site.outside.fetched.lock().unwrap().is_empty());
        let url = format!("{HOST}/x.jpg");
        site.tell(&[(ImageKind::Poster, url.clone())]);
        let absent = site.ask(201, "POST", import, None).await;
        assert_eq!(absent["failed"][0]["message"], "Failed to fetch URL: 404");
        site.offer(&url, b"<svg/>".to_vec());
        let wrong = site.ask(201, "POST", import, None).await;
        assert!(wrong["failed"][0]["message"].as_str().unwrap().contains("SVG"), "{wrong}");
        assert_eq!(site.ask(200, "GET", "/items/film/artwork", None).await["artwork"], json!([]));
        let silent = Silent { provider: "provider_a".to_owned(), reason: "too many requests".to_owned() };
        *site.outside.images.lock().unwrap() = Some(Alone::Silent(silent));
        let refused = site.send("POST", import, None).await.refusal();
        assert_eq!((refused.0, &*refused.1), (502, "upstream.metadata_provider"), "{}", refused.2);
    }

    async fn a_rule_fetches_pictures_of_an_item_for_its_author(db: Db) {
        let site = Site::new(&db).await;
        site.add_film("film", &["Tide/Tide.mkv"]).await;
        let powers = PermissionSet::empty().with(Permission::MediaManagerManageArtwork);
        let call = |params: Value, author: Option<&str>, powers| ActionCall {
            run_id: "run.0".to_owned(),
            occasion: Occasion::Event,
            params: params.as_object().unwrap().clone(),
            context: serde_json::Map::new(),
            torrent: None,
            author: author.map(str::to_owned),
            powers,
        };
        let run = |params: Value| site.app.run("media_fetch_artwork", call(params, Some("u"), powers));
        assert_eq!(run(json!({ "itemId": "film" })).await, Ok(()), "without a key nothing is fetched, and that is no fault");
        for (params, why) in [
            (json!({}), "itemId is required"), (json!({ "itemId": " " }), "itemId is required"),
            (json!({ "itemId": "none" }), "Item not found"), (json!({ "itemId": "no\0ne" }), "Item not found"),
        ] {
            assert_eq!(run(params.clone()).await.unwrap_err().to_string(), why, "{params}");
        }
        let url = format!("{HOST}/p.png");
        site.tell(&[(ImageKind::Poster, url.clone())]);
        let failed = run(json!({ "itemId": "film" })).await;
        assert_eq!(failed, Err(ActionError::Rejected("poster: Failed to fetch URL: 404".to_owned())));
        site.offer(&url, picture(20, 30, ImageFormat::Png));
        assert_eq!(run(json!({ "itemId": "film" })).await, Ok(()));
        let list = site.ask(200, "GET", "/items/film/artwork", None).await;
        assert_eq!(members(&list, "url"), [&json!(url)]);
        for (author, powers) in [(None, powers), (Some("u"), PermissionSet::empty())] {
            let refused = site.app.run("media_fetch_artwork", call(json!({ "itemId": "film" }), author, powers)).await;
            assert!(matches!(refused, Err(ActionError::Denied(_))), "{refused:?}");
        }
        let silent = Silent { provider: "provider_a".to_owned(), reason: "too many requests".to_owned() };
        *site.outside.images.lock().unwrap() = Some(Alone::Silent(silent));
        assert!(matches!(run(json!({ "itemId": "film" })).await, Err(ActionError::Unreachable(_))));
    }

    async fn the_library_has_pictures_fetched_where_some_are_missing(db: Db) {
        let site = Site::new(&db).await;
        site.add_film("film", &["Tide/Tide.mkv"]).await;
        let powers = PermissionSet::empty().with(Permission::MediaManagerManageArtwork);
        let who = Requester::absent("u", powers, "job");
        let missing = || site.app.complete_pictures(&who, "film");
        assert_eq!(missing().await, Ok(vec!["poster".to_owned(), "fanart".to_owned()]), "no provider could be asked");
        site.tell(&[]);
        assert_eq!(missing().await, Ok(Vec::new()), "the provider has none");
        site.write("Tide/Tide.mkv", b"x");
        site.write("Tide/poster.png", &picture(20, 30, ImageFormat::Png));
        site.write("Tide/fanart.png", &picture(32, 18, ImageFormat::Png));
        let before = site.outside.asked.lock().unwrap().len();
        assert_eq!(missing().await, Ok(Vec::new()));
        assert_eq!(site.outside.asked.lock().unwrap().len(), before, "nobody is asked about what is there");
        fs::remove_file(site.root.join("media/Tide/poster.png")).unwrap();
        let powerless = Requester::absent("u", PermissionSet::empty(), "job");
        let refused = site.app.complete_pictures(&powerless, "film").await;
        assert!(refused.unwrap_err().to_string().contains("media_manager.manage_artwork"));
        // Subtitles are looked for as files are, for nobody.
        assert_eq!(site.app.look_for_subtitles("film").await, Ok(vec!["en".to_owned()]));
        site.write("Tide/Tide.en.srt", b"x");
        assert_eq!(site.app.look_for_subtitles("film").await, Ok(Vec::new()));
    }
}
