//! Names that are no text, names that are as long as they go, and names that differ in nothing but their case: all of them
//! can be listed, renamed, moved, deleted, restored and read over the API.

use qm_testkit::{Api, TestDb, TestServer, both_databases};
use serde_json::{Value, json};

use super::site::{Site, percent, raw_name};

/// Latin-1, UTF-16, a cut sequence, an overlong slash and one with a percent sign: none of it is UTF-8.
const NAMES: &[&[u8]] = &[
    b"caf\xe9.mkv",
    b"\xff\xfea",
    b"cut \xe2\x82",
    b"a\xc0\xafb",
    b"%FF \xff 100%",
];

async fn start(db: &TestDb) -> (TestServer, Site) {
    let site = Site::new();
    let server = TestServer::builder(db)
        .env("FILE_MANAGER_ROOTS", site.roots())
        .start()
        .await;
    (server, site)
}

async fn items(api: &Api, query: &str) -> Vec<Value> {
    let listing = api.get(&format!("/api/files?{query}")).await;
    listing["items"].as_array().expect("items").clone()
}

/// `pathRaw` of the only entry of a listing.
async fn only(api: &Api, query: &str) -> String {
    let items = items(api, query).await;
    assert_eq!(items.len(), 1, "{items:?}");
    items[0]["pathRaw"]
        .as_str()
        .unwrap_or_else(|| panic!("{}", items[0]))
        .to_owned()
}

async fn only_in_trash(api: &Api) -> Value {
    let trash = api.get("/api/files/trash").await;
    assert_eq!(trash.as_array().map(Vec::len), Some(1), "{trash}");
    trash[0]["id"].clone()
}

/// Everything that can be done to a file, by the bytes of its name.
async fn lead_through(api: &Api, site: &Site, bytes: &[u8]) {
    let name = raw_name(bytes);
    site.write(name.as_os_str(), "content");
    let raw = only(api, "path=/").await;
    assert_eq!(raw, format!("/{}", percent(bytes)));
    let listed = &items(api, "").await[0];
    assert_eq!(listed["nameRaw"], json!(percent(bytes)));
    assert!(
        listed["name"]
            .as_str()
            .is_some_and(|name| name.contains('\u{fffd}')),
        "{listed}"
    );

    let query = format!("pathRaw={}", percent(raw.as_bytes()));
    let properties = api.get(&format!("/api/files/properties?{query}")).await;
    assert_eq!(
        (&properties["size"], &properties["nameRaw"]),
        (&json!(7), &listed["nameRaw"])
    );
    let reply = api
        .send("GET", &format!("/api/files/download?{query}"), None)
        .await;
    assert_eq!((reply.status, reply.text().as_str()), (200, "content"));
    let ticket = api
        .post("/api/files/media-ticket", json!({ "pathRaw": raw }))
        .await;
    let token = ticket["token"].as_str().expect("a ticket");
    let reply = api
        .send("GET", &format!("/api/files/stream?{query}&ticket={token}"), None)
        .await;
    assert_eq!((reply.status, reply.text().as_str()), (200, "content"));

    // To the trash and back, where it came from.
    let deleted = api.post("/api/files/delete", json!({ "pathRaw": raw })).await;
    assert_eq!(deleted["pathRaw"], json!(raw));
    assert!(!site.path_of(&name).exists());
    let id = only_in_trash(api).await;
    let restored = api.post("/api/files/trash/restore", json!({ "id": id })).await;
    assert_eq!(restored["pathRaw"], json!(raw));
    assert_eq!(site.read(&name).as_deref(), Some("content"));

    api.post(
        "/api/files/copy",
        json!({ "sourceRaw": raw, "destination": "/copies" }),
    )
    .await;
    assert_eq!(
        site.read(std::path::Path::new("copies").join(&name)).as_deref(),
        Some("content")
    );
    let bulk = json!({ "operation": "delete", "pathsRaw": [format!("/copies{raw}")], "permanent": true });
    assert_eq!(api.post("/api/files/bulk", bulk).await["succeeded"], json!(1));
    api.post(
        "/api/files/delete",
        json!({ "path": "/copies", "permanent": true }),
    )
    .await;

    // Moved into a folder whose own name is as bad, and out again under a name that is text.
    let folder = raw_name(&[b"in \xfe ", bytes].concat());
    std::fs::create_dir(site.path_of(&folder)).expect("our own directory");
    let folder_raw = format!("/{}", percent(&[b"in \xfe ", bytes].concat()));
    api.post(
        "/api/files/move",
        json!({ "sourceRaw": raw, "destinationRaw": folder_raw }),
    )
    .await;
    assert_eq!(
        only(api, &format!("pathRaw={}", percent(folder_raw.as_bytes()))).await,
        format!("{folder_raw}{raw}")
    );
    let rename = json!({ "pathRaw": format!("{folder_raw}{raw}"), "newName": "text.mkv" });
    api.post("/api/files/rename", rename).await;
    assert_eq!(
        site.read(std::path::Path::new(&folder).join("text.mkv"))
            .as_deref(),
        Some("content")
    );

    api.post("/api/files/delete", json!({ "pathRaw": folder_raw }))
        .await;
    let id = only_in_trash(api).await;
    api.post("/api/files/trash/purge", json!({ "id": id })).await;
    assert_eq!(items(api, "").await, Vec::<Value>::new());
}

both_databases! {
    async fn names_that_are_no_text_are_names_like_others(db: &TestDb) {
        let (server, site) = start(db).await;
        for bytes in NAMES {
            lead_through(&server.admin(), &site, bytes).await;
        }
    }

    async fn the_longest_names_go_through_the_trash(db: &TestDb) {
        let (server, site) = start(db).await;
        let api = server.admin();
        let wide = format!("{}n", "\u{e9}".repeat(127));
        for name in ["n".repeat(255), wide] {
            assert_eq!(name.len(), 255);
            site.write(&name, "content");
            api.post("/api/files/copy", json!({ "source": name, "destination": "/copies" })).await;
            api.post("/api/files/delete", json!({ "path": name })).await;
            let id = only_in_trash(&api).await;
            let restored = api.post("/api/files/trash/restore", json!({ "id": id })).await;
            assert_eq!(restored["path"], json!(format!("/{name}")));
            assert_eq!(site.read(&name).as_deref(), Some("content"));
            api.post("/api/files/move", json!({ "source": name, "destination": "/copies", "overwrite": true })).await;
            let renamed = format!("m{}", &name[1 + usize::from(!name.is_char_boundary(1))..]);
            api.post("/api/files/rename", json!({ "path": format!("/copies/{name}"), "newName": renamed })).await;
            api.post("/api/files/delete", json!({ "path": format!("/copies/{renamed}"), "permanent": true })).await;
        }
        assert_eq!(items(&api, "path=copies").await, Vec::<Value>::new());
    }

    async fn twins_that_differ_in_case_are_two_files(db: &TestDb) {
        let (server, site) = start(db).await;
        let api = server.admin();
        for (name, content) in [("Twin", "upper"), ("twin", "lower"), ("folder/TWIN", "third")] {
            site.write(name, content);
        }
        api.post("/api/files/delete", json!({ "path": "Twin" })).await;
        assert_eq!(site.read("twin").as_deref(), Some("lower"));
        let id = only_in_trash(&api).await;
        api.post("/api/files/rename", json!({ "path": "twin", "newName": "TWIN" })).await;
        api.post("/api/files/trash/restore", json!({ "id": id })).await;
        api.post("/api/files/rename", json!({ "path": "TWIN", "newName": "twin" })).await;
        assert_eq!((site.read("Twin").as_deref(), site.read("twin").as_deref()), (Some("upper"), Some("lower")));
        let reply = api.send("POST", "/api/files/move", Some(&json!({ "source": "folder/TWIN", "destination": "/" }))).await;
        assert_eq!(reply.status, 201, "{}", reply.text());
        assert_eq!(items(&api, "").await.iter().filter(|item| item["name"].as_str().is_some_and(|name| name.eq_ignore_ascii_case("twin"))).count(), 3);
    }
}
