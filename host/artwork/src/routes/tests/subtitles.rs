//! Subtitles beside films.

use qm_db::db_test;

use super::*;

db_test! {
    async fn subtitles_are_found_and_missing_ones_told(db: Db) {
        let site = Site::new(&db).await;
        site.add_film("film", &["Tide/Tide.mkv"]).await;
        let path = "/items/film/subtitles";
        assert_eq!(site.ask(200, "GET", path, None).await, json!([]));
        let missing = site.ask(200, "GET", &format!("{path}/missing"), None).await;
        assert_eq!(missing, json!({ "itemId": "film", "present": [], "missing": ["en"], "hasAny": false }));
        for name in ["Tide.mkv", "Tide 2.mkv", "Tide.EN.forced.srt", "tide.en.srt", "Tide.de.sdh.ass", "Tide 2.fr.srt", "Tide.jpg"] {
            site.write(&format!("Tide/{name}"), b"x");
        }
        site.write("Tide/Subs/Tide.it.srt", b"x");
        let scan = format!("{path}/scan");
        assert_eq!(site.ask(201, "POST", &scan, None).await, json!({ "itemId": "film", "found": 3, "created": 3 }));
        assert_eq!(site.ask(201, "POST", &scan, None).await, json!({ "itemId": "film", "found": 3, "created": 0 }));
        let list = site.ask(200, "GET", path, None).await;
        let shown = |list: &Value| -> Vec<String> {
            let rows = list.as_array().unwrap().iter();
            rows.map(|row| format!("{} {} {} {}", row["language"], row["forced"], row["sdh"], row["default"])).collect()
        };
        assert_eq!(shown(&list), ["\"de\" false true false", "\"en\" false false false", "\"en\" true false false"]);
        assert_eq!(list[1]["path"], site.root.join("media/Tide/tide.en.srt").to_str().unwrap());
        assert_eq!((&list[1]["source"], &list[1]["itemId"]), (&json!("sidecar"), &json!("film")));
        let missing = site.ask(200, "GET", &format!("{path}/missing?preferred=en,%20fr,fr,it"), None).await;
        assert_eq!(missing, json!({ "itemId": "film", "present": ["de", "en"], "missing": ["fr", "it"], "hasAny": true }));
        // A file that is gone goes, unless its directory cannot be read.
        fs::remove_file(site.root.join("media/Tide/Tide.de.sdh.ass")).unwrap();
        assert_eq!(site.ask(201, "POST", &scan, None).await["found"], 2);
        assert_eq!(site.ask(200, "GET", path, None).await.as_array().unwrap().len(), 2);
        fs::rename(site.root.join("media"), site.root.join("elsewhere")).unwrap();
        assert_eq!(site.ask(201, "POST", &scan, None).await["found"], 0);
        assert_eq!(site.ask(200, "GET", path, None).await.as_array().unwrap().len(), 2);
        for (method, path) in [("GET", ""), ("GET", "/missing"), ("POST", "/scan")] {
            let nobody = site.ask(404, method, &format!("/items/nobody/subtitles{path}"), None).await;
            assert_eq!(nobody["code"], "not_found.media_item");
        }
        assert_eq!(site.visitor.ask("USER", "POST", &scan, None).await.status, 403);
    }
}
