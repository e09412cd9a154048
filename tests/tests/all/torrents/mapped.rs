//! A client that sees its directories under other paths than the server, as in a container of its own: with mappings of paths everything
//! is done to the right files, and nothing to files of others.

use std::path::{Path, PathBuf};

use qm_testkit::generations::{Generation, Product, Program, Suite};
use qm_testkit::mounted::{DOWNLOADS, OTHER};
use qm_testkit::rtorrent::Mode;
use qm_testkit::sample::{Format, Sample};
use qm_testkit::wait::until_true;
use qm_testkit::{Api, TestDb, TestServer, every_generation};
use serde_json::{Value, json};

use super::shared_data::{ANNOUNCE, SIZE, refused};
use crate::client::{Client, Doing};

every_generation! { rtorrent: an_rtorrent_with_another_root_is_driven_whole }

every_generation! { qbittorrent: a_qbittorrent_with_another_root_is_driven_whole }

async fn an_rtorrent_with_another_root_is_driven_whole(db: &TestDb, program: &Program) {
    let newest = Generation::new(Product::Qbittorrent, Suite::Sid).find();
    let plain = Client::qbittorrent_of(&newest.expect("it is unpacked")).await;
    drive(db, Client::rtorrent_elsewhere(program).await, plain).await;
}

async fn a_qbittorrent_with_another_root_is_driven_whole(db: &TestDb, program: &Program) {
    let newest = Generation::new(Product::Rtorrent, Suite::Sid).find();
    let plain = Client::rtorrent_of(&newest.expect("it is unpacked"), Mode::Tcp).await;
    drive(db, Client::qbittorrent_elsewhere(program).await, plain).await;
}

struct Site {
    api: Api,
    client: Client,
    engine: String,
    /// An engine that sees what the server sees.
    plain: String,
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn folder(name: &str, seed: u64) -> Sample {
    Sample::folder(name, vec!["a.bin".into(), "b.bin".into()], SIZE, seed, ANNOUNCE)
}

impl Site {
    fn mappings(&self) -> Value {
        json!([
            { "remote": format!("{DOWNLOADS}/"), "local": text(&self.client.downloads()) },
            { "remote": OTHER, "local": text(&self.client.other_directory()) },
        ])
    }

    async fn check(&self, body: Option<Value>) -> Value {
        let path = format!("/api/engines/{}/paths/check", self.engine);
        let body = body.unwrap_or_else(|| json!({}));
        let reply = self.api.send("POST", &path, Some(&body)).await;
        assert_eq!(reply.status, 201, "{}", reply.text());
        reply.json()
    }

    async fn until_at(&self, engine: &str, sample: &Sample, place: &Path) {
        self.api
            .until_torrent(engine, &sample.hash, "it to seed there", |torrent| {
                torrent["state"] == "seeding" && torrent["savePath"].as_str().map(Path::new) == Some(place)
            })
            .await;
    }

    async fn upload(&self, engine: &str, sample: &Sample, place: &Path) {
        let place = text(place);
        let fields = [("engineId", engine), ("savePath", place.as_str())];
        self.api.upload_torrent(&fields, &sample.metainfo).await;
    }

    async fn remove(&self, engine: &str, sample: &Sample) -> (u16, Value) {
        let path = format!("/api/torrents/{}/data?engineId={engine}", sample.hash);
        let reply = self.api.send("DELETE", &path, None).await;
        (reply.status, reply.json())
    }

    /// Without mappings the server sees nothing, and the check says so and proves the mappings that are tried.
    async fn find_the_mappings(&self, old: &Sample) {
        let seen = self
            .api
            .until_torrent(&self.engine, &old.hash, "it to seed", |torrent| {
                torrent["state"] == "seeding"
            });
        assert_eq!(
            seen.await["savePath"]
                .as_str()
                .map(|path| path.trim_end_matches('/')),
            Some(DOWNLOADS)
        );
        let blind = self.check(None).await;
        assert_eq!(blind["verdict"], "wrong", "{blind}");
        let unmapped = &blind["unmapped"];
        assert_eq!(
            (&unmapped["sample"]["lookedFor"], &unmapped["sample"]["found"]),
            (&json!(1), &json!(0))
        );
        let told = unmapped["savePaths"][0].as_str().unwrap_or_default();
        assert_eq!(told.trim_end_matches('/'), DOWNLOADS, "{unmapped}");

        let wrong = json!([{ "remote": DOWNLOADS, "local": text(&self.client.other_directory()) }]);
        let wrong = self.check(Some(json!({ "pathMappings": wrong }))).await;
        assert_eq!(wrong["mappings"][0]["verdict"], "wrong", "{wrong}");
        let tried = self.check(Some(json!({ "pathMappings": self.mappings() }))).await;
        assert_eq!(tried["mappings"][0]["verdict"], "good", "{tried}");
        assert_eq!(tried["mappings"][1]["verdict"], "unproven", "{tried}");
        assert_eq!(
            self.api.get("/api/engines").await[0]["pathMappings"],
            json!([]),
            "nothing was stored"
        );

        let two = json!([
            { "remote": DOWNLOADS, "local": text(&self.client.downloads()) },
            { "remote": OTHER, "local": text(&self.client.downloads()) },
        ]);
        let outside = json!([{ "remote": DOWNLOADS, "local": "/opt/elsewhere" }]);
        for (mappings, words) in [
            (two, "pathMappings.0 and pathMappings.1 lead to one place"),
            (outside, "pathMappings.0.local: Path is outside"),
        ] {
            let path = format!("/api/engines/{}", self.engine);
            let reply = self
                .api
                .send("PATCH", &path, Some(&json!({ "pathMappings": mappings })))
                .await;
            assert_eq!(reply.status, 400, "{}", reply.text());
            assert!(reply.text().contains(words), "{}", reply.text());
        }
        let path = format!("/api/engines/{}", self.engine);
        self.api
            .patch(&path, json!({ "pathMappings": self.mappings() }))
            .await;
        self.until_at(&self.engine, old, &self.client.downloads()).await;
    }

    /// A torrent is added, its files are seen, and it moves with its data.
    async fn add_and_move(&self) -> (Sample, PathBuf) {
        let (sample, place) = (folder("Pack", 81), self.client.other_directory());
        sample.write_to(&place);
        self.upload(&self.engine, &sample, &place).await;
        self.until_at(&self.engine, &sample, &place).await;
        // rTorrent tells the folder of a torrent with several files.
        let told = self.client.directory(&sample.hash).await;
        assert!(
            told == OTHER || told == format!("{OTHER}/{}", sample.name),
            "{told}"
        );
        let path = format!("/api/torrents/{}/files?engineId={}", sample.hash, self.engine);
        let files = self.api.get(&path).await;
        assert_eq!(files.as_array().map(Vec::len), Some(2), "{files}");

        let new = self.client.downloads().join("made/for it");
        let body = json!({ "engineId": self.engine, "destination": text(&new) });
        let moved = self
            .api
            .send(
                "POST",
                &format!("/api/torrents/{}/move", sample.hash),
                Some(&body),
            )
            .await;
        assert_eq!(moved.status, 201, "{}", moved.text());
        self.until_at(&self.engine, &sample, &new).await;
        let told = self.client.directory(&sample.hash).await;
        assert!(told.starts_with(&format!("{DOWNLOADS}/made/for it")), "{told}");
        assert!(sample.is_in(&new) && !place.join(&sample.name).exists());
        let recheck = format!("/api/torrents/{}/recheck?engineId={}", sample.hash, self.engine);
        self.api.act(&recheck).await;
        until_true("the check to end", || async {
            self.client.doing(&sample.hash).await == Doing::Running
        })
        .await;
        self.until_at(&self.engine, &sample, &new).await;
        (sample, new)
    }

    /// Data that the other engine uses too, under another path, is kept; alone it goes.
    async fn share_and_remove(&self, sample: &Sample, place: &Path) {
        let twin = sample.with_source("other", ANNOUNCE);
        self.upload(&self.plain, &twin, place).await;
        self.until_at(&self.plain, &twin, place).await;
        for (engine, mine, theirs) in [(&self.engine, sample, &twin), (&self.plain, &twin, sample)] {
            refused("two engines", self.remove(engine, mine).await, &theirs.name);
        }
        assert!(sample.is_in(place));
        let path = format!("/api/torrents/{}?engineId={}", twin.hash, self.plain);
        self.api.delete(&path).await;
        let (status, told) = self.remove(&self.engine, sample).await;
        assert_eq!(status, 200, "{told}");
        assert!(!place.join(&sample.name).exists(), "it is gone when that is said");
    }
}

async fn drive(db: &TestDb, client: Client, plain: Client) {
    let root = client
        .downloads()
        .parent()
        .expect("a directory of its own")
        .to_owned();
    let server = TestServer::builder(db)
        .plugins(&["scgi_client.wasm", "webapi_client.wasm"])
        .env("FILE_MANAGER_ROOTS", text(&root))
        .start()
        .await;
    let api = server.admin();
    let engine = api.add_engine("elsewhere", client.kind(), client.config()).await;
    let plain_engine = api.add_engine("plain", plain.kind(), plain.config()).await;
    let old = Sample::new("old.bin", SIZE, 80, Format::V1, ANNOUNCE);
    client.seed(&old).await;
    let site = Site {
        api,
        client,
        engine,
        plain: plain_engine,
    };
    site.find_the_mappings(&old).await;
    let (sample, place) = site.add_and_move().await;
    site.share_and_remove(&sample, &place).await;
    // What was there before the mappings goes by them too.
    let (status, told) = site.remove(&site.engine, &old).await;
    assert_eq!(status, 200, "{told}");
    assert!(!site.client.downloads().join(&old.name).exists());
    let checked = site.check(None).await;
    assert_eq!(checked["error"], Value::Null, "{checked}");
    server.end().await;
}
