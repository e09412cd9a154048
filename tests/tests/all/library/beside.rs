//! Pictures, subtitles and notes beside a film: found after its scan, shown in the answers of the library, and an import of
//! pictures that clients follow.

use qm_testkit::wait::until;
use qm_testkit::ws::Ws;
use qm_testkit::{TestServer, both_databases};
use serde_json::{Value, json};

both_databases! {
    async fn what_lies_beside_a_film_is_found_after_its_scan(db: &TestDb) {
        let root = tempfile::tempdir().expect("a temporary directory");
        let folder = root.path().join("films/Tide (2003) {tmdb-603}");
        std::fs::create_dir_all(&folder).expect("a folder");
        let note = "<movie><title>The Tide</title><plot>Water.</plot></movie>";
        for (name, text) in [("Tide (2003).mkv", "a film"), ("poster.jpg", "a poster"), ("Tide (2003).en.srt", "1"), ("movie.nfo", note)] {
            std::fs::write(folder.join(name), text).expect("a file");
        }
        let builder = TestServer::builder(db).env("FILE_MANAGER_ROOTS", root.path().display().to_string());
        let server = builder.start().await;
        let admin = server.admin();
        let path = root.path().join("films").display().to_string();
        admin.post("/api/media/libraries", json!({ "name": "Films", "path": path, "kind": "movie" })).await;
        let film = until("what lies beside the film to be known", || async {
            let page = admin.get("/api/media/items").await;
            let film = page["items"].get(0)?.clone();
            let is_known = film["hasArtwork"] == true && film["subtitleCount"] == 1 && film["metadata"]["title"] == "The Tide";
            is_known.then_some(film)
        })
        .await;
        assert_eq!(film["artwork"][0]["type"], "poster");
        assert_eq!(film["artwork"][0]["localPath"], folder.join("poster.jpg").display().to_string());
        assert_eq!(film["metadata"]["providerName"], "local-nfo");
        let id = film["id"].as_str().expect("an id");
        let detail = until("the note to be noticed", || async {
            let detail = admin.get(&format!("/api/media/items/{id}")).await;
            detail["nfoFiles"].get(0).is_some().then_some(detail)
        })
        .await;
        assert_eq!((&detail["subtitles"][0]["language"], &detail["subtitles"][0]["source"]), (&json!("en"), &json!("sidecar")));
        assert_eq!(detail["nfoFiles"][0]["path"], folder.join("movie.nfo").display().to_string());
        let issues = admin.get("/api/media/items/issues").await;
        assert_eq!((&issues["missing_artwork"], &issues["missing_subtitles"]), (&json!(0), &json!(0)));
        assert_eq!(admin.get("/api/media/items?issue=missing_artwork").await["total"], 0);
    }

    async fn an_import_of_pictures_is_told_to_whoever_follows_jobs(db: &TestDb) {
        let root = tempfile::tempdir().expect("a temporary directory");
        let folder = root.path().join("films/Tide (2003) {tmdb-603}");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("Tide (2003).mkv"), "a film").expect("a file");
        let builder = TestServer::builder(db).env("FILE_MANAGER_ROOTS", root.path().display().to_string());
        let server = builder.start().await;
        let admin = server.admin();
        let path = root.path().join("films").display().to_string();
        admin.post("/api/media/libraries", json!({ "name": "Films", "path": path, "kind": "movie" })).await;
        let id = until("the film to have its id", || async {
            let page = admin.get("/api/media/items?externalId=tmdb:603").await;
            page["items"].get(0)?["id"].as_str().map(str::to_owned)
        })
        .await;
        let mut socket = Ws::connect(&admin).await;
        socket.until("the sign-in", |name, _| (name == "auth:ok").then_some(())).await;
        // Nobody has given the provider's key: the import ends without a picture, and is a job all the same.
        admin.send("POST", &format!("/api/media/items/{id}/artwork/import"), None).await;
        let is_of = |data: &Value| data["type"] == "artwork_fetch" && data["itemId"] == *id;
        let started = socket
            .until("the begin of the import", |name, data| (name == "media_manager.job.started" && is_of(data)).then(|| data.clone()))
            .await;
        assert_eq!(started["status"], "running");
        let ended = ["media_manager.job.completed", "media_manager.job.failed"];
        let ended = socket
            .until("the end of the import", |name, data| (ended.contains(&name) && is_of(data)).then(|| data.clone()))
            .await;
        assert_eq!(ended["jobId"], started["jobId"]);
    }
}
