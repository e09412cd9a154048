//! Lists by what is known of items and shows, as a client asks for them.

use qm_db::{Db, db_test};
use qm_media::model::library::Kind;
use qm_ports::metadata::{Alone, TitleSuggestion};
use serde_json::{Value, json};

use super::Site;
use super::bulk::{ids, shelf};

/// Names of the items of an answer, in its order.
fn titles(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["title"].as_str().unwrap()).collect()
}

db_test! {
    async fn items_are_found_by_what_is_known_of_them(db: Db) {
        let files = [
            "films/Alder.2001.2160p.mkv", "films/Birch.2003.1080p.mkv", "films/Cedar.2005.1080p.mkv", "films/Dogwood.mkv",
            "tv/Elm (2010) {tvdb-77}/Elm.S01E01.mkv", "tv/Elm (2010) {tvdb-77}/Elm.S02E01.mkv", "tv/Fir {imdb-tt0000777}/Fir.S01E01.mkv",
        ];
        let (site, _) = shelf(&db, &files, &[("films", Kind::Movie), ("tv", Kind::Tv)]).await;
        let all = ids(&site).await;
        let said = async |file: &str, what: &str, body: Value| {
            let method = if what == "metadata" { "PATCH" } else { "POST" };
            let (status, answer) = site.admin(method, &format!("/items/{}/{what}", all[file]), Some(body)).await;
            assert!(status < 300, "{answer}");
        };
        said(files[0], "metadata", json!({ "genres": ["Drama", " Science Fiction "] })).await;
        said(files[1], "metadata", json!({ "genres": ["drama", "DRAMA", ""] })).await;
        said(files[2], "match/titledb", json!({ "titledbId": "tt0000055" })).await;
        for (query, expected) in [
            ("yearFrom=2003", &["Birch", "Cedar", "Elm", "Elm"][..]),
            ("yearTo=2003", &["Alder", "Birch"]),
            ("yearFrom=2002&yearTo=2004", &["Birch"]),
            ("year=2005", &["Cedar"]),
            ("year=1900", &[]),
            ("season=2", &["Elm"]),
            ("season=1&mediaType=tv", &["Elm", "Fir"]),
            ("resolution=1080p", &["Birch", "Cedar"]),
            ("resolution=4K", &["Alder"]),
            ("resolution=480p", &[]),
            ("genre=DRAMA", &["Alder", "Birch"]),
            ("genre=science%20fiction&yearTo=2001", &["Alder"]),
            ("genre=dram", &[]),
            ("externalId=imdb:tt0000055", &["Cedar"]),
            ("externalId=tt0000055&resolution=1080p", &["Cedar"]),
            ("externalId=tvdb:77", &["Elm", "Elm"]),
            ("externalId=tvdb:77&season=2", &["Elm"]),
            ("externalId=tmdb:77", &[]),
            ("externalId=titledb:tt0000777", &["Fir"]),
            ("identified=true&mediaType=movie", &["Cedar"]),
            ("identified=false&mediaType=movie", &["Alder", "Birch", "Dogwood"]),
            ("matchStatus=matched&identified=false&mediaType=movie", &["Alder", "Birch"]),
        ] {
            for sort in ["", "&sort=added_asc", "&sort=year_desc"] {
                let page = site.get(&format!("/items?{query}{sort}")).await;
                let mut found = titles(&page);
                found.sort_unstable();
                assert_eq!((&*found, &page["total"]), (expected, &json!(expected.len())), "{query}{sort}");
            }
            let letters = site.get(&format!("/items/alphabet?{query}")).await;
            let letters = letters.as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap());
            assert_eq!(letters.sum::<u64>(), expected.len() as u64, "{query}");
            let (_, _, table) = site.text("ADMINISTRATOR", &format!("/items/export.csv?{query}")).await;
            assert_eq!(table.matches("\r\n").count(), expected.len() + 1, "{query}");
        }
        let page = site.get("/items?matchStatus=matched&mediaType=movie").await;
        assert_eq!((titles(&page)[0], &page["items"][0]["identified"], &page["items"][1]["identified"]), ("Alder", &json!(false), &json!(false)));
        // Said anew they are found by that alone.
        said(files[0], "metadata", json!({ "genres": ["Horror"] })).await;
        assert_eq!((titles(&site.get("/items?genre=drama").await), titles(&site.get("/items?genre=horror").await)), (vec!["Birch"], vec!["Alder"]));
        for (bad, said) in [
            ("sort=best", "title, title_desc, added_desc, added_asc, year_desc, year_asc, updated_desc"),
            ("externalId=603", "SOURCE:ID"), ("externalId=tmdb:x", "SOURCE:ID"), ("yearFrom=soon", "yearFrom"), ("season=-1", "season"),
            ("identified=perhaps", "identified"), ("yearTo=99999", "yearTo"),
        ] {
            let (status, answer) = site.ask("READ_ONLY", "GET", &format!("/items?{bad}"), None).await;
            assert_eq!(status, 400, "{bad}: {answer}");
            assert!(answer["message"].to_string().contains(said), "{bad}: {answer}");
        }
        site.house.stops().await;
    }

    async fn shows_are_listed_and_sought(db: Db) {
        let files = [
            "tv/Été Indien (2011)/E.S01E01.mkv", "tv/Bob's Alder (2003) {tmdb-5}/B.S01E01.mkv", "tv/Cedar/C.S01E01.mkv",
            "anime/Zelkova (2020)/Z - 01.mkv",
        ];
        let (site, made) = shelf(&db, &files, &[("tv", Kind::Tv), ("anime", Kind::Anime)]).await;
        let (tv, anime) = (&made[0].id, &made[1].id);
        let cases = [
            (String::new(), &["Bob's Alder", "Cedar", "Été Indien", "Zelkova"][..]),
            ("sort=title_desc".to_owned(), &["Zelkova", "Été Indien", "Cedar", "Bob's Alder"]),
            ("sort=year_asc".to_owned(), &["Bob's Alder", "Été Indien", "Zelkova", "Cedar"]),
            ("sort=year_desc".to_owned(), &["Zelkova", "Été Indien", "Bob's Alder", "Cedar"]),
            ("search=ETE".to_owned(), &["Été Indien"]),
            ("search=bobs%20al".to_owned(), &["Bob's Alder"]),
            ("search=%25".to_owned(), &[]),
            ("yearFrom=2004&yearTo=2015".to_owned(), &["Été Indien"]),
            (format!("libraryId={anime}"), &["Zelkova"]),
            (format!("libraryId={tv}&mediaType=anime"), &[]),
            ("identified=true".to_owned(), &["Bob's Alder"]),
            ("identified=false&mediaType=tv".to_owned(), &["Cedar", "Été Indien"]),
            ("externalId=tmdb:5".to_owned(), &["Bob's Alder"]),
            ("externalId=tvdb:5".to_owned(), &[]),
            ("page=2&pageSize=3".to_owned(), &["Zelkova"]),
        ];
        for (query, expected) in cases {
            let page = site.get(&format!("/shows?{query}")).await;
            assert_eq!(titles(&page), expected, "{query}");
        }
        let page = site.get("/shows?pageSize=1&page=9").await;
        assert_eq!((&page["items"], &page["total"], &page["page"], &page["pageSize"]), (&json!([]), &json!(4), &json!(9), &json!(1)));
        for bad in ["sort=x", "mediaType=movie", "issue=duplicate", "externalId=x", "year=x"] {
            assert_eq!(site.ask("READ_ONLY", "GET", &format!("/shows?{bad}"), None).await.0, 400, "{bad}");
        }
        let one = site.get(&format!("/libraries/{tv}")).await;
        assert_eq!((&one["name"], &one["kind"]), (&json!(made[0].name), &json!("tv")));
        let (status, answer) = site.ask("READ_ONLY", "GET", "/libraries/nowhere", None).await;
        assert_eq!((status, &answer["code"]), (404, &json!("not_found.media_library")));
        site.house.stops().await;
    }

    async fn a_show_that_is_only_like_a_title_is_suggested(db: Db) {
        let (site, made) = shelf(&db, &["tv/The Red House (2012)/a.S01E01.mkv", "tv/Тайна/b.S01E01.mkv"], &[("tv", Kind::Tv)]).await;
        site.house.around.titles.has("one", &[
            ("tt0000030", "tvSeries", "The Red Horse", 2012), ("tt0000031", "tvSeries", "The Red House", 1990),
            ("tt0000032", "tvSeries", "The Secret", 2001),
        ], &[("tt0000032", 1, 1, "tt0000033")]);
        site.house.around.titles.change(|set| set.akas.push(("tt0000032", "Тайна")));
        site.house.scans(&made[0]).await;
        let page = site.get("/shows?issue=suggested").await;
        assert_eq!(titles(&page), ["The Red House"], "neither of its name and another year, nor of another name");
        let path = format!("/shows/{}", page["items"][0]["id"].as_str().unwrap());
        let detail = site.get(&path).await;
        let suggested: Vec<&Value> = detail["suggestions"].as_array().unwrap().iter().map(|one| &one["titledbId"]).collect();
        assert_eq!((&detail["show"]["titledbId"], &detail["show"]["identified"]), (&Value::Null, &json!(false)));
        assert!(suggested.contains(&&json!("tt0000030")) && suggested.contains(&&json!("tt0000031")), "{detail}");
        assert!(detail["suggestions"][0]["score"].as_f64().unwrap() < 1.0);
        assert_eq!(site.get("/items?search=red").await["items"][0]["seriesTitledbId"], Value::Null);
        let page = site.get("/shows?externalId=tt0000032").await;
        assert_eq!(titles(&page), ["Тайна"], "by its name in another language");
        // A provider suggests as well.
        let suggestion = TitleSuggestion {
            provider: "provider_a".to_owned(), id: "9".to_owned(), title: "The Red Horse".to_owned(), year: Some(2012), score: 91,
        };
        site.house.around.teller.alone.lock().unwrap().push_back(Alone::Unsure(vec![suggestion]));
        let (status, refreshed) = site.admin("POST", &format!("{path}/metadata/refresh"), None).await;
        assert_eq!((status, &refreshed["reason"], &refreshed["suggestions"]), (201, &json!("not_found"), &json!([
            { "provider": "provider_a", "externalId": "9", "title": "The Red Horse", "year": 2012, "score": 0.91 },
        ])), "{refreshed}");
        // Somebody says it.
        let (status, _) = site.admin("PATCH", &format!("{path}/identity"), Some(json!({ "titledbId": "tt0000030", "providerBId": "7" }))).await;
        let detail = site.get(&path).await;
        assert_eq!((status, &detail["suggestions"], &detail["show"]["providerBId"]), (200, &json!([]), &json!("7")));
        assert_eq!(titles(&site.get("/shows?issue=suggested").await), [""; 0]);
        site.house.stops().await;
    }

    async fn the_first_scan_identifies(db: Db) {
        let site = Site::new(&db).await;
        site.house.around.titles.has("one", &[("tt0000020", "movie", "Tide", 2003)], &[]);
        site.house.file("films/Tide.2003.mkv", 1);
        let (_, job) = site.house.library("films", Kind::Movie).await;
        assert_eq!(site.house.ended(&job).await.0, "completed");
        let item = &site.get("/items").await["items"][0];
        assert_eq!((&item["matchStatus"], &item["identified"], &item["externalIds"][0]["externalId"]),
            (&json!("matched"), &json!(true), &json!("tt0000020")));
        site.house.stops().await;
    }
}
