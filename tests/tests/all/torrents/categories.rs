//! Categories that choose where the data of their torrents lies, with real clients of each generation.

use std::path::Path;

use qm_testkit::generations::Program;
use qm_testkit::qbittorrent::Qbittorrent;
use qm_testkit::rtorrent::{Mode, Rtorrent};
use qm_testkit::sample::Sample;
use qm_testkit::wait::until_true;
use qm_testkit::{Api, TestDb, TestServer, every_generation};
use serde_json::{Value, json};

every_generation! { qbittorrent: a_category_of_qbittorrent_chooses_the_place }

every_generation! { rtorrent: a_category_chooses_the_place_for_rtorrent }

/// A server with one engine, whose torrent is seeded.
struct Site<'s> {
    api: Api,
    engine: String,
    sample: &'s Sample,
}

impl Site<'_> {
    async fn send(&self, command: &str, body: Value) -> (u16, Value) {
        let path = format!(
            "/api/torrents/{}/{command}?engineId={}",
            self.sample.hash, self.engine
        );
        let reply = self.api.send("POST", &path, Some(&body)).await;
        (reply.status, reply.json())
    }

    async fn obey(&self, command: &str, body: Value) {
        let (status, answer) = self.send(command, body.clone()).await;
        assert_eq!(status, 201, "{command} {body}: {answer}");
    }

    async fn put_into(&self, category: &str) {
        self.obey("category", json!({ "category": category })).await;
    }

    /// Waits until the data is there, and the list says so and that the torrent seeds on.
    async fn seeds_in(&self, directory: &Path, auto_managed: Value) {
        let what = format!("the data to be in {}", directory.display());
        until_true(&what, || async { self.sample.is_in(directory) }).await;
        let shown = json!(directory);
        self.api
            .until_torrent(&self.engine, &self.sample.hash, &what, |torrent| {
                torrent["savePath"] == shown
                    && torrent["state"] == json!("seeding")
                    && torrent["autoManaged"] == auto_managed
            })
            .await;
    }
}

fn sample(seed: u64) -> Sample {
    let files = ["e1.bin", "e2.bin"].map(str::to_owned).into();
    Sample::folder("Show", files, 100_000, seed, "http://127.0.0.1:9/announce")
}

/// `unmarked`: `autoManaged` of a torrent that nobody marked, and of one whose mark was taken away.
async fn follows(
    db: &TestDb,
    (kind, config): (&str, Value),
    downloads: &Path,
    sample: &Sample,
    unmarked: (Value, Value),
) {
    let server = TestServer::builder(db)
        .plugins(&["scgi_client.wasm", "webapi_client.wasm"])
        .env("FILE_MANAGER_ROOTS", downloads.display().to_string())
        .start()
        .await;
    let api = server.admin();
    let engine = api.add_engine("tested", kind, config).await;
    let site = Site { api, engine, sample };
    let mut ids = Vec::new();
    for name in ["films", "shows"] {
        let directory = downloads.join(name);
        std::fs::create_dir(&directory).expect("our own directory");
        let new = json!({ "name": name, "savePath": directory });
        ids.push(site.api.post("/api/categories", new).await["id"].clone());
    }
    let (films, shows) = (downloads.join("films"), downloads.join("shows"));
    site.seeds_in(downloads, unmarked.0.clone()).await;
    site.put_into("films").await;
    site.seeds_in(downloads, unmarked.0).await;
    site.obey("auto-manage", json!({ "enabled": true })).await;
    site.seeds_in(&films, json!(true)).await;
    site.put_into("shows").await;
    site.seeds_in(&shows, json!(true)).await;
    let id = ids[1].as_str().expect("an id");
    let body = json!({ "savePath": downloads.join("series") });
    let reply = site
        .api
        .send("PATCH", &format!("/api/categories/{id}"), Some(&body))
        .await;
    assert_eq!(
        (reply.status, &reply.json()["code"]),
        (409, &json!("conflict.category_in_use"))
    );
    let items = json!([{ "engineId": site.engine, "hash": sample.hash }]);
    let many = json!({ "action": "setCategory", "params": { "category": "films" }, "items": items });
    let many = site.api.post("/api/torrents/bulk", many).await;
    assert_eq!(many["succeeded"], json!(1), "{many}");
    site.seeds_in(&films, json!(true)).await;
    site.obey("auto-manage", json!({ "enabled": false })).await;
    site.put_into("shows").await;
    site.seeds_in(&films, unmarked.1).await;
    let reply = site
        .api
        .send("PATCH", &format!("/api/categories/{id}"), Some(&body))
        .await;
    assert_eq!(
        (reply.status, &reply.json()["savePath"]),
        (200, &body["savePath"])
    );
    server.end().await;
}

async fn a_category_of_qbittorrent_chooses_the_place(db: &TestDb, program: &Program) {
    let client = Qbittorrent::start_program(program).await;
    let sample = sample(731);
    client.seed(&sample).await;
    let engine = ("webapi_client", client.config());
    follows(
        db,
        engine,
        &client.downloads(),
        &sample,
        (json!(false), json!(false)),
    )
    .await;
}

async fn a_category_chooses_the_place_for_rtorrent(db: &TestDb, program: &Program) {
    let client = Rtorrent::start_program(program, Mode::Tcp).await;
    let sample = sample(732);
    client.seed(&sample).await;
    let engine = ("scgi_client", client.config());
    follows(
        db,
        engine,
        &client.downloads(),
        &sample,
        (Value::Null, json!(false)),
    )
    .await;
}
