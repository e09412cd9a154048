//! Every command with real clients of each generation: what it did is asked of the client itself, also after the client was started anew.

use std::path::Path;

use qm_testkit::files::FileServer;
use qm_testkit::generations::Program;
use qm_testkit::qbittorrent::Qbittorrent;
use qm_testkit::rtorrent::{Mode, Rtorrent};
use qm_testkit::sample::Sample;
use qm_testkit::wait::until_true;
use qm_testkit::xmlrpc::Param;
use qm_testkit::{Api, TestDb, TestServer, every_generation};
use serde_json::{Value, json};

every_generation! { qbittorrent: qbittorrent_obeys_every_command }

every_generation! { rtorrent: rtorrent_obeys_every_command_that_it_has }

/// A server with one engine.
struct Site {
    server: TestServer,
    api: Api,
    engine: String,
}

impl Site {
    async fn new(db: &TestDb, kind: &str, config: Value, downloads: &Path) -> Site {
        let server = TestServer::builder(db)
            .plugins(&["scgi_client.wasm", "webapi_client.wasm"])
            .env("FILE_MANAGER_ROOTS", downloads.display().to_string())
            .start()
            .await;
        let api = server.admin();
        let engine = api.add_engine("tested", kind, config).await;
        Site { server, api, engine }
    }

    async fn lists(&self, sample: &Sample) {
        let what = format!("{} to be listed", sample.name);
        self.api
            .until_torrent(&self.engine, &sample.hash, &what, |_| true)
            .await;
    }

    async fn send(&self, sample: &Sample, command: &str, body: Value) -> (u16, Value) {
        let path = format!("/api/torrents/{}/{command}?engineId={}", sample.hash, self.engine);
        let reply = self.api.send("POST", &path, Some(&body)).await;
        (reply.status, reply.json())
    }

    async fn obey(&self, sample: &Sample, command: &str, body: Value) {
        let (status, answer) = self.send(sample, command, body.clone()).await;
        assert_eq!(
            (status, &answer["success"]),
            (201, &json!(true)),
            "{command} {body}: {answer}"
        );
    }

    async fn refused(&self, sample: &Sample, command: &str, body: Value, status: u16, code: &str) {
        let (told, answer) = self.send(sample, command, body).await;
        assert_eq!(
            (told, &answer["code"]),
            (status, &json!(code)),
            "{command}: {answer}"
        );
    }

    async fn bulk(&self, sample: &Sample, action: &str, params: Value) -> Value {
        let items = json!([{ "engineId": self.engine, "hash": sample.hash }]);
        let body = json!({ "action": action, "params": params, "items": items });
        self.api.post("/api/torrents/bulk", body).await
    }

    /// The .torrent file has the same metadata.
    async fn exports(&self, sample: &Sample) {
        let path = format!("/api/torrents/{}/export?engineId={}", sample.hash, self.engine);
        let reply = self.api.send("GET", &path, None).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let info = sample
            .metainfo
            .windows(6)
            .position(|at| at == b"4:info")
            .expect("metadata");
        let info = &sample.metainfo[info..sample.metainfo.len() - 1];
        assert!(
            reply.body.windows(info.len()).any(|at| at == info),
            "another torrent"
        );
        let name = reply.header("content-disposition").unwrap_or_default().to_owned();
        assert!(name.contains(&sample.name), "{name}");
    }

    async fn location(&self, sample: &Sample) -> Value {
        let path = format!(
            "/api/torrents/{}/location/check?engineId={}",
            sample.hash, self.engine
        );
        let reply = self.api.send("POST", &path, None).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()["state"].clone()
    }
}

fn folder(name: &str, seed: u64, announce: &str) -> Sample {
    let files = ["e1.bin", "e2.bin"].map(str::to_owned).into();
    Sample::folder(name, files, 100_000, seed, announce)
}

/// Waits until the client itself shows the torrent so.
async fn shows(client: &Qbittorrent, sample: &Sample, field: &str, value: Value) {
    let what = format!("{field} to be {value}");
    until_true(&what, || async {
        client.torrent(&sample.hash).await.unwrap_or_default()[field] == value
    })
    .await;
}

async fn files(client: &Qbittorrent, sample: &Sample) -> Vec<String> {
    let files = client.get(&format!("torrents/files?hash={}", sample.hash)).await;
    let names = files.as_array().into_iter().flatten();
    names
        .filter_map(|file| Some(file["name"].as_str()?.to_owned()))
        .collect()
}

async fn trackers(client: &Qbittorrent, sample: &Sample) -> Vec<String> {
    let trackers = client
        .get(&format!("torrents/trackers?hash={}", sample.hash))
        .await;
    let urls = trackers.as_array().into_iter().flatten();
    let urls = urls.filter_map(|tracker| Some(tracker["url"].as_str()?.to_owned()));
    urls.filter(|url| !url.starts_with("**")).collect()
}

/// Names, switches and the queue.
async fn it_takes_labels_and_switches(
    site: &Site,
    client: &Qbittorrent,
    show: &Sample,
    [first, second]: [&Sample; 2],
) {
    site.obey(show, "category", json!({ "category": "films & more" }))
        .await;
    shows(client, show, "category", json!("films & more")).await;
    site.obey(show, "tags", json!({ "add": ["one", "two words"] }))
        .await;
    site.obey(show, "tags", json!({ "add": ["three"], "remove": ["one"] }))
        .await;
    shows(client, show, "tags", json!("three, two words")).await;
    assert_eq!(
        site.bulk(show, "setTags", json!({ "tags": ["kept"] })).await["succeeded"],
        json!(1)
    );
    shows(client, show, "tags", json!("kept")).await;
    for (command, field) in [
        ("sequential", "seq_dl"),
        ("first-last-piece", "f_l_piece_prio"),
        ("force-start", "force_start"),
    ] {
        for on in [true, false, true] {
            site.obey(first, command, json!({ "enabled": on })).await;
            shows(client, first, field, json!(on)).await;
        }
    }
    site.obey(first, "force-start", json!({ "enabled": false })).await;
    for on in [true, false] {
        site.obey(show, "super-seeding", json!({ "enabled": on })).await;
        shows(client, show, "super_seeding", json!(on)).await;
    }
    for (position, place) in [("top", 1), ("down", 2), ("up", 1), ("bottom", 2)] {
        site.obey(second, "queue", json!({ "position": position })).await;
        shows(client, second, "priority", json!(place)).await;
    }
    site.obey(second, "priority", json!({ "priority": 3 })).await;
    shows(client, second, "priority", json!(1)).await;
}

/// Announces, addresses of trackers and banned peers.
async fn it_takes_trackers(
    site: &Site,
    client: &Qbittorrent,
    tracker: &FileServer,
    show: &Sample,
    [first, second]: [&Sample; 2],
) {
    let before = tracker.connections();
    site.obey(show, "reannounce", json!({})).await;
    until_true("an announce", || async { tracker.connections() > before }).await;
    let (old, new) = ("http://127.0.0.1:9/announce", "http://127.0.0.1:9/other");
    site.obey(first, "trackers/replace", json!({ "url": old, "newUrl": new }))
        .await;
    assert_eq!(trackers(client, first).await, [new]);
    let moved = json!({ "host": "127.0.0.1:9", "newHost": "localhost:9", "engineId": site.engine });
    let answer = site.api.post("/api/torrents/trackers/replace-host", moved).await;
    assert_eq!(
        (&answer["succeeded"], &answer["failed"]),
        (&json!(2), &json!(0)),
        "{answer}"
    );
    assert_eq!(trackers(client, first).await, ["http://localhost:9/other"]);
    assert_eq!(trackers(client, second).await, ["http://localhost:9/announce"]);
    assert_eq!(
        trackers(client, show).await,
        [tracker.url("/announce")],
        "another port"
    );
    site.obey(show, "peers/ban", json!({ "peers": ["192.0.2.7:6881"] }))
        .await;
    let banned = client.get("app/preferences").await["banned_IPs"].clone();
    assert_eq!(banned, json!("192.0.2.7"));
}

/// Names of files and folders, while another torrent shares them and after.
async fn it_takes_names_of_files(site: &Site, client: &Qbittorrent, downloads: &Path, show: &Sample) {
    // Two torrents that share data: names stay, and nothing is asked of the client.
    let twin = show.with_source("twin", "http://127.0.0.1:9/announce");
    client.add(&twin, false).await;
    site.lists(&twin).await;
    let rename = json!({ "fileIndex": 0, "name": "first.bin" });
    site.refused(show, "files/rename", rename.clone(), 409, "conflict.shared_data")
        .await;
    let rename_folder = json!({ "path": "Show", "newPath": "Series" });
    site.refused(
        show,
        "folders/rename",
        rename_folder.clone(),
        409,
        "conflict.shared_data",
    )
    .await;
    site.refused(
        show,
        "auto-manage",
        json!({ "enabled": true }),
        409,
        "conflict.shared_data",
    )
    .await;
    assert!(show.is_in(downloads));
    assert_eq!(site.bulk(&twin, "remove", json!({})).await["succeeded"], json!(1));
    std::fs::write(downloads.join("Show/mine.bin"), b"mine").expect("our own directory");
    let taken = json!({ "fileIndex": 0, "name": "mine.bin" });
    site.refused(show, "files/rename", taken, 409, "conflict.exists")
        .await;
    site.obey(show, "files/rename", rename).await;
    until_true("the file to be renamed", || async {
        downloads.join("Show/first.bin").is_file()
    })
    .await;
    assert_eq!(files(client, show).await, ["Show/first.bin", "Show/e2.bin"]);
    site.obey(show, "folders/rename", rename_folder).await;
    until_true("the folder to be renamed", || async {
        downloads.join("Series/e2.bin").is_file()
    })
    .await;
    assert_eq!(
        std::fs::read(downloads.join("Show/mine.bin")).expect("it is left alone"),
        b"mine"
    );
}

async fn qbittorrent_obeys_every_command(db: &TestDb, program: &Program) {
    let mut client = Qbittorrent::start_program(program).await;
    client.prefer(&json!({ "queueing_enabled": true })).await;
    let tracker = FileServer::start(Default::default()).await;
    let downloads = client.downloads();
    let site = Site::new(db, "webapi_client", client.config(), &downloads).await;
    let show = folder("Show", 701, &tracker.url("/announce"));
    client.seed(&show).await;
    let waiting =
        [702, 703].map(|seed| folder(&format!("Waiting {seed}"), seed, "http://127.0.0.1:9/announce"));
    for sample in &waiting {
        client.add(sample, false).await;
    }
    for sample in [&show, &waiting[0], &waiting[1]] {
        site.lists(sample).await;
    }
    let [first, second] = &waiting;

    it_takes_labels_and_switches(&site, &client, &show, [first, second]).await;
    let partial = downloads.join("partial");
    site.obey(first, "download-path", json!({ "path": partial }))
        .await;
    shows(&client, first, "download_path", json!(partial)).await;
    site.obey(second, "auto-manage", json!({ "enabled": true })).await;
    shows(&client, second, "auto_tmm", json!(true)).await;
    it_takes_trackers(&site, &client, &tracker, &show, [first, second]).await;
    site.exports(&show).await;
    assert_eq!(site.location(&show).await, json!("present"));
    assert_eq!(site.location(second).await, json!("missing"));
    it_takes_names_of_files(&site, &client, &downloads, &show).await;

    client.end_and_restart().await;
    until_true("its torrents", || async { client.hashes().await.len() == 3 }).await;
    shows(&client, &show, "category", json!("films & more")).await;
    shows(&client, &show, "tags", json!("kept")).await;
    shows(&client, first, "seq_dl", json!(true)).await;
    shows(&client, first, "f_l_piece_prio", json!(true)).await;
    shows(&client, second, "auto_tmm", json!(true)).await;
    shows(&client, second, "priority", json!(1)).await;
    shows(&client, first, "download_path", json!(partial)).await;
    assert_eq!(files(&client, &show).await, ["Series/first.bin", "Series/e2.bin"]);
    assert_eq!(trackers(&client, second).await, ["http://localhost:9/announce"]);
    site.server.end().await;
}

/// Addresses of the trackers that are switched on.
async fn enabled(client: &Rtorrent, sample: &Sample) -> Vec<String> {
    let hash = sample.hash.to_uppercase();
    let asked = [
        Param::Text(&hash),
        Param::Text(""),
        Param::Text("t.url="),
        Param::Text("t.is_enabled="),
    ];
    let rows = client.call("t.multicall", &asked).await;
    let rows = rows.as_array().into_iter().flatten();
    let on = rows.filter(|row| row[1] == json!(1));
    on.filter_map(|row| Some(row[0].as_str()?.to_owned())).collect()
}

/// Commands that rTorrent does not have.
async fn it_lacks_the_others(site: &Site, downloads: &Path, show: &Sample) {
    for (command, body, code) in [
        ("queue", json!({ "position": "top" }), "queue-position"),
        ("sequential", json!({ "enabled": true }), "sequential"),
        ("first-last-piece", json!({ "enabled": true }), "first-last-piece"),
        (
            "download-path",
            json!({ "path": downloads.join("partial") }),
            "download-path",
        ),
        (
            "files/rename",
            json!({ "fileIndex": 0, "name": "x" }),
            "rename-file",
        ),
        (
            "folders/rename",
            json!({ "path": "Show", "newPath": "x" }),
            "rename-folder",
        ),
    ] {
        site.refused(show, command, body, 501, &format!("unsupported.{code}"))
            .await;
    }
}

async fn rtorrent_obeys_every_command_that_it_has(db: &TestDb, program: &Program) {
    let mut client = Rtorrent::start_program(program, Mode::Tcp).await;
    let tracker = FileServer::start(Default::default()).await;
    let downloads = client.downloads();
    let site = Site::new(db, "scgi_client", client.config(), &downloads).await;
    let show = folder("Show", 711, &tracker.url("/announce"));
    client.seed(&show).await;
    site.lists(&show).await;
    let asked = async |client: &Rtorrent, getter: &str| client.get(getter, &show.hash).await;

    site.obey(&show, "category", json!({ "category": "films & more" }))
        .await;
    assert_eq!(asked(&client, "d.custom1").await, json!("films%20%26%20more"));
    site.obey(&show, "tags", json!({ "add": ["one", "two words"] }))
        .await;
    site.obey(&show, "tags", json!({ "set": ["two words"] })).await;
    site.api
        .until_torrent(&site.engine, &show.hash, "its tags", |torrent| {
            torrent["tags"] == json!(["two words"])
        })
        .await;
    site.obey(&show, "priority", json!({ "priority": 1 })).await;
    assert_eq!(asked(&client, "d.priority").await, json!(1));
    site.obey(&show, "force-start", json!({ "enabled": true })).await;
    assert_eq!(asked(&client, "d.priority").await, json!(3));
    site.obey(&show, "force-start", json!({ "enabled": false })).await;
    assert_eq!(asked(&client, "d.priority").await, json!(2));
    for (on, word) in [(true, "initial_seed"), (false, "seed")] {
        site.obey(&show, "super-seeding", json!({ "enabled": on })).await;
        assert_eq!(asked(&client, "d.connection_seed").await, json!(word));
    }
    let before = tracker.connections();
    site.obey(&show, "reannounce", json!({})).await;
    until_true("an announce", || async { tracker.connections() > before }).await;
    let new = "http://127.0.0.1:9/other";
    site.obey(
        &show,
        "trackers/replace",
        json!({ "url": tracker.url("/announce"), "newUrl": new }),
    )
    .await;
    assert_eq!(enabled(&client, &show).await, [new]);
    let moved = json!({ "host": "127.0.0.1", "newHost": "localhost", "engineId": "all" });
    let answer = site.api.post("/api/torrents/trackers/replace-host", moved).await;
    assert_eq!(
        (&answer["succeeded"], &answer["failed"]),
        (&json!(1), &json!(0)),
        "{answer}"
    );
    assert!(
        enabled(&client, &show)
            .await
            .contains(&"http://localhost:9/other".to_owned())
    );
    site.obey(&show, "peers/ban", json!({ "peers": ["192.0.2.7:6881"] }))
        .await;
    site.exports(&show).await;
    assert_eq!(site.location(&show).await, json!("present"));

    it_lacks_the_others(&site, &downloads, &show).await;

    client.store_session().await;
    client.restart().await;
    until_true("its torrent", || async {
        client.hashes().await.contains(&show.hash)
    })
    .await;
    assert_eq!(asked(&client, "d.custom1").await, json!("films%20%26%20more"));
    assert_eq!(asked(&client, "d.priority").await, json!(2));
    std::fs::rename(downloads.join("Show"), downloads.join("Elsewhere")).expect("our own directory");
    site.lists(&show).await;
    until_true("the engine to answer again", || async {
        site.location(&show).await == json!("missing")
    })
    .await;
    site.server.end().await;
}
