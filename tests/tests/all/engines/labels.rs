//! Labels and tags that an action changes, through the whole server: in real clients, and kept here for one without tags.

use qm_ports::action::{ActionCall, ActionError, Occasion, TorrentRef};
use qm_testkit::generations::Program;
use qm_testkit::qbittorrent::Qbittorrent;
use qm_testkit::rtorrent::{Mode, Rtorrent};
use qm_testkit::sample::{Format, Sample};
use qm_testkit::{Api, TestDb, TestServer, every_generation};
use serde_json::{Map, Value, json};

const ANNOUNCE: &str = "http://127.0.0.1:9/announce";

every_generation! { qbittorrent: qbittorrent_keeps_labels_and_tags }

every_generation! { rtorrent: rtorrent_keeps_labels_and_the_host_its_tags }

/// A server with one engine, a torrent in it, and the fixture that does to it as it is told.
struct Site {
    server: TestServer,
    api: Api,
    engine: String,
    hash: String,
}

impl Site {
    async fn new(db: &TestDb, plugin: &'static str, kind: &str, config: Value) -> Site {
        let server = TestServer::builder(db)
            .plugins(&[plugin, "porter.wasm"])
            .start()
            .await;
        server.plugins().settled().await;
        let api = server.admin();
        let grants = json!({ "hosts": [], "capabilities": ["torrents"] });
        api.put("/api/plugins/porter/grants", grants).await;
        let engine = api.add_engine("client", kind, config).await;
        let sample = Sample::new("labelled.bin", 300_000, 61, Format::V1, ANNOUNCE);
        let fields = [("engineId", engine.as_str()), ("startPaused", "true")];
        api.upload_torrent(&fields, &sample.metainfo).await;
        let hash = sample.hash;
        Site {
            server,
            api,
            engine,
            hash,
        }
    }

    async fn run(&self, params: Value) -> Result<(), ActionError> {
        let call = ActionCall {
            author: None,
            run_id: "run".to_owned(),
            occasion: Occasion::Torrent,
            params: params.as_object().cloned().unwrap_or_default(),
            context: Map::new(),
            torrent: Some(TorrentRef {
                engine_id: self.engine.clone(),
                hash: self.hash.clone(),
            }),
            powers: qm_kernel::PermissionSet::all(),
        };
        self.server.plugins().actions().run("carry", call).await
    }

    async fn label(&self, label: &str) {
        let done = self.run(json!({ "mode": "label", "value": label })).await;
        assert_eq!(done, Ok(()), "{label}");
    }

    /// Adds the tag `add` and takes `remove` away.
    async fn retag(&self, add: Option<&str>, remove: Option<&str>) {
        let mut params = json!({ "mode": "retag" });
        for (name, tag) in [("value", add), ("key", remove)] {
            if let Some(tag) = tag {
                params[name] = tag.into();
            }
        }
        assert_eq!(self.run(params).await, Ok(()));
    }

    /// Waits until the list shows it so.
    async fn shows(&self, field: &str, value: &Value) {
        let is_so = |torrent: &Value| torrent[field] == *value;
        self.api
            .until_torrent(&self.engine, &self.hash, &format!("{field} {value}"), is_so)
            .await;
    }
}

async fn qbittorrent_keeps_labels_and_tags(db: &TestDb, program: &Program) {
    let client = Qbittorrent::start_program(program).await;
    let site = Site::new(db, "webapi_client.wasm", "webapi_client", client.config()).await;
    let asked = async || client.torrent(&site.hash).await.expect("it lists the torrent");
    for label in ["TV shows & ü", "films"] {
        site.label(label).await;
        assert_eq!(asked().await["category"], json!(label), "asked directly");
        site.shows("label", &json!(label)).await;
    }
    site.label("").await;
    assert_eq!(asked().await["category"], json!(""));
    site.shows("label", &Value::Null).await;

    site.retag(Some("one"), None).await;
    site.retag(Some("two words"), Some("never had")).await;
    assert_eq!(asked().await["tags"], json!("one, two words"), "asked directly");
    site.shows("tags", &json!(["one", "two words"])).await;
    site.retag(None, Some("one")).await;
    assert_eq!(asked().await["tags"], json!("two words"));
    site.shows("tags", &json!(["two words"])).await;
    site.server.end().await;
}

async fn rtorrent_keeps_labels_and_the_host_its_tags(db: &TestDb, program: &Program) {
    let client = Rtorrent::start_program(program, Mode::Tcp).await;
    let site = Site::new(db, "scgi_client.wasm", "scgi_client", client.config()).await;
    let asked = async || client.get("d.custom1", &site.hash).await;
    for (label, field) in [("TV shows & ü", "TV%20shows%20%26%20%C3%BC"), ("films", "films")] {
        site.label(label).await;
        assert_eq!(asked().await, json!(field), "asked directly");
        site.shows("label", &json!(label)).await;
    }
    site.label("").await;
    assert_eq!(asked().await, json!(""));
    site.shows("label", &Value::Null).await;

    site.retag(Some("one"), None).await;
    site.shows("tags", &json!(["one"])).await;
    site.retag(Some("two words"), Some("one")).await;
    site.shows("tags", &json!(["two words"])).await;
    // They are searched for like the client's own.
    let found = site.api.get("/api/torrents?tag=two%20words").await;
    assert_eq!(found["total"], json!(1), "{found}");
    site.server.end().await;
}
