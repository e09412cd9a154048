//! Data that two torrents use, in one client or in two: whatever is done to one of them, the other one's bytes stay.

use std::path::{Path, PathBuf};

use qm_testkit::generations::{Generation, Product, Program, Suite};
use qm_testkit::rtorrent::Mode;
use qm_testkit::sample::{Format, Sample};
use qm_testkit::wait::{until, until_true};
use qm_testkit::{Api, TestDb, TestServer, every_generation};
use serde_json::{Value, json};

use crate::automation::plugins::grant;
use crate::client::Client;

pub(super) const ANNOUNCE: &str = "http://127.0.0.1:9/announce";
pub(super) const SIZE: usize = 600_000;
const PLUGINS: &[&str] = &["scgi_client.wasm", "webapi_client.wasm", "torrent_actions.wasm"];

every_generation! { rtorrent: data_that_an_rtorrent_shares_is_kept }

every_generation! { qbittorrent: data_that_a_qbittorrent_shares_is_kept }

async fn data_that_an_rtorrent_shares_is_kept(db: &TestDb, program: &Program) {
    let newest = Generation::new(Product::Qbittorrent, Suite::Sid).find();
    let other = Client::qbittorrent_of(&newest.expect("it is unpacked")).await;
    let client = Client::rtorrent_of(program, Mode::Tcp).await;
    rows(db, client, other).await;
}

async fn data_that_a_qbittorrent_shares_is_kept(db: &TestDb, program: &Program) {
    let newest = Generation::new(Product::Rtorrent, Suite::Sid).find();
    let other = Client::rtorrent_of(&newest.expect("it is unpacked"), Mode::Tcp).await;
    let client = Client::qbittorrent_of(program).await;
    rows(db, client, other).await;
}

/// Place of the first torrent's data, as seen from that of the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Same,
    Above,
    Below,
    /// The same place by way of a symbolic link.
    Linked,
    /// Another name of the same file.
    HardLink,
    /// Other files of one folder.
    Apart,
}

use Layout::{Above, Apart, Below, HardLink, Linked, Same};

/// A torrent and the directory it is saved into.
pub(super) struct Laid {
    pub(super) sample: Sample,
    pub(super) at: PathBuf,
}

/// Two torrents in a directory of their own, their data on disk.
fn lay(root: &Path, layout: Layout, seed: u64) -> (Laid, Laid) {
    let at = root.join(format!("{layout:?}-{seed}"));
    let laid = |sample: &Sample, at: &Path| Laid {
        sample: sample.clone(),
        at: at.to_owned(),
    };
    let film = || Sample::new("film.bin", SIZE, seed, Format::V1, ANNOUNCE);
    let pack = |name: &str, files: &[&str], seed| {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        Sample::folder(name, files, SIZE, seed, ANNOUNCE)
    };
    match layout {
        Same | Linked | HardLink => {
            let sample = film();
            let twin = sample.with_source("other", ANNOUNCE);
            sample.write_to(&at);
            let beside = root.join(format!("{layout:?}-{seed}-too"));
            match layout {
                Same => return (laid(&sample, &at), laid(&twin, &at)),
                Linked => std::os::unix::fs::symlink(&at, &beside).expect("our own directory"),
                _ => {
                    std::fs::create_dir(&beside).expect("our own directory");
                    std::fs::hard_link(at.join("film.bin"), beside.join("film.bin"))
                        .expect("one file system");
                }
            }
            (laid(&sample, &at), laid(&twin, &beside))
        }
        Above | Below => {
            let folder = pack("Show", &["film.bin"], seed);
            let file = film();
            folder.write_to(&at);
            let (folder, file) = (laid(&folder, &at), laid(&file, &at.join("Show")));
            if layout == Above {
                (folder, file)
            } else {
                (file, folder)
            }
        }
        Apart => {
            let (odd, even) = (
                pack("Season", &["e1", "e3"], seed),
                pack("Season", &["e2", "e4"], seed + 500),
            );
            odd.write_to(&at);
            even.write_to(&at);
            (laid(&odd, &at), laid(&even, &at))
        }
    }
}

pub(super) struct Table {
    pub(super) root: tempfile::TempDir,
    pub(super) api: Api,
    /// The engines under test.
    pub(super) engines: [String; 2],
}

async fn rows(db: &TestDb, client: Client, other: Client) {
    let root = tempfile::tempdir().expect("a temporary directory");
    let server = TestServer::builder(db)
        .plugins(PLUGINS)
        .env("FILE_MANAGER_ROOTS", root.path().display().to_string())
        .env("SSRF_ALLOW_HOSTS", "127.0.0.1")
        .start()
        .await;
    let api = server.admin();
    let tested = api.add_engine("tested", client.kind(), client.config()).await;
    let second = api.add_engine("second", other.kind(), other.config()).await;
    let table = Table {
        root,
        api,
        engines: [tested, second],
    };
    let mut seed = 1;
    for beside in [0, 1] {
        for layout in [Same, Above, Below, Linked] {
            table.shared(layout, beside, seed).await;
            seed += 1;
        }
        for layout in [HardLink, Apart] {
            table.not_shared(layout, beside, seed).await;
            seed += 1;
        }
    }
    table.item_of_a_pack().await;
    table.by_rule().await;
    table.by_upgrade().await;
    table.by_library().await;
    server.end().await;
}

/// Fails unless data was refused that the torrent of that name uses.
pub(super) fn refused(row: &str, (status, body): (u16, Value), name: &str) {
    assert_eq!(
        (status, &body["code"]),
        (409, &json!("conflict.shared_data")),
        "{row}: {body}"
    );
    let message = body["message"].as_str().unwrap_or_default();
    assert!(message.contains(name), "{row}: {message}");
}

impl Table {
    pub(super) async fn add(&self, engine: &str, laid: &Laid) {
        let at = laid.at.display().to_string();
        let fields = [("engineId", engine), ("savePath", at.as_str())];
        self.api.upload_torrent(&fields, &laid.sample.metainfo).await;
        self.until_seeding(engine, laid).await;
    }

    pub(super) async fn until_seeding(&self, engine: &str, laid: &Laid) {
        let hash = &laid.sample.hash;
        self.api
            .until_torrent(engine, hash, "it to seed", |torrent| {
                torrent["state"] == "seeding" && torrent["progress"] == 1.0
            })
            .await;
    }

    /// The torrent has all of its data after another one went. Its client is not asked to check it: qBittorrent 5 did not seed
    /// again within four minutes of such a check, for a reason that is not known yet.
    pub(super) async fn assert_kept(&self, engine: &str, laid: &Laid, row: &str) {
        assert!(laid.sample.is_in(&laid.at), "{row}: its bytes are there");
        self.until_seeding(engine, laid).await;
    }

    /// The torrent has all of its data, as its client finds when it looks.
    async fn assert_whole(&self, engine: &str, laid: &Laid, row: &str) {
        assert!(laid.sample.is_in(&laid.at), "{row}: its bytes are there");
        let hash = &laid.sample.hash;
        self.api
            .act(&format!("/api/torrents/{hash}/recheck?engineId={engine}"))
            .await;
        self.until_seeding(engine, laid).await;
    }

    pub(super) async fn send(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let reply = self.api.send(method, path, body.as_ref()).await;
        (reply.status, reply.json())
    }

    async fn shared(&self, layout: Layout, beside: usize, seed: u64) {
        let (one, other) = lay(self.root.path(), layout, seed);
        let (mine, theirs) = (&self.engines[0], &self.engines[beside]);
        self.add(mine, &one).await;
        self.add(theirs, &other).await;
        let row = format!("{layout:?}, engine {beside}");
        let (hash, name) = (&one.sample.hash, format!("{} (", other.sample.name));
        let data = format!("/api/torrents/{hash}/data?engineId={mine}");
        refused(&row, self.send("DELETE", &data, None).await, &name);
        let bulk = json!({ "engineId": mine, "action": "removeData", "hashes": [hash] });
        let (_, told) = self.send("POST", "/api/torrents/bulk", Some(bulk)).await;
        let error = told["results"][0]["error"].as_str().unwrap_or_default();
        assert!(told["failed"] == 1 && error.contains(&name), "{row}: {told}");
        let to = json!({ "engineId": mine, "destination": self.root.path().join("elsewhere") });
        let moved = self
            .send("POST", &format!("/api/torrents/{hash}/move"), Some(to))
            .await;
        refused(&row, moved, &name);
        self.assert_whole(mine, &one, &row).await;
        self.assert_whole(theirs, &other, &row).await;

        let (status, told) = self
            .send("DELETE", &format!("{data}&keepShared=true"), None)
            .await;
        assert_eq!(status, 200, "{row}: {told}");
        self.assert_kept(theirs, &other, &row).await;
        // Nobody else uses it now.
        let last = format!("/api/torrents/{}/data?engineId={theirs}", other.sample.hash);
        let (status, told) = self.send("DELETE", &last, None).await;
        assert_eq!(status, 200, "{row}: {told}");
        assert!(
            !other.at.join(&other.sample.name).exists(),
            "{row}: it is gone when that is said"
        );
    }

    async fn not_shared(&self, layout: Layout, beside: usize, seed: u64) {
        let (one, other) = lay(self.root.path(), layout, seed);
        let (mine, theirs) = (&self.engines[0], &self.engines[beside]);
        self.add(mine, &one).await;
        self.add(theirs, &other).await;
        let row = format!("{layout:?}, engine {beside}");
        let data = format!("/api/torrents/{}/data?engineId={mine}", one.sample.hash);
        let (status, told) = self.send("DELETE", &data, None).await;
        assert_eq!(status, 200, "{row}: {told}");
        let names = if one.sample.files.is_empty() {
            vec![one.at.join(&one.sample.name)]
        } else {
            let folder = one.at.join(&one.sample.name);
            one.sample.files.iter().map(|file| folder.join(file)).collect()
        };
        assert!(
            names.iter().all(|name| !name.exists()),
            "{row}: it is gone when that is said"
        );
        self.assert_kept(theirs, &other, &row).await;
        let last = format!("/api/torrents/{}/data?engineId={theirs}", other.sample.hash);
        let (status, told) = self.send("DELETE", &last, None).await;
        assert_eq!(status, 200, "{row}: {told}");
    }

    /// A file of a pack is deleted with its torrent, while another torrent uses another file of the pack.
    async fn item_of_a_pack(&self) {
        let at = self.root.path().join("pack");
        let files = vec!["e1".to_owned(), "e2".to_owned()];
        let pack = Sample::folder("Pack", files, SIZE, 900, ANNOUNCE);
        pack.write_to(&at);
        let half = pack.bytes.len() / 2;
        let mut alone = Sample::new("e2", SIZE, 901, Format::V1, ANNOUNCE);
        alone.bytes = pack.bytes.slice(half..);
        let alone = alone.with_source("alone", ANNOUNCE);
        let (pack, alone) = (
            Laid {
                sample: pack,
                at: at.clone(),
            },
            Laid {
                sample: alone,
                at: at.join("Pack"),
            },
        );
        let (mine, theirs) = (&self.engines[0], &self.engines[1]);
        self.add(mine, &pack).await;
        self.add(theirs, &alone).await;
        let mut body =
            json!({ "path": "/pack/Pack/e1", "permanent": true, "torrentAction": "stop_and_delete" });
        let answer = self.send("POST", "/api/files/delete", Some(body.clone())).await;
        refused("a file of a pack", answer, "e2 (second)");
        self.assert_whole(mine, &pack, "a file of a pack").await;
        body["keepShared"] = true.into();
        let (status, told) = self.send("POST", "/api/files/delete", Some(body)).await;
        assert_eq!(status, 201, "{told}");
        until_true("the torrent of the file to be gone", || async {
            self.api.torrent(mine, &pack.sample.hash).await.is_none()
        })
        .await;
        assert!(!at.join("Pack/e1").exists());
        self.assert_kept(theirs, &alone, "a file of a pack").await;
    }

    /// A rule removes a torrent with data that another one uses.
    async fn by_rule(&self) {
        let at = self.root.path().join("ruled");
        let sample = Sample::new("ruled.bin", SIZE, 950, Format::V1, ANNOUNCE);
        let twin = sample.with_source("other", ANNOUNCE);
        sample.write_to(&at);
        let laid = |sample: Sample| Laid {
            sample,
            at: at.clone(),
        };
        let (one, other) = (laid(sample), laid(twin));
        let (mine, theirs) = (&self.engines[0], &self.engines[1]);
        self.add(theirs, &other).await;
        grant(&self.api, "torrent_actions", "torrents").await;
        let rule = json!({
            "name": "away with it", "trigger": "torrent.completed",
            "conditions": [{ "field": "name", "op": "eq", "value": "ruled.bin" }],
            "actions": [{ "type": "delete_with_data", "params": {} }],
        });
        self.add(mine, &one).await;
        let rule = self.api.post("/api/automation/rules", rule).await;
        let rule = format!("/api/automation/rules/{}", rule["id"].as_str().expect("an id"));
        let told = until("the rule to have run", || async {
            let log = self.api.get(&format!("{rule}/logs")).await;
            log["items"].as_array()?.first().cloned()
        })
        .await;
        assert!(told.to_string().contains("ruled.bin ("), "{told}");
        self.api.delete(&rule).await;
        self.assert_whole(mine, &one, "a rule").await;
        self.assert_whole(theirs, &other, "a rule").await;
    }
}
